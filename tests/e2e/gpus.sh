#!/bin/sh
# Simulated GPUs change while pods use them: faults taint them and go, MIG geometry is another one, devices in use stay until they are free.
# Usage: gpus.sh PROGRAM
DRACHMA=$1
. "$(dirname "$0")/lib.sh"

cat >"$WORK/fleet.yaml" <<'YAML'
apiVersion: drachma.dev/v1alpha1
kind: Fleet
groups:
- {name: hot, count: 1, gpu: {model: L4-24GB, count: 2}}
- {name: cut, count: 1, gpu: {model: H100-80GB, count: 1, mig: static, migDevices: {1g.10gb: 2}}}
YAML
# pod NAME CLASS TOLERATIONS
pod() {
  cat <<YAML
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: $1}
spec: {spec: {devices: {requests: [{name: d, exactly: {deviceClassName: $2, tolerations: [$3]}}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: $1}
spec:
  terminationGracePeriodSeconds: 0
  resourceClaims: [{name: d, resourceClaimTemplateName: $1}]
  containers: [{name: c, image: i, resources: {claims: [{name: d}]}}]
---
YAML
}
phase() { kubectl get pod "$1" -o 'jsonpath={.status.phase}'; }
# devices NODE: "gpu-0 gpu-1!NoSchedule", what the node's GPU driver publishes.
devices() {
  kubectl get resourceslices -o json | jq -r --arg node "$1" \
    '[.items[] | select(.spec.nodeName == $node and .spec.driver == "gpu.nvidia.com") | .spec.devices[]? | .name + ([.taints[]? | "!" + .effect] | add // "")] | join(" ")'
}
generation() { kubectl get resourceslices -o json | jq -r --arg node "$1" '[.items[] | select(.spec.nodeName == $node) | .spec.pool.generation] | max'; }

export KUBECONFIG="$WORK/kubeconfig"
start_cluster --ephemeral --listen 127.0.0.1:0 --kubeconfig "$KUBECONFIG" --fleet "$WORK/fleet.yaml"
equals "gpu-0 gpu-1" devices hot-0 || fail "not two GPUs: $(devices hot-0)"
equals "gpu-0-mig-1g10gb-19-4 gpu-0-mig-1g10gb-19-5" devices cut-0 || fail "not the two parts: $(devices cut-0)"

# A GPU that takes no new pods keeps those it has.
pod first gpu.nvidia.com "" | kubectl apply -f - >/dev/null
eventually 20 equals Running phase first
kubectl annotate node hot-0 'drachma.dev/simulated-health=*=xid:79' >/dev/null
eventually 10 equals "gpu-0!NoSchedule gpu-1!NoSchedule" devices hot-0
pod second gpu.nvidia.com "" | kubectl apply -f - >/dev/null
pod brave gpu.nvidia.com "{operator: Exists, effect: NoSchedule}, {operator: Exists, effect: NoExecute}" | kubectl apply -f - >/dev/null
eventually 20 equals Running phase brave
equals Pending phase second || fail "a pod got a GPU with a fault"
equals Running phase first || fail "a taint that keeps new pods away took one that ran"

# What evicts, evicts those that do not tolerate it.
kubectl annotate --overwrite node hot-0 'drachma.dev/simulated-health=*=xid:79:NoExecute' >/dev/null
eventually 20 equals 0 count pod first
equals Running phase brave || fail "the pod that tolerates the fault is gone"

# The fault is over.
kubectl annotate node hot-0 drachma.dev/simulated-health- >/dev/null
eventually 10 equals "gpu-0 gpu-1" devices hot-0
eventually 30 equals Running phase second

# An administrator cuts a GPU anew while a pod uses a part of it.
pod part mig.nvidia.com "" | kubectl apply -f - >/dev/null
eventually 20 equals Running phase part
used=$(kubectl get resourceclaims -o json | jq -r '.items[] | select(.metadata.name | startswith("part")) | .status.allocation.devices.results[0].device')
before=$(generation cut-0)
kubectl annotate --overwrite node cut-0 'drachma.dev/simulated-gpu=H100-80GB x1 mig=static parts=7g.80gb:1' >/dev/null
eventually 10 equals "gpu-0-mig-7g80gb-0-0 $used!NoSchedule" devices cut-0
equals Running phase part || fail "the pod of the part is gone"
kubectl delete pod part >/dev/null
eventually 20 equals gpu-0-mig-7g80gb-0-0 devices cut-0
[ "$(generation cut-0)" -ge "$before" ] || fail "the pool's generation went back"

# What cannot be read changes nothing and is told.
kubectl annotate --overwrite node cut-0 'drachma.dev/simulated-gpu=H100-80GB x1 mig=static parts=7g.80gb:2' >/dev/null
eventually 10 sh -c 'kubectl get events -A -o json | jq -e ".items[] | select(.reason == \"InvalidSimulation\" and (.message | contains(\"takes at most 1 of 7g.80gb\")))"'
equals gpu-0-mig-7g80gb-0-0 devices cut-0 || fail "the parts changed: $(devices cut-0)"
echo "gpus: fine"
