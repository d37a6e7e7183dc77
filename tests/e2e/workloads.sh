#!/bin/sh
# Every workload kind comes to life and goes again, and no role asks for more than its user may.
# Usage: workloads.sh PROGRAM
DRACHMA=$1
. "$(dirname "$0")/lib.sh"

export KUBECONFIG="$WORK/kubeconfig"
start_cluster --ephemeral --listen 127.0.0.1:0 --kubeconfig "$KUBECONFIG"
for role in scheduler controllers node; do
  [ -f "$WORK/$role.kubeconfig" ] || fail "no kubeconfig for the $role"
done
kubectl apply -f - <<'YAML'
apiVersion: batch/v1
kind: Job
metadata: {name: short}
spec:
  completions: 2
  parallelism: 2
  template:
    metadata: {annotations: {drachma.dev/run-seconds: "1"}}
    spec: {restartPolicy: Never, containers: [{name: c, image: i}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: everywhere}
spec:
  selector: {matchLabels: {app: everywhere}}
  template: {metadata: {labels: {app: everywhere}}, spec: {containers: [{name: c, image: i}]}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: ordered}
spec:
  serviceName: ordered
  replicas: 2
  selector: {matchLabels: {app: ordered}}
  template: {metadata: {labels: {app: ordered}}, spec: {containers: [{name: c, image: i}]}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpu}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: training}
spec:
  replicas: 2
  selector: {matchLabels: {app: training}}
  template:
    metadata: {labels: {app: training}}
    spec:
      containers: [{name: c, image: i, resources: {claims: [{name: gpu}]}}]
      resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: training}
spec: {minAvailable: 1, selector: {matchLabels: {app: training}}}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: all}
spec: {hard: {pods: "50", count/resourceclaims.resource.k8s.io: "2"}}
YAML
kubectl wait --for=condition=Complete job/short --timeout=30s
kubectl patch job short --type=merge -p '{"spec":{"ttlSecondsAfterFinished":1}}'
kubectl rollout status daemonset/everywhere --timeout=30s
kubectl rollout status statefulset/ordered --timeout=30s
kubectl rollout status deployment/training --timeout=30s
kubectl wait --for=delete job/short --timeout=30s
used() { kubectl get quota all -o "jsonpath={.status.used.count/resourceclaims\.resource\.k8s\.io}"; }
eventually 10 equals 2 used
kubectl scale deployment/training --replicas=1
eventually 10 equals 1 used
kubectl set image daemonset/everywhere c=i:2
kubectl rollout status daemonset/everywhere --timeout=30s
kubectl taint node "$(kubectl get nodes -o jsonpath='{.items[0].metadata.name}')" gone=yes:NoExecute
kubectl delete deployment training --cascade=foreground --timeout=30s
eventually 10 equals 0 used
# Kinds that are defined at run time are counted, collected and go with their namespace, too.
kubectl apply -f - <<'YAML'
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
YAML
kubectl wait --for=condition=Established crd/widgets.example.com --timeout=10s
kubectl create namespace custom
kubectl apply -n custom -f - <<'YAML'
apiVersion: v1
kind: ResourceQuota
metadata: {name: widgets}
spec: {hard: {count/widgets.example.com: "1"}}
---
apiVersion: example.com/v1
kind: Widget
metadata: {name: owner}
YAML
widgets() { kubectl get quota widgets -n custom -o "jsonpath={.status.used.count/widgets\.example\.com}"; }
eventually 10 equals 1 widgets
second='{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "second"}}'
if echo "$second" | kubectl create -n custom -f - 2>"$WORK/second"; then fail "two widgets under a quota of one"; fi
grep -q "exceeded quota: widgets" "$WORK/second" || fail "$(cat "$WORK/second")"
# A map that the widget of the name and cascade owns goes, stays or is waited for.
owned_map() {
  uid=$(kubectl get widget owner -n custom -o 'jsonpath={.metadata.uid}')
  kubectl apply -n custom -f - <<YAML
apiVersion: v1
kind: ConfigMap
metadata:
  name: $1
  ownerReferences:
  - {apiVersion: example.com/v1, kind: Widget, name: owner, uid: $uid, blockOwnerDeletion: true}
YAML
}
# The quota has room again once its controller has counted.
new_owner() {
  eventually 10 equals 0 widgets
  echo '{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "owner"}}' |
    kubectl apply -n custom -f -
}
has_no() { ! kubectl get "$1" "$2" -n custom >/dev/null 2>&1; }
owned_map background
kubectl delete widget owner -n custom
eventually 10 has_no configmap background
new_owner
owned_map foreground
kubectl delete widget owner -n custom --cascade=foreground --timeout=20s
has_no configmap foreground || fail "the owner went before its dependent"
new_owner
owned_map orphan
kubectl delete widget owner -n custom --cascade=orphan --timeout=20s
eventually 10 equals "" kubectl get configmap orphan -n custom -o 'jsonpath={.metadata.ownerReferences}'
new_owner
kubectl patch widget owner -n custom --type=merge -p '{"metadata": {"finalizers": ["example.com/hold"]}}'
kubectl delete namespace custom --wait=false
remaining() {
  kubectl get namespace custom \
    -o 'jsonpath={.status.conditions[?(@.type=="NamespaceContentRemaining")].message}'
}
eventually 10 equals \
  "Some resources are remaining: widgets.example.com has 1 resource instances" remaining
kubectl patch widget owner -n custom --type=merge -p '{"metadata": {"finalizers": null}}'
kubectl wait --for=delete namespace/custom --timeout=20s
if grep -i forbidden "$WORK/up.log"; then fail "a role was refused"; fi
echo "workloads: fine"
