#!/usr/bin/env bash
# Builds every fuzzer with clang under ASan+UBSan and runs each for FUZZ_SECONDS (60), two at a time.
# Ends with 'N passed, N failed'.
set -uo pipefail
cd "$(dirname "$0")/.."
seconds=${FUZZ_SECONDS:-60}
cmake --preset fuzz >/dev/null && cmake --build build/fuzz -j "$(nproc)" -- --quiet || exit 1
# cel_upstream_fuzz compares with upstream's package, where Go is at hand.
if command -v go >/dev/null &&
  nice go build -C tests/upstream/cel -o "$PWD/build/fuzz/celgo-standin" ./cmd/celgo-standin; then
  export CEL_UPSTREAM=$PWD/build/fuzz/celgo-standin
fi
mapfile -t fuzzers < <(find build/fuzz -type f -name '*_fuzz' -executable | sort)

run_one() {
  local fuzzer=$1 seconds=$2 name corpus work words
  name=$(basename "$fuzzer")
  corpus=fuzz/corpus/$name
  work=$(mktemp -d)
  [ -d "$corpus" ] || corpus=""
  words=""
  [ ! -f "fuzz/dict/$name.dict" ] || words=-dict=fuzz/dict/$name.dict
  # shellcheck disable=SC2086
  if "$fuzzer" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=4096 -print_final_stats=1 \
    $words -artifact_prefix="$work/" "$work" $corpus >"$work/log" 2>&1; then
    echo "ok   $name: $(grep -o 'stat::number_of_executed_units: *[0-9]*' "$work/log" | grep -o '[0-9]*$') runs"
    rm -rf "$work"
  else
    echo "FAIL $name (artifacts and log in $work)"
    tail -n 40 "$work/log"
    return 1
  fi
}
export -f run_one

results=$(mktemp -d)
printf '%s\n' "${fuzzers[@]}" |
  xargs -P "$(nproc)" -I{} bash -c 'run_one "$1" "$2" || touch "$3/$(basename "$1")"' _ {} "$seconds" "$results"
failed=$(find "$results" -type f | wc -l)
rm -rf "$results"
echo "$((${#fuzzers[@]} - failed)) passed, $failed failed"
[ "$failed" -eq 0 ] && [ "${#fuzzers[@]}" -gt 0 ]
