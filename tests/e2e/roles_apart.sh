#!/bin/sh
# The roles as processes of their own over HTTPS, through a restart of the API server.
# Usage: roles_apart.sh PROGRAM
DRACHMA=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$(dirname "$0")/lib.sh"

port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
data=$WORK/data
export KUBECONFIG="$data/kubeconfig"
start_cluster --roles=apiserver --data-dir "$data" --listen "127.0.0.1:$port"
roles=
trap 'kill $roles 2>/dev/null || true; stop_cluster; rm -rf "$WORK"' EXIT
for role in controllers scheduler node; do
  "$DRACHMA" "$role" >"$WORK/$role.log" 2>&1 &
  roles="$roles $!"
done
eventually 30 equals 4 count nodes
"$DRACHMA" apply -f "$root/examples/quickstart.yaml"
kubectl rollout status deployment/training --timeout=60s

stop_cluster
start_cluster --roles=apiserver --data-dir "$data" --listen "127.0.0.1:$port"
kubectl scale deployment/training --replicas=5
kubectl rollout status deployment/training --timeout=90s
eventually 30 equals 5 count resourceclaims
[ -z "$(twice_allocated)" ] || fail "a device stands in two claims"
echo "roles apart: fine"
