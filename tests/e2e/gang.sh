#!/bin/sh
# Pod groups with their gates on: the API answers as the real server does, gangs start whole or not at all, claims of a group serve
# its pods, and a group stays as long as its pods do.
# Usage: gang.sh DRACHMA
DRACHMA=$1
. "$(dirname "$0")/lib.sh"
ROOT=$(cd "$(dirname "$0")/../.." && pwd)
GATES=GenericWorkload=true,DRAWorkloadResourceClaims=true

"$ROOT/tests/upstream/podgroups/run.sh" "$DRACHMA" >"$WORK/replay" 2>&1 || fail "answers differ: $(cat "$WORK/replay")"

"$DRACHMA" plan -f "$ROOT/examples/gang.yaml" --fleet default --feature-gates $GATES -o json >"$WORK/plan.json" ||
  fail "plan: $(cat "$WORK/plan.json")"
equals 5 grep -c '"phase": *"Scheduled"' "$WORK/plan.json" || fail "not 5 pods placed: $(cat "$WORK/plan.json")"
"$DRACHMA" plan -f "$ROOT/examples/gang.yaml" --fleet default >"$WORK/plan" 2>&1 && fail "a plan without the gates knows pod groups"
grep -q 'it needs --feature-gates GenericWorkload=true' "$WORK/plan" || fail "the gate is not named: $(cat "$WORK/plan")"

# Four nodes of eight GPUs: a gang of five pods with eight GPUs each does not fit, one of two does.
export KUBECONFIG="$WORK/kubeconfig"
start_cluster --ephemeral --listen 127.0.0.1:0 --kubeconfig "$KUBECONFIG" --fleet dgx-h100 --feature-gates $GATES
# gang NAME MEMBERS MINCOUNT
gang() {
  cat <<YAML
apiVersion: scheduling.k8s.io/v1beta1
kind: PodGroup
metadata: {name: $1}
spec: {schedulingPolicy: {gang: {minCount: $3}}}
YAML
  for i in $(seq "$2"); do
    cat <<YAML
---
apiVersion: v1
kind: Pod
metadata: {name: $1-$i, labels: {gang: $1}}
spec:
  schedulingGroup: {podGroupName: $1}
  containers: [{name: c, image: i, resources: {claims: [{name: gpu}]}}]
  resourceClaims: [{name: gpu, resourceClaimTemplateName: node}]
YAML
  done
}
kubectl apply -f - >/dev/null <<'YAML'
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: node}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, count: 8}}]}}}
YAML
gang large 5 5 | kubectl apply -f - >/dev/null
reason() { kubectl get podgroup "$1" -o 'jsonpath={.status.conditions[0].reason}'; }
message() { kubectl get pod "$1" -o 'jsonpath={.status.conditions[?(@.type=="PodScheduled")].message}'; }
eventually 20 equals Unschedulable reason large
message large-1 | grep -q 'minCount (5) cannot be satisfied: 4 scheduled, 0 remaining. 4 of 5 pods of pod group default/large have a place' ||
  fail "large-1: $(message large-1)"
kubectl get events | grep -q 'FailedScheduling.*request gpu needs 8 of 32 devices' || fail "no event says what is lacking: $(kubectl get events)"
allocated() { kubectl get resourceclaims -o 'jsonpath={range .items[*]}{.status.allocation}{end}'; }
equals '' allocated || fail "a gang that does not fit holds devices: $(allocated)"
gang small 2 2 | kubectl apply -f - >/dev/null
kubectl wait --for=jsonpath='{.status.phase}'=Running pod -l gang=small --timeout=30s >/dev/null
eventually 10 equals Scheduled reason small
kubectl get podgroups | grep -q '^small *Gang *<none> *Scheduled' || fail "$(kubectl get podgroups)"
# With a smaller minCount the part of the gang that fits runs.
kubectl patch podgroup large --type=merge -p '{"spec":{"schedulingPolicy":{"gang":{"minCount":2}}}}' >/dev/null
eventually 30 equals Scheduled reason large
[ "$(twice_allocated)" = "" ] || fail "devices stand in two claims"

# The group goes after its last pod.
kubectl delete podgroup small --wait=false >/dev/null
kubectl get podgroup small >/dev/null || fail "the group went before its pods"
kubectl delete pod -l gang=small --wait=false >/dev/null
kubectl wait --for=delete podgroup/small --timeout=30s
kubectl delete podgroup large --wait=false >/dev/null
kubectl delete pod -l gang=large --wait=false >/dev/null
kubectl wait --for=delete podgroup/large --timeout=30s

# One claim for the whole group: made from its template, reserved for it, freed with it.
kubectl apply -f "$ROOT/examples/gang.yaml" >/dev/null
kubectl wait --for=jsonpath='{.status.phase}'=Running pod/pair-0 pod/pair-1 pod/train-0 pod/train-1 pod/train-2 --timeout=30s >/dev/null
claim=$(kubectl get podgroup pair -o 'jsonpath={.status.resourceClaimStatuses[0].resourceClaimName}')
consumers() { kubectl get resourceclaim "$claim" -o 'jsonpath={range .status.reservedFor[*]}{.resource}/{.name}{"\n"}{end}'; }
equals podgroups/pair consumers || fail "$claim is reserved for $(consumers)"
kubectl delete pod pair-0 --wait=false >/dev/null
kubectl wait --for=delete pod/pair-0 --timeout=30s >/dev/null
equals podgroups/pair consumers || fail "the claim did not outlive a pod"
kubectl delete podgroup pair --wait=false >/dev/null
kubectl delete pod pair-1 --wait=false >/dev/null
kubectl wait --for=delete "resourceclaim/$claim" --timeout=30s >/dev/null
echo "gang: fine"
