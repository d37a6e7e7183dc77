#!/usr/bin/env bash
# Upstream's test/integration/dra of Kubernetes 1.37.2 with drachma as its API server: scheduler and
# controllers are upstream's and run in the process of the test.
# usage: run.sh PATH_TO_DRACHMA [CONFIGURATION…]      Ends with 'N passed, N failed'.
# WRITE=1 also rewrites docs/upstream_integration.md (of all configurations).
# The first time it compiles for about 10 minutes on two cores.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
export DRACHMA
DRACHMA=$(realpath "${1:-$root/build/release/drachma}")
shift || true
command -v go >/dev/null || { echo "upstream's tests are built with Go, which is not installed" >&2; exit 3; }
out=$root/build/upstream/integration
"$here/generate.sh" "$out"
(cd "$out" && go test -c -o configurations.test . && go test -c -o pools.test ./dra)
exec "$here/report.py" "$out" "$here/known.txt" ${WRITE:+--write "$root/docs/upstream_integration.md"} "$@"
