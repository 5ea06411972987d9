#!/bin/sh
# Installs what is missing for the groups named, and nothing when all is there (no network then).
#   tools/setup.sh build|test|check|sanitize|fuzz|document|bench ...
# On Debian and its kin by apt-get, as root or through sudo; elsewhere it says what is missing.
# An R package that the distribution does not have comes from CRAN.
set -eu
cd "$(dirname "$0")/.."

command -v Rscript >/dev/null || { echo "R is missing: install it first (Debian: r-base)." >&2; exit 1; }

# Debian packages and R packages that are missing, found by trying, not by asking a package manager.
debs=
wanted=
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
    test) wanted="$wanted testthat withr" ;;
    check) wanted="$wanted $(sh tools/suggests.sh)"; want_tool checkbashisms devscripts; want_tool tidy tidy; want_tool qpdf qpdf ;;
    sanitize) want_tool valgrind valgrind ;;
    fuzz) want_fuzzer ;;
    document) wanted="$wanted roxygen2" ;;
    bench) ;;
    *) echo "unknown group: $group" >&2; exit 2 ;;
  esac
done
rpkgs=
[ -z "$wanted" ] || rpkgs=$(Rscript --vanilla - $wanted <<'R'
packages <- unique(commandArgs(TRUE))
cat(packages[!nzchar(vapply(packages, function(p) system.file(package = p), ""))])
R
)
[ -n "$debs$rpkgs$fuzzer" ] || exit 0

if ! command -v apt-get >/dev/null; then
  echo "Missing on this machine, by Debian's names:$debs ${fuzzer:+clang with libFuzzer}" >&2
  [ -z "$rpkgs" ] || echo "R packages: install.packages(c($(echo $rpkgs | sed "s/[a-zA-Z0-9.]\{1,\}/'&'/g; s/ /, /g")))" >&2
  exit 1
fi
if [ "$(id -u)" = 0 ]; then as_root=
elif command -v sudo >/dev/null && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then as_root=sudo
else as_root=none
fi
apt() { $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq "$@" </dev/null >"$scratch/apt.log" 2>&1; }
known() { apt-cache policy "$1" 2>/dev/null | grep -q 'Candidate: [0-9]'; }

echo "Missing:$debs $rpkgs ${fuzzer:+clang}"
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
  from_cran=
  for p in $rpkgs; do
    deb=r-cran-$(echo "$p" | tr '[:upper:]' '[:lower:]')
    if known "$deb"; then debs="$debs $deb"; else from_cran="$from_cran $p"; fi
  done
  rpkgs=$from_cran
  if [ -n "$debs" ]; then
    echo "apt-get install$debs"
    apt install -y --no-install-recommends $debs || { tail -n 20 "$scratch/apt.log" >&2; exit 1; }
  fi
fi

[ -z "$rpkgs" ] || Rscript --vanilla - $rpkgs <<'R'
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
