#!/usr/bin/env bash
# Our CEL against the cel-spec vectors and against upstream's selectors (cel-go, apiserver, DRA).
# usage: run.sh PATH_TO_DRACHMA      Ends with 'N passed, N failed'.
#   CEL_COMPARISONS  number of selector comparisons (default 100000)
#   CEL_SEED         seed of the random selectors (default: another one each time)
#   CEL_ENGINE       the engine's command in place of 'PATH_TO_DRACHMA debug cel'
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
drachma=$(realpath "${1:-$root/build/release/drachma}")
engine=${CEL_ENGINE:-$drachma debug cel}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$here" || exit 1
nice go build -o "$work/bin/" ./cmd/... || exit 1

passed=0
failed=0
# count FILE: adds the numbers of the last line 'NAME: N passed, N failed…'; without one all failed.
count() {
  local line
  line=$(tail -n 1 "$1")
  if [[ $line =~ :\ ([0-9]+)\ passed,\ ([0-9]+)\ failed ]]; then
    passed=$((passed + BASH_REMATCH[1]))
    failed=$((failed + BASH_REMATCH[2]))
  else
    failed=$((failed + 1))
  fi
}

"$work/bin/celspec" -engine "$engine" -as-celgo celgo.skip | tee "$work/celspec"
count "$work/celspec"
"$work/bin/celspec" -engine "$engine" -as-celgo celgo.skip -list-dropped 2>/dev/null |
  sed -n 's/^dropped //p' >"$work/dropped"
if ! diff -u left_out.txt "$work/dropped"; then
  echo "left_out.txt is out of date: the vectors left out are others now"
  failed=$((failed + 1))
fi
# The unit test of versions and feature gates compares with this table.
jq -r .expr "$root/tests/cel/gates.jsonl" |
  "$work/bin/celgates" >"$work/gates"
if ! diff -u "$root/tests/cel/gates.jsonl" "$work/gates"; then
  echo "tests/cel/gates.jsonl is out of date: upstream takes other expressions"
  failed=$((failed + 1))
fi
"$work/bin/celdiff" -engine "$engine" -expressions "$root/tests/cel/selectors.txt" \
  -n "${CEL_COMPARISONS:-100000}" -seed "${CEL_SEED:-0}" | tee "$work/celdiff"
count "$work/celdiff"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
