#!/bin/sh
# What the API server bears: a watcher that does not read, requests that are too large, its own end.
# Usage: limits.sh PROGRAM
DRACHMA=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$(dirname "$0")/lib.sh"

start_cluster --roles=apiserver --ephemeral --listen 127.0.0.1:0 --kubeconfig "$WORK/kubeconfig" \
  --token-auth-file "$root/tests/identity/tokens.csv"
server=$(sed -n 's/^ *server: //p' "$WORK/kubeconfig")
"$root/tests/e2e/limits.py" "$server" admin-token "$CLUSTER" || fail "a limit does not hold"
wait "$CLUSTER" || fail "the server did not end well"
CLUSTER=
echo "limits: fine"
