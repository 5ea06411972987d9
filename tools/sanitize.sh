#!/bin/sh
# Runs R with a riffle built for a sanitizer, on the small suite in tests/sanitize/:
#   tools/sanitize.sh [asan] [valgrind] [tsan]      no argument: all three
# Closes with the line `N passed, N failed, N skipped`. Wants gcc; valgrind is skipped where it is missing.
set -u
cd "$(dirname "$0")/.." || exit 1
unset R_LIBS MAKEFLAGS MAKELEVEL MFLAGS
passed=0
failed=0
skipped=0
root=$PWD

runtime() { $(R CMD config CC) -print-file-name="$1"; }

# result NAME STATUS LOG
result() {
  if [ "$2" -eq 0 ] && tail -n 1 "$3" | grep -q '^[1-9][0-9]* passed, 0 failed$'; then
    passed=$((passed + 1))
    echo "$1: $(tail -n 1 "$3")"
  else
    failed=$((failed + 1))
    echo "$1: FAILED with status $2"
    tail -n 60 "$3"
  fi
}

with_asan() {
  sh tools/install.sh asan || return
  R_LIBS=$root/out/asan ASAN_OPTIONS=detect_leaks=0:abort_on_error=0 UBSAN_OPTIONS=print_stacktrace=1 \
    LD_PRELOAD=$(runtime libasan.so) Rscript --vanilla tests/sanitize/small.R
}

# R says nothing of leaks, so neither do we; a block lost by each call would show in small.R's loop.
with_valgrind() {
  sh tools/install.sh plain || return
  R_LIBS=$root/out/lib R -d "valgrind -q --error-exitcode=9" --vanilla --no-echo -f tests/sanitize/small.R
}

# R's shell wrapper dies under TSan, so R's program is started as the wrapper would.
with_tsan() {
  sh tools/install.sh tsan || return
  fixed=
  ! setarch -R true 2>/dev/null || fixed="setarch -R"
  R_HOME=$(R RHOME)
  $fixed env R_HOME="$R_HOME" LD_LIBRARY_PATH="$R_HOME/lib" R_LIBS="$root/out/tsan" \
    R_SHARE_DIR="$(R CMD printenv R_SHARE_DIR)" R_INCLUDE_DIR="$(R CMD printenv R_INCLUDE_DIR)" \
    R_DOC_DIR="$(R CMD printenv R_DOC_DIR)" LD_PRELOAD="$(runtime libtsan.so)" \
    TSAN_OPTIONS=exitcode=66 "$R_HOME/bin/exec/R" --vanilla --no-echo -f tests/sanitize/threads.R
}

mkdir -p out
for kind in ${*:-asan valgrind tsan}; do
  if [ "$kind" = valgrind ] && ! command -v valgrind >/dev/null; then
    echo "valgrind: skipped, not installed"
    skipped=$((skipped + 1))
    continue
  fi
  "with_$kind" >"out/sanitize-$kind.log" 2>&1
  result "$kind" $? "out/sanitize-$kind.log"
done

echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
