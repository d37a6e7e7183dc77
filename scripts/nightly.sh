#!/usr/bin/env bash
# What takes too long for every change: the same suites with far more cases, and runs against
# upstream's programs. usage: nightly.sh [PIECE…]      (default: all). Prints the minutes of each piece and
# ends with 'N passed, N failed', a piece being one.
set -uo pipefail
cd "$(dirname "$0")/.."
export DRACHMA_NIGHTLY=1 FUZZ_SECONDS=${FUZZ_SECONDS:-600}
readonly drachma=${DRACHMA:-build/release/drachma}
readonly allocator_cases=${ALLOCATOR_CASES:-1000000} kills=${KILLS:-1000}

# sanitized PRESET: builds and runs all tests with it.
sanitized() {
  cmake --preset "$1" >/dev/null && cmake --build "build/$1" -j "$(nproc)" -- --quiet &&
    tests/run_suites.py "build/$1"
}

allocator() { CASES=$allocator_cases tests/upstream/allocator/run.sh "$drachma"; }
cel() { tests/upstream/cel/run.sh "$drachma"; }
corpus() { tests/upstream/corpus/run.sh "$drachma"; }
protobuf() { COUNT=500 SEED=$RANDOM tests/upstream/protobuf/run.sh build/release; }
components() { tests/upstream/components/run.sh "$drachma"; }
e2e() { tests/upstream/e2e/run.sh "$drachma"; }
ledger() { tests/upstream/e2e/ledger.sh "$drachma"; }
integration() { tests/upstream/integration/run.sh "$drachma"; }
node() { scripts/install.sh --node && tests/upstream/node/run.sh "$drachma"; }
kills() { tests/e2e/kill.sh "$drachma" "$kills"; }
simulation() {
  build/release/tests/simulation/drachma_simulation --seed "$RANDOM" --seeds "${SIMULATIONS:-1000}" --steps 300
}
fuzzing() { scripts/fuzz.sh; }
asan() { sanitized asan; }
tsan() { sanitized tsan; }

readonly all=(allocator cel corpus protobuf components e2e ledger integration node kills simulation fuzzing asan tsan)
passed=0
failed=0
report=""
for piece in "${@:-${all[@]}}"; do
  if [[ " ${all[*]} " != *" $piece "* ]]; then
    echo "there is no piece '$piece', but: ${all[*]}" >&2
    exit 2
  fi
  printf '\n=== %s\n' "$piece"
  begin=$SECONDS
  if "$piece"; then
    passed=$((passed + 1))
    result=ok
  else
    failed=$((failed + 1))
    result=FAIL
  fi
  report+=$(printf '%-4s %4d min  %s' "$result" $(((SECONDS - begin + 30) / 60)) "$piece")$'\n'
done
printf '\n%s%d passed, %d failed\n' "$report" "$passed" "$failed"
[ "$failed" -eq 0 ]
