#!/bin/sh
# Compiles the core half and each tests/core/test_*.c plain, under ASan and UBSan, and under TSan,
# runs them, and closes with the sum `N passed, N failed`. Each program prints such a line of its own.
#   tests/core/run.sh [plain] [asan] [tsan]      no argument: all three
# CC names the compiler, CORE_CFLAGS adds to its flags (-m32), CORE_RUNNER runs the programs (qemu).
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/core/flags.sh
: "${CC:=cc}"
: "${CORE_TIMEOUT:=600}"
passed=0
failed=0
limit=
! command -v timeout >/dev/null || limit="timeout $CORE_TIMEOUT"
# TSan wants the address space as it knows it, which some kernels randomise too much.
fixed=
! setarch -R true 2>/dev/null || fixed="setarch -R"

# fail NAME LOG: one failure, with the end of what was printed.
fail() {
  failed=$((failed + 1))
  echo "FAILED: $1"
  tail -n 40 "$2"
}

# run VARIANT TEST: runs one program and adds its counts.
run() {
  # Pure functions have no races: a test that says `// one thread` is not run under TSan.
  if [ "$1" = tsan ] && grep -q '^// one thread$' "$2"; then return; fi
  name=$(basename "$2" .c)
  log=out/core/$1/$name.log
  # A test may ask the linker for something: // link: -Wl,--wrap=malloc
  links=$(sed -n 's|^// link: ||p' "$2")
  if ! $CC $core_flags $flags ${CORE_CFLAGS:-} -o "out/core/$1/$name" "$2" out/core/$1/*.o $links $core_libs >"$log" 2>&1; then
    fail "$name ($1) does not compile" "$log"
    return
  fi
  $prefix $limit ${CORE_RUNNER:-} "out/core/$1/$name" >"$log" 2>&1
  status=$?
  sum=$(grep -E '^[0-9]+ passed, [0-9]+ failed' "$log" | tail -n 1)
  p=$(echo "$sum" | sed -n 's/^\([0-9]*\) passed.*/\1/p')
  f=$(echo "$sum" | sed -n 's/.* \([0-9]*\) failed.*/\1/p')
  passed=$((passed + ${p:-0}))
  if [ -z "$sum" ] || { [ "$status" -ne 0 ] && [ "${f:-0}" = 0 ]; }; then
    fail "$name ($1) died with status $status" "$log"
  elif [ "$f" != 0 ]; then
    failed=$((failed + f - 1))
    fail "$name ($1)" "$log"
  else
    printf '%-28s %-6s %s\n' "$name" "$1" "$sum"
  fi
}

for variant in ${*:-plain asan tsan}; do
  prefix=
  case $variant in
    plain) flags="-O1" ;;
    asan) flags="-O1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all" ;;
    tsan) flags="-O1 -fno-omit-frame-pointer -fsanitize=thread"; prefix=$fixed ;;
    *) echo "unknown variant: $variant" >&2; exit 2 ;;
  esac
  rm -rf "out/core/$variant"
  mkdir -p "out/core/$variant"
  compiled=yes
  for c in $core; do
    o=out/core/$variant/$(basename "$c" .c).o
    $CC $core_flags $flags ${CORE_CFLAGS:-} -c "$c" -o "$o" 2>"out/core/$variant/log" || {
      fail "$c ($variant) does not compile" "out/core/$variant/log"
      compiled=no
    }
  done
  [ "$compiled" = yes ] || continue
  for t in tests/core/test_*.c; do
    [ ! -e "$t" ] || run "$variant" "$t"
  done
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
