#!/bin/sh
# Installs riffle into a library of its own, from a copy of the sources, so the tree stays clean.
#   tools/install.sh plain|asan|tsan      into out/lib, out/asan or out/tsan
# Does nothing when no source has changed since.
set -eu
cd "$(dirname "$0")/.."
kind=${1:-plain}
case $kind in
  plain) lib=out/lib; cflags= ;;
  asan) lib=out/asan; cflags='-fsanitize=address,undefined -fno-sanitize-recover=all' ;;
  tsan) lib=out/tsan; cflags='-fsanitize=thread' ;;
  *) echo "unknown kind of build: $kind" >&2; exit 2 ;;
esac

sources=
for f in DESCRIPTION NAMESPACE LICENSE configure cleanup R src inst man demo tools/probe.c; do
  [ ! -e "$f" ] || sources="$sources $f"
done
# What is installed is told by the checksum of all that went in.
state() {
  R --version | head -n 1
  find $sources -type f ! -name '*.o' ! -name '*.so' ! -name Makevars | LC_ALL=C sort | xargs cksum
}
stamp=$lib/.installed
if [ -f "$stamp" ] && state | cmp -s - "$stamp"; then exit 0; fi

copy=out/copy-$kind/riffle
rm -rf "out/copy-$kind"
mkdir -p "$copy/tools" "$lib"
rm -f "$stamp"
for f in $sources; do cp -pR "$f" "$copy/$f"; done
rm -f "$copy"/src/*.o "$copy"/src/*.so "$copy/src/Makevars"

options='--no-multiarch --no-test-load'
if [ "$kind" != plain ]; then
  options="$options --no-docs --no-byte-compile"
  printf 'CFLAGS = -g -O1 -fno-omit-frame-pointer %s\nLDFLAGS = %s\n' "$cflags" "$cflags" >"out/$kind.mk"
  R_MAKEVARS_USER=$PWD/out/$kind.mk
  export R_MAKEVARS_USER
fi
echo "Installing riffle into $lib"
MAKEFLAGS=-j$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)
export MAKEFLAGS
if ! R CMD INSTALL $options -l "$lib" "$copy" >"out/install-$kind.log" 2>&1; then
  cat "out/install-$kind.log" >&2
  exit 1
fi
grep -n 'warning:' "out/install-$kind.log" >&2 || :
state >"$stamp"
rm -rf "out/copy-$kind"
