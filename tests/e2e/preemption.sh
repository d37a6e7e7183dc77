#!/bin/sh
# A gang takes the GPUs of pods that share claims, through a kill of the whole cluster in the midst of it: sharers leave together,
# nobody holds a device twice, and those who had to leave come back when the gang is gone.
# Usage: preemption.sh PROGRAM
DRACHMA=$1
. "$(dirname "$0")/lib.sh"

cat >"$WORK/fleet.yaml" <<'YAML'
apiVersion: drachma.dev/v1alpha1
kind: Fleet
groups: [{name: hot, count: 2, gpu: {model: H100-80GB, count: 2}}]
YAML
export KUBECONFIG="$WORK/data/kubeconfig"
up() {
  start_cluster --data-dir "$WORK/data" --listen 127.0.0.1:0 --fleet "$WORK/fleet.yaml" --feature-gates GenericWorkload=true
}
running() { kubectl get pods -l "app=$1" --no-headers 2>/dev/null | grep -c ' Running ' || true; }
up
# Each node's two GPUs are one claim, which two pods share.
{
  cat <<'YAML'
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: urgent}
value: 1000
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: pair}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, count: 2}}]}}}
YAML
  for claim in a b; do
    cat <<YAML
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: $claim}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, count: 2}}]}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: shares-$claim}
spec:
  replicas: 2
  selector: {matchLabels: {app: shares, claim: $claim}}
  template:
    metadata: {labels: {app: shares, claim: $claim}, annotations: {drachma.dev/stop-seconds: "1"}}
    spec:
      containers: [{name: c, image: i, resources: {claims: [{name: gpu}]}}]
      resourceClaims: [{name: gpu, resourceClaimName: $claim}]
YAML
  done
} | kubectl apply -f - >/dev/null
eventually 30 equals 4 running shares

# A gang of two needs all four GPUs.
{
  cat <<'YAML'
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: gang}
spec: {priorityClassName: urgent, schedulingPolicy: {gang: {minCount: 2}}}
YAML
  for i in 1 2; do
    cat <<YAML
---
apiVersion: v1
kind: Pod
metadata: {name: gang-$i, labels: {app: gang}}
spec:
  priorityClassName: urgent
  schedulingGroup: {podGroupName: gang}
  containers: [{name: c, image: i, resources: {claims: [{name: gpu}]}}]
  resourceClaims: [{name: gpu, resourceClaimTemplateName: pair}]
YAML
  done
} | kubectl apply -f - >/dev/null
# The victims are being stopped when everything dies.
leaving() { kubectl get pods -l app=shares -o 'jsonpath={.items[*].metadata.deletionTimestamp}' | grep -q .; }
eventually 30 leaving
kill -9 "$CLUSTER"
wait "$CLUSTER" 2>/dev/null || true
CLUSTER=
up
eventually 60 equals 2 running gang
equals '' twice_allocated || fail "devices stand in two claims: $(twice_allocated)"
[ "$(running shares)" = 0 ] || fail "sharers run beside the gang: $(kubectl get pods -o wide)"
# Their claims are nobody's until the gang is gone.
consumers() { kubectl get resourceclaim a b -o 'jsonpath={.items[*].status.reservedFor[*].name}'; }
eventually 20 equals '' consumers
kubectl delete podgroup gang --wait=false >/dev/null
kubectl delete pods -l app=gang --wait=false >/dev/null
eventually 60 equals 4 running shares
[ "$(consumers | wc -w)" = 4 ] || fail "claims a and b are reserved for $(consumers)"
equals '' twice_allocated || fail "devices stand in two claims: $(twice_allocated)"
echo "preemption: fine"
