#!/bin/sh
# What admission refuses, request by request as the real API server answered it
# (tests/admission/record.sh). Usage: admission.sh PROGRAM
DRACHMA=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$(dirname "$0")/lib.sh"

# replay SCENARIO [FLAG…]
replay() {
  scenario=$1
  shift
  start_cluster --roles=apiserver --ephemeral --listen 127.0.0.1:0 \
    --kubeconfig "$WORK/$scenario.kubeconfig" \
    --token-auth-file "$root/tests/admission/tokens.csv" "$@"
  server=$(sed -n 's/^ *server: //p' "$WORK/$scenario.kubeconfig")
  "$root/tests/identity/replay.py" --server "$server" \
    --golden "$root/tests/admission/$scenario.expected.json" \
    "$root/tests/admission/$scenario.json" || touch "$WORK/failed"
  stop_cluster
}
replay policies
replay limits
replay podsecurity
replay ratcheting
replay formats
replay webhooks
replay mutation
replay costs
replay owners --enable-admission-plugins=OwnerReferencesPermissionEnforcement
[ ! -e "$WORK/failed" ] || fail "answers differ"
echo "admission: fine"
