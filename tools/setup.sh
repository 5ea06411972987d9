#!/bin/sh
# Installs what is missing for the groups named, and nothing when all is there (no network then).
#   tools/setup.sh build|test|check|sanitize|fuzz|document|bench ...
# On Debian and its kin by apt-get, as root or through sudo; elsewhere it says what is missing.
# An R package that the distribution does not have comes from CRAN. Packages that riffle only plugs
# into may be missing in the end: their tests are skipped. What could not be had is listed in
# out/not-installed and not tried again until `make clean`.
set -eu
cd "$(dirname "$0")/.."

command -v Rscript >/dev/null || { echo "R is missing: install it first (Debian: r-base)." >&2; exit 1; }

# Debian packages and R packages that are missing, found by trying, not by asking a package manager.
debs=
wanted=
# Not targets: compiling the igraph that it needs takes a quarter of an hour.
plugs="cachem callr digest future memoise mirai pins qs2 shiny storr"
extra=
want_tool() { command -v "$1" >/dev/null || debs="$debs $2"; }
can_compile() {  # can_compile COMPILER FLAGS: tools/probe.c, with the libraries
  "$@" -DPROBE_ALL tools/probe.c -o "$scratch/probe" -lzstd -llz4 -lxxhash -lz -pthread >/dev/null 2>&1
}
want_libs() {
  can_compile $(R CMD config CC) ${INCLUDE_DIR:+"-I$INCLUDE_DIR"} ${LIB_DIR:+"-L$LIB_DIR"} \
    $(pkg-config --cflags --libs-only-L libzstd liblz4 libxxhash zlib 2>/dev/null || :) ||
    debs="$debs gcc libc6-dev pkg-config libzstd-dev liblz4-dev libxxhash-dev zlib1g-dev"
}
want_fuzzer() {
  echo 'int LLVMFuzzerTestOneInput(const char *p, long n) { return p && n > 3 ? 0 : -1; }' >"$scratch/fuzz.c"
  clang -fsanitize=fuzzer,address "$scratch/fuzz.c" -o "$scratch/fuzz" >/dev/null 2>&1 || fuzzer=missing
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fuzzer=
for group in "$@"; do
  case $group in
    build) want_tool make make; want_libs ;;
    test) wanted="$wanted testthat withr"; extra=$plugs ;;
    check) wanted="$wanted $(sh tools/suggests.sh | grep -vxF "$(echo "$plugs targets" | tr ' ' '\n')")"; extra=$plugs; want_tool pandoc pandoc; want_tool checkbashisms devscripts; want_tool tidy tidy; want_tool qpdf qpdf ;;
    sanitize) want_tool valgrind valgrind ;;
    fuzz) want_fuzzer ;;
    document) wanted="$wanted roxygen2" ;;
    bench) ;;
    *) echo "unknown group: $group" >&2; exit 2 ;;
  esac
done
missing() {
  [ -n "$*" ] || return 0
  Rscript --vanilla - "$@" <<'R'
packages <- unique(commandArgs(TRUE))
cat(packages[!nzchar(vapply(packages, function(p) system.file(package = p), ""))])
R
}
rpkgs=$(missing $wanted)
for p in $(missing $extra); do
  grep -qx "$p" out/not-installed 2>/dev/null || extras="${extras:-} $p"
done
extras=${extras:-}
[ -n "$debs$rpkgs$extras$fuzzer" ] || exit 0

as_r_vector() { echo "c($(echo $* | sed "s/[a-zA-Z0-9.]\{1,\}/'&'/g; s/ /, /g"))"; }
skipping() { echo "Their tests are skipped unless you install them: install.packages($(as_r_vector "$@"))" >&2; }

if ! command -v apt-get >/dev/null; then
  [ -z "$extras" ] || skipping $extras
  [ -n "$debs$rpkgs$fuzzer" ] || exit 0
  echo "Missing on this machine, by Debian's names:$debs ${fuzzer:+clang with libFuzzer}" >&2
  [ -z "$rpkgs" ] || echo "R packages: install.packages($(as_r_vector $rpkgs))" >&2
  exit 1
fi
if [ "$(id -u)" = 0 ]; then as_root=
elif command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then as_root=sudo
else as_root=none
fi
apt() { $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq "$@" </dev/null >"$scratch/apt.log" 2>&1; }
known() { apt-cache policy "$1" 2>/dev/null | grep -q 'Candidate: [0-9]'; }

# split PACKAGES: sets as_debs and from_cran
split() {
  as_debs=
  from_cran=
  for p in "$@"; do
    deb=r-cran-$(echo "$p" | tr '[:upper:]' '[:lower:]')
    if known "$deb"; then as_debs="$as_debs $deb"; else from_cran="$from_cran $p"; fi
  done
}

echo "Missing:$debs $rpkgs$extras ${fuzzer:+clang}"
if [ "$as_root" = none ]; then
  if [ -n "$debs$fuzzer" ]; then
    echo "Neither root nor sudo here. Ask an administrator for: apt-get install$debs ${fuzzer:+clang}" >&2
    exit 1
  fi
else
  apt update || echo "apt-get update failed; trying with the lists at hand" >&2
  if [ -n "$fuzzer" ]; then
    version=$(apt-cache depends clang 2>/dev/null | sed -n 's/.*Depends: clang-\([0-9]*\)$/\1/p')
    debs="$debs clang"
    ! known "libclang-rt-$version-dev" || debs="$debs libclang-rt-$version-dev"
  fi
  split $rpkgs
  debs="$debs$as_debs"
  rpkgs=$from_cran
  if [ -n "$debs" ]; then
    echo "apt-get install$debs"
    apt install -y --no-install-recommends $debs || { tail -n 20 "$scratch/apt.log" >&2; exit 1; }
  fi
fi

# Installs packages from CRAN; fails if one of them could not be.
cran() {
  MAKEFLAGS=-j$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1) Rscript --vanilla - "$@" <<'R'
packages <- commandArgs(TRUE)
lib <- .libPaths()[1]
if (file.access(lib, 2) != 0) {
  lib <- Sys.getenv("R_LIBS_USER")
  dir.create(lib, recursive = TRUE, showWarnings = FALSE)
}
repos <- getOption("repos")
if (identical(unname(repos["CRAN"]), "@CRAN@")) chooseCRANmirror(ind = 1)
cat("From CRAN into", lib, ":", packages, "\n")
install.packages(packages, lib = lib, quiet = TRUE)
quit(status = !all(vapply(packages, requireNamespace, NA, lib.loc = c(lib, .libPaths()), quietly = TRUE)))
R
}
[ -z "$rpkgs" ] || cran $rpkgs
[ -n "$extras" ] || exit 0
if [ "$as_root" = none ]; then
  skipping $extras
  exit 0
fi

# What these need from the distribution, too, where it has it: compiling takes minutes.
needs() {
  Rscript --vanilla - "$@" 2>/dev/null <<'R'
repos <- getOption("repos")
if (identical(unname(repos["CRAN"]), "@CRAN@")) chooseCRANmirror(ind = 1)
all <- tools::package_dependencies(commandArgs(TRUE), available.packages(), recursive = TRUE)
cat(setdiff(unlist(all), rownames(installed.packages())))
R
}
split $extras
late=$from_cran
if [ -n "$late" ]; then
  early=$as_debs
  split $(needs $late || :)
  as_debs="$early$as_debs"
fi
case " $late " in *" qs2 "*) as_debs="$as_debs g++ cmake" ;; esac  # RcppParallel is built by them
if [ -n "$as_debs" ]; then
  echo "apt-get install$as_debs"
  apt install -y --no-install-recommends $as_debs || tail -n 5 "$scratch/apt.log" >&2
fi
[ -z "$late" ] || cran $late >"$scratch/cran.log" 2>&1 || tail -n 5 "$scratch/cran.log" >&2

absent=$(missing $extras)
[ -z "$absent" ] || {
  mkdir -p out
  printf '%s\n' $absent >>out/not-installed
  skipping $absent
}
