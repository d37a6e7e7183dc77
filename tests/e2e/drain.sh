#!/bin/sh
# Devices are drained: new claims stay away, pods are evicted, those that tolerate it stay; and taken back.
# Usage: drain.sh PROGRAM
DRACHMA=$1
. "$(dirname "$0")/lib.sh"

cat >"$WORK/fleet.yaml" <<'YAML'
apiVersion: drachma.dev/v1alpha1
kind: Fleet
groups: [{name: hot, count: 1, gpu: {model: H100-80GB, count: 2}}]
YAML
export KUBECONFIG="$WORK/kubeconfig"
start_cluster --ephemeral --listen 127.0.0.1:0 --kubeconfig "$KUBECONFIG" --fleet "$WORK/fleet.yaml"
. "$(dirname "$0")/drain_steps.sh"
drain_steps
stop_cluster

# An API server that does not serve the rules: what is missing is told. Slices of an old version are read all the same.
start_cluster --roles=apiserver --ephemeral --listen 127.0.0.1:0 --kubeconfig "$KUBECONFIG" \
  --runtime-config resource.k8s.io/v1=false,resource.k8s.io/v1beta2=false,resource.k8s.io/v1alpha3=false
kubectl create -f - >/dev/null <<'YAML'
apiVersion: resource.k8s.io/v1beta1
kind: ResourceSlice
metadata: {name: s}
spec: {driver: d.example.com, nodeName: node, pool: {name: p, generation: 1, resourceSliceCount: 1}, devices: [{name: x, basic: {}}]}
YAML
"$DRACHMA" drain device d.example.com/p/x 2>"$WORK/said" && fail "drained without rules"
grep -q "does not serve DeviceTaintRules.*DRADeviceTaintRules" "$WORK/said" || fail "$(cat "$WORK/said")"
echo "drain: fine"
