#!/usr/bin/env bash
# Builds the benchmarks in release and runs each against upstream in the same run.
# usage: bench.sh [NAME…]   (default: every folder of bench/ that has a run.sh)
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --preset bench >/dev/null
cmake --build build/bench -j "$(nproc)" -- --quiet
for run in bench/*/run.sh; do
  name=$(basename "$(dirname "$run")")
  if [ $# -eq 0 ] || [[ " $* " == *" $name "* ]]; then
    printf '\n=== %s\n' "$name"
    "$run" build/bench
  fi
done
