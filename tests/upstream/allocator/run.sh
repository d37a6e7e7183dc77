#!/bin/sh
# run.sh PATH_TO_DRACHMA: upstream's allocator table and random cases against `drachma debug allocate`.
# CASES is the number of random cases (20000 in CI, a million nightly), SEED the first one's seed.
set -u
program=$(realpath "${1:?usage: run.sh PATH_TO_DRACHMA}")
cd "$(dirname "$0")" || exit 2
cases=20000
[ -z "${DRACHMA_NIGHTLY:-}" ] || cases=1000000
export ALLOCATOR="${ALLOCATOR:-$program debug allocate}" CASES="${CASES:-$cases}" SEED="${SEED:-1}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# One case of the table does not survive JSON, whoever answers (see table_test.go).
go test -count=1 -timeout 0 -run '^TestTable$' -skip '^TestTable$/^consumable-capacity-requests-are-not-modified$' -v . >"$log" 2>&1
passed=$(grep -c '^ *--- PASS: TestTable/' "$log")
failed=$(grep -c '^ *--- FAIL: TestTable/' "$log")
grep '^ *--- FAIL: TestTable/' "$log"
[ "$passed" -gt 0 ] || { tail -20 "$log"; failed=1; }
echo "table: $passed passed, $failed failed"
if go test -count=1 -timeout 0 -run '^TestRandom$' -v . >"$log" 2>&1; then passed=$((passed + 1)); else failed=$((failed + 1)); grep -A3 'seed' "$log" | head -60; fi
grep -m1 '^random:' "$log" || tail -20 "$log"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
