#!/bin/sh
# Who may do what, and quotas, request by request as the real API server answered them
# (tests/identity/record.sh). Usage: identity.sh PROGRAM
DRACHMA=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$(dirname "$0")/lib.sh"

# replay SCENARIO ROLES
replay() {
  start_cluster --roles="$2" --ephemeral --listen 127.0.0.1:0 --kubeconfig "$WORK/$1.kubeconfig" \
    --token-auth-file "$root/tests/identity/tokens.csv"
  server=$(sed -n 's/^ *server: //p' "$WORK/$1.kubeconfig")
  "$root/tests/identity/replay.py" --server "$server" \
    --golden "$root/tests/identity/$1.expected.json" "$root/tests/identity/$1.json" ||
    fail "$1 differs"
  [ "$1" != quota ] || "$root/tests/identity/quota_race.py" --server "$server" || fail "a race"
  stop_cluster
}
replay access apiserver
replay quota apiserver,controllers
echo "identity: fine"
