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

# The drivers' DeviceClasses came with the nodes, made by the nodes' own user; pods use them.
kubectl get deviceclasses gpu.nvidia.com mig.nvidia.com >/dev/null || fail "no DeviceClasses"
"$DRACHMA" apply -f "$root/examples/shared-claim.yaml"
kubectl wait --for=condition=Ready pod/first pod/second --timeout=60s

# A pod that names its node waits for its claim, which nobody allocates.
node=$(kubectl get nodes -o jsonpath='{.items[0].metadata.name}')
kubectl apply -f - <<YAML
apiVersion: v1
kind: Pod
metadata: {name: bound}
spec:
  nodeName: $node
  containers: [{name: c, image: i, resources: {claims: [{name: g}]}}]
  resourceClaims: [{name: g, resourceClaimTemplateName: one-large-gpu}]
YAML
refused() { [ -n "$(kubectl get events --field-selector reason=FailedPrepareDynamicResources,involvedObject.name=bound -o name)" ]; }
eventually 30 refused
[ "$(kubectl get pod bound -o jsonpath='{.status.phase}')" = Pending ] || fail "it runs without its claim"

# Each node has an address of its own, the one that its pods report.
[ "$(kubectl get nodes -o jsonpath='{range .items[*]}{.status.addresses[?(@.type=="InternalIP")].address}{"\n"}{end}' | sort -u | wc -l)" = 4 ] ||
  fail "nodes share an address"
host=$(kubectl get pod first -o jsonpath='{.spec.nodeName}')
[ "$(kubectl get pod first -o jsonpath='{.status.hostIP}')" = "$(kubectl get node "$host" -o jsonpath='{.status.addresses[0].address}')" ] ||
  fail "a pod reports another address than its node"
[ -z "$(twice_allocated)" ] || fail "a device stands in two claims"
echo "roles apart: fine"
