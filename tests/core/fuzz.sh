#!/bin/sh
# Compiles each tests/core/fuzz_*.c with clang's libFuzzer, ASan and UBSan and runs it for
# FUZZ_SECONDS (600). An input that fails is kept in out/fuzz/, and so is the corpus.
#   tests/core/fuzz.sh [NAME ...]      NAME: format for fuzz_format.c; no argument: all
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/core/flags.sh
: "${FUZZ_SECONDS:=600}"
passed=0
failed=0
mkdir -p out/fuzz

[ $# -gt 0 ] || set -- $(ls tests/core/fuzz_*.c 2>/dev/null | sed 's|.*/fuzz_\(.*\)\.c$|\1|')
for name in "$@"; do
  echo "fuzz_$name: $FUZZ_SECONDS s"
  mkdir -p "out/fuzz/corpus-$name"
  clang $core_flags -O1 -fno-omit-frame-pointer -fsanitize=fuzzer,address,undefined \
    -fno-sanitize-recover=undefined -o "out/fuzz/$name" "tests/core/fuzz_$name.c" $core $core_libs &&
    "out/fuzz/$name" -max_total_time="$FUZZ_SECONDS" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
      -artifact_prefix="out/fuzz/$name-" "out/fuzz/corpus-$name" >"out/fuzz/$name.log" 2>&1
  if [ $? -eq 0 ]; then
    passed=$((passed + 1))
    grep -E 'number_of_executed_units|DONE' "out/fuzz/$name.log"
  else
    failed=$((failed + 1))
    tail -n 40 "out/fuzz/$name.log"
  fi
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
