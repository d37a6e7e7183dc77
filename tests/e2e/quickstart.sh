#!/bin/sh
# The quickstart through a real kubectl: claims come, follow their pods and go with them.
# Usage: quickstart.sh PROGRAM
DRACHMA=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$(dirname "$0")/lib.sh"

start_cluster --ephemeral --listen 127.0.0.1:0 --kubeconfig "$WORK/kubeconfig"
export KUBECONFIG="$WORK/kubeconfig"

kubectl apply -f "$root/examples/quickstart.yaml"
kubectl rollout status deployment/training --timeout=60s
[ "$(count resourceclaims)" = 3 ] || fail "three claims are expected"
kubectl get resourceclaims -o name | grep -qE 'training-[a-z0-9]+-[a-z0-9]{5}-gpu-[a-z0-9]{5}$' ||
  fail "claims are named after pod and entry"
[ -z "$(twice_allocated)" ] || fail "a device stands in two claims"

kubectl scale deployment/training --replicas=2
eventually 30 equals 2 count pods
eventually 30 equals 2 count resourceclaims

kubectl set image deployment/training training=example/other:2
kubectl rollout status deployment/training --timeout=60s
kubectl rollout undo deployment/training
kubectl rollout status deployment/training --timeout=60s
[ -z "$(twice_allocated)" ] || fail "a device stands in two claims after the rollouts"

kubectl delete -f "$root/examples/quickstart.yaml" --cascade=foreground
eventually 30 equals 0 count pods
eventually 30 equals 0 count resourceclaims
kubectl create namespace short
kubectl -n short create configmap c --from-literal=a=b
kubectl delete namespace short --timeout=30s
echo "quickstart: fine"
