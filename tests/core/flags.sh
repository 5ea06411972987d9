# Sourced by run.sh and fuzz.sh, in the package's root: the core half's sources and the libraries.
core=$(ls src/*.c | grep -v '^src/r_')
core_flags="-std=gnu11 -g -Wall -Wextra -Werror -pthread -Isrc"
if [ -n "${INCLUDE_DIR:-}${LIB_DIR:-}" ]; then
  core_flags="$core_flags ${INCLUDE_DIR:+-I$INCLUDE_DIR} ${LIB_DIR:+-L$LIB_DIR}"
  core_libs="-lzstd -llz4 -lxxhash -lz -lm"
elif pkg-config --exists libzstd liblz4 libxxhash zlib 2>/dev/null; then
  core_flags="$core_flags $(pkg-config --cflags libzstd liblz4 libxxhash zlib)"
  core_libs="$(pkg-config --libs libzstd liblz4 libxxhash zlib) -lm"
else
  core_libs="-lzstd -llz4 -lxxhash -lz -lm"
fi
