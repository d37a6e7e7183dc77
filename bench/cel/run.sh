#!/usr/bin/env bash
# Times the selectors of public drivers here and with upstream's package (cel-go, as the scheduler
# uses it). usage: run.sh PATH_TO_DRACHMA [ITERATIONS]     CEL_ENGINE: another engine command
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
drachma=$(realpath "${1:-$root/build/release/drachma}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$root/tests/upstream/cel"
nice go build -o "$work/celbench" ./cmd/celbench
"$work/celbench" -engine "${CEL_ENGINE:-$drachma debug cel}" \
  -expressions "$root/tests/cel/selectors.txt" -iterations "${2:-2000}" | tail -n 3
