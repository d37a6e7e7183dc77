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
  ttlSecondsAfterFinished: 1
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
if grep -i forbidden "$WORK/up.log"; then fail "a role was refused"; fi
echo "workloads: fine"
