#!/bin/sh
# The driver of a real node as a process of its own, with its sockets, journal and CDI files, under a simulated kubelet: what needs no
# containers. The real kubelet is in tests/upstream/node.
# Usage: driver.sh PROGRAM
DRACHMA=$1
. "$(dirname "$0")/lib.sh"
ROOT=$(cd "$(dirname "$0")/../.." && pwd)

cat >"$WORK/fleet.yaml" <<'YAML'
apiVersion: drachma.dev/v1alpha1
kind: Fleet
groups: [{name: real, count: 1}]
YAML
export KUBECONFIG="$WORK/kubeconfig"
start_cluster --ephemeral --listen 127.0.0.1:0 --kubeconfig "$KUBECONFIG" --roles=apiserver,controllers,scheduler
DRIVER=
NODE=
trap 'kill $DRIVER $NODE 2>/dev/null || true; stop_cluster; rm -rf "$WORK"' EXIT
KUBELET=$WORK/kubelet
start_driver() {
  : >"$WORK/driver.log"
  "$DRACHMA" node --kubelet-dir "$KUBELET" --node-name real-0 --backend sim --simulated-gpus "A100-80GB x2" \
    --cdi-dir "$WORK/cdi" --state-dir "$WORK/state" --metrics-listen 127.0.0.1:0 >>"$WORK/driver.log" 2>&1 &
  DRIVER=$!
  eventually 10 grep -q "drives the GPUs" "$WORK/driver.log"
}
cdi_files() { find "$WORK/cdi" -name '*.json' | wc -l; }

# Wrong flags are told before anything is done.
"$DRACHMA" node --cdi-dir "$WORK" 2>"$WORK/said" && fail "--cdi-dir alone was taken"
grep -q "needs --kubelet-dir" "$WORK/said" || fail "$(cat "$WORK/said")"

kubectl apply -f "$ROOT/deploy/device-classes.yaml" >/dev/null
start_driver
"$DRACHMA" node --fleet "$WORK/fleet.yaml" --plugins-registry "$KUBELET/plugins_registry" >"$WORK/node.log" 2>&1 &
NODE=$!
eventually 20 grep -q "has registered the driver" "$WORK/driver.log"
eventually 20 equals 1 count resourceslices

# A second driver does not disturb the first.
"$DRACHMA" node --kubelet-dir "$KUBELET" --node-name real-0 --backend sim --cdi-dir "$WORK/cdi" --state-dir "$WORK/state" \
  2>"$WORK/said" && fail "two drivers share a folder"
grep -q "another driver uses this folder" "$WORK/said" || fail "$(cat "$WORK/said")"

# A kubelet, or anybody, wipes the slices: they are back, newer than before.
kubectl delete resourceslices --all >/dev/null
eventually 5 equals 1 count resourceslices
[ "$(kubectl get resourceslices -o 'jsonpath={.items[0].spec.pool.generation}')" = 2 ] || fail "the generation did not grow"

pod() {
  kubectl apply -f - >/dev/null <<YAML
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: $1}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: $1}
spec:
  terminationGracePeriodSeconds: 1
  resourceClaims: [{name: gpu, resourceClaimName: $1}]
  containers: [{name: c, image: i, resources: {claims: [{name: gpu}]}}]
YAML
}
phase() { kubectl get pod "$1" -o 'jsonpath={.status.phase}'; }
pod one
eventually 30 equals Running phase one
[ "$(cdi_files)" = 1 ] || fail "no CDI file for the claim"

# The driver is killed: the next one knows what is prepared.
kill -9 "$DRIVER"
wait "$DRIVER" 2>/dev/null || true
start_driver
[ "$(cdi_files)" = 1 ] || fail "the CDI file has gone with the driver"
kubectl delete pod one --wait=false >/dev/null
eventually 30 equals 0 cdi_files
eventually 30 equals 0 count pods

# A claim that goes while there is no driver is given back by the next one.
pod two
eventually 30 equals Running phase two
kill -9 "$DRIVER"
wait "$DRIVER" 2>/dev/null || true
kill "$NODE"
wait "$NODE" 2>/dev/null || true
kubectl delete pod two --force >/dev/null 2>&1
eventually 30 kubectl delete resourceclaim two --timeout=5s
start_driver
eventually 10 equals 0 cdi_files

# It ends as it is told, and takes its sockets along.
kill "$DRIVER"
wait "$DRIVER" || fail "the driver ended with $?"
[ ! -e "$KUBELET/plugins_registry/gpu.nvidia.com-reg.sock" ] || fail "its socket is still there"
DRIVER=
NODE=
