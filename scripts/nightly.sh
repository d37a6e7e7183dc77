#!/usr/bin/env bash
# What takes too long for every change: the same suites with far more cases, and runs against
# upstream's programs. Ends with 'N passed, N failed'.
set -uo pipefail
cd "$(dirname "$0")/.."
export DRACHMA_NIGHTLY=1 FUZZ_SECONDS=${FUZZ_SECONDS:-600}
passed=0
failed=0
for suite in tests/upstream/*/run.sh scripts/fuzz.sh; do
  printf '\n=== %s\n' "$suite"
  if "$suite" build/release/drachma; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done
for preset in asan tsan; do
  printf '\n=== all tests with the preset %s\n' "$preset"
  if cmake --preset "$preset" >/dev/null && cmake --build "build/$preset" -j "$(nproc)" -- --quiet &&
    tests/run_suites.py "build/$preset"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
done
printf '\n%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" -eq 0 ]
