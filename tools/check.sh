#!/bin/sh
# R CMD build and R CMD check --as-cran --no-manual, on this machine's R or a newer one.
#   tools/check.sh              here
#   tools/check.sh forky        R 4.6, through ../shared/tools/newer-r.sh; with every test, not CRAN's alone
# Says on its last line whether the check was clean; tools/check-log.R tells what clean means.
# Exit status 0: clean; 1: not; 77: that R is not to be had here.
set -eu
cd "$(dirname "$0")/.."
unset R_LIBS MAKEFLAGS MAKELEVEL MFLAGS
suite=${1:-here}
newer=../shared/tools/newer-r.sh
if [ "$suite" != here ] && [ ! -e "$newer" ]; then
  echo "check on $suite: skipped, $newer is not here"
  exit 77
fi

dir=out/check-$suite
rm -rf "$dir"
mkdir -p "$dir"
root=$PWD
(cd "$dir" && R CMD build "$root" >build.log 2>&1) || { cat "$dir/build.log"; exit 1; }

# The flags that Debian builds its R with are none of ours. Whatever else R finds counts.
known="-Wformat -Werror=format-security -Wdate-time"
# riffle is not on CRAN, so CRAN is not asked about it; mirrors do not have the files for that.
command="export _R_CHECK_COMPILATION_FLAGS_KNOWN_='$known' _R_CHECK_FORCE_SUGGESTS_=false
  export _R_CHECK_CRAN_INCOMING_REMOTE_=false
  R CMD check --as-cran --no-manual riffle_*.tar.gz"

if [ "$suite" = here ]; then
  (cd "$dir" && sh -c "$command") >"$dir/check.log" 2>&1 || :
else
  # What the other root lacks is installed there once; packages that its distribution does not have are left out.
  debs="devscripts tidy pandoc $(sh tools/suggests.sh | tr '[:upper:]' '[:lower:]' | sed 's/^/r-cran-/' | tr '\n' ' ')"
  tools="{ apt-get -qq update; debs=; for p in $debs; do ! apt-cache policy \$p | grep -q 'Candidate: [0-9]' ||"
  tools="$tools debs=\"\$debs \$p\"; done; dpkg -s \$debs >/dev/null 2>&1 || DEBIAN_FRONTEND=noninteractive"
  tools="$tools apt-get -qq install -y --no-install-recommends \$debs; } >apt.log 2>&1 </dev/null"
  # The folder is copied into the other root and gone afterwards: what is of use comes back as text.
  sh "$newer" "$suite" "$dir" "$tools; export NOT_CRAN=true; $command" \
    '; echo ==log==; cat riffle.Rcheck/00check.log; echo ==end==; ' \
    'cat riffle.Rcheck/00install.out; tail -n 50 riffle.Rcheck/tests/*.fail 2>/dev/null; :' \
    >"$dir/check.log" 2>&1 </dev/null || :
  mkdir -p "$dir/riffle.Rcheck"
  sed -n '/^==log==$/,/^==end==$/p' "$dir/check.log" | grep -v '^==' >"$dir/riffle.Rcheck/00check.log" || :
fi

if Rscript --vanilla tools/check-log.R "$dir/riffle.Rcheck/00check.log"; then exit 0; fi
tail -n 80 "$dir/check.log"
[ ! -e "$dir/riffle.Rcheck/tests/testthat.Rout.fail" ] || tail -n 80 "$dir/riffle.Rcheck/tests/testthat.Rout.fail"
exit 1
