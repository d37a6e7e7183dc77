#!/bin/sh
# A node and its GPU driver that die and come back, while pods hold a GPU: the pods stay where they are, their claim keeps its
# device, and nobody else gets it. The roles run apart here, so that the node's process can be killed alone.
# Usage: examples/restart.sh [DRACHMA]    (wants kubectl)
set -eu
drachma=${1:-drachma}
examples=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
export KUBECONFIG="$work/kubeconfig"
pids=""
trap 'kill $pids 2>/dev/null || true; wait; rm -rf "$work"' EXIT

wait_for() { # COMMAND…: until it succeeds, 30 s at most
  tries=0
  until "$@" >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ "$tries" -lt 150 ] || { echo "in vain: $*" >&2; exit 1; }
    sleep 0.2
  done
}
device() {
  kubectl get resourceclaim shared-gpu \
    -o jsonpath='{.status.allocation.devices.results[0].pool}/{.status.allocation.devices.results[0].device}'
}
node() {
  "$drachma" node --kubeconfig "$KUBECONFIG" --fleet default >>"$work/node.log" 2>&1 &
  node=$!
  pids="$pids $node"
}

"$drachma" up --roles=apiserver,controllers,scheduler --ephemeral --listen 127.0.0.1:0 --kubeconfig "$KUBECONFIG" >"$work/up.log" 2>&1 &
pids=$!
wait_for kubectl get --raw /readyz
node
wait_for kubectl get deviceclass gpu.nvidia.com
kubectl apply -f "$examples/shared-claim.yaml"
kubectl wait pod first second --for=condition=Ready --timeout=30s
before=$(device)
echo "first and second share $before"

kill -9 "$node"
echo "the node's process is dead"
node
kubectl apply -f - <<YAML
apiVersion: v1
kind: Pod
metadata: {name: third}
spec:
  containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]
YAML
kubectl wait pod first second third --for=condition=Ready --timeout=30s
[ "$(device)" = "$before" ] || { echo "the claim has moved to $(device)" >&2; exit 1; }
echo "back again: first and second still share $before, and a third pod got another GPU"
