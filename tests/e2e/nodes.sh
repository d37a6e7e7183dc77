#!/bin/sh
# Simulated kubelets as processes of their own: what they refuse, how containers run again, compute domains, and what a restart of
# them does to pods that share a claim.
# Usage: nodes.sh PROGRAM
DRACHMA=$1
. "$(dirname "$0")/lib.sh"

cat >"$WORK/fleet.yaml" <<'YAML'
apiVersion: drachma.dev/v1alpha1
kind: Fleet
groups:
- {name: rack, count: 2, gpu: {model: GB200-186GB, count: 4}, nvlinkDomain: rack-1}
- {name: plain, gpu: {model: L4-24GB, count: 1}}
YAML
export KUBECONFIG="$WORK/kubeconfig"
start_cluster --ephemeral --listen 127.0.0.1:0 --kubeconfig "$KUBECONFIG" --roles=apiserver,controllers,scheduler
NODE=
trap 'kill $NODE 2>/dev/null || true; stop_cluster; rm -rf "$WORK"' EXIT
start_nodes() {
  "$DRACHMA" node --fleet "$WORK/fleet.yaml" >>"$WORK/node.log" 2>&1 &
  NODE=$!
}
start_nodes
eventually 30 equals 3 count nodes
phase() { kubectl get pod "$1" -o 'jsonpath={.status.phase}'; }
pod_status() { kubectl get pod "$1" -o "jsonpath={.status.$2}"; }

# Devices that nobody allocated.
kubectl apply -f - >/dev/null <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: bound}
spec:
  nodeName: plain-0
  containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]
---
apiVersion: v1
kind: Pod
metadata: {name: scheduled}
spec:
  nodeSelector: {kubernetes.io/hostname: plain-0}
  containers: [{name: c, image: i, resources: {limits: {nvidia.com/gpu: 1}}}]
YAML
eventually 20 equals Running phase scheduled
eventually 20 equals OutOfnvidia.com/gpu pod_status bound reason
pod_status bound message | grep -q "^Pod was rejected: Node didn't have enough resource: nvidia.com/gpu, requested: 1, used: 0, capacity: 0" ||
  fail "bound: $(pod_status bound message)"

# Containers that end at once.
kubectl apply -f - >/dev/null <<'YAML'
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: hot}
spec:
  serviceName: hot
  selector: {matchLabels: {app: hot}}
  template:
    metadata: {labels: {app: hot}, annotations: {drachma.dev/run-seconds: "0"}}
    spec: {containers: [{name: c, image: i}]}
YAML
eventually 20 equals CrashLoopBackOff pod_status hot-0 'containerStatuses[0].state.waiting.reason'
kubectl get pod hot-0 | grep -q 'CrashLoopBackOff *[1-9]' || fail "$(kubectl get pod hot-0)"

# The channel of a compute domain, and what the driver says of it.
kubectl apply -f - >/dev/null <<'YAML'
apiVersion: resource.nvidia.com/v1beta1
kind: ComputeDomain
metadata: {name: mnnvl}
spec: {channel: {resourceClaimTemplate: {name: channel}}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: shared}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com, count: 4}}]}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: mnnvl}
spec:
  replicas: 2
  selector: {matchLabels: {app: mnnvl}}
  template:
    metadata: {labels: {app: mnnvl}}
    spec:
      containers: [{name: c, image: i, resources: {claims: [{name: channel}]}}]
      resourceClaims: [{name: channel, resourceClaimTemplateName: channel}]
---
apiVersion: v1
kind: Pod
metadata: {name: first, annotations: {drachma.dev/stop-seconds: "0"}}
spec:
  containers: [{name: c, image: i, resources: {claims: [{name: gpu}]}}]
  resourceClaims: [{name: gpu, resourceClaimName: shared}]
---
apiVersion: v1
kind: Pod
metadata: {name: second, annotations: {drachma.dev/stop-seconds: "0"}}
spec:
  containers: [{name: c, image: i, resources: {claims: [{name: gpu}]}}]
  resourceClaims: [{name: gpu, resourceClaimName: shared}]
YAML
kubectl rollout status deployment/mnnvl --timeout=30s >/dev/null
[ "$(kubectl get pods -l app=mnnvl -o 'jsonpath={.items[*].spec.nodeName}' | tr ' ' '\n' | sort | tr '\n' ' ')" = "rack-0 rack-1 " ] ||
  fail "a node has one channel: $(kubectl get pods -l app=mnnvl -o wide)"
domain=$(kubectl get computedomain mnnvl -o 'jsonpath={.metadata.uid}')
reports() { kubectl get resourceclaims -o 'jsonpath={range .items[*]}{range .status.devices[*]}{.driver} {.data.cliqueID} {.data.domainID} {.data.channels}{"\n"}{end}{end}' | grep -c "^compute-domain.nvidia.com rack-1.0 $domain 1\$"; }
eventually 10 equals 2 reports
kubectl wait --for=condition=Ready pod/first pod/second --timeout=30s >/dev/null

# Their kubelet is gone: nobody ends a pod that is deleted. Back again, it ends that one, and the claim stays the other's.
kill -9 "$NODE"
wait "$NODE" 2>/dev/null || true
kubectl delete pod first --wait=false >/dev/null
sleep 1
[ "$(phase first)" = Running ] || fail "who ended the pod of a node that is gone?"
kubectl apply -f - >/dev/null <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: third}
spec:
  containers: [{name: c, image: i, resources: {claims: [{name: gpu}]}}]
  resourceClaims: [{name: gpu, resourceClaimName: shared}]
YAML
start_nodes
kubectl wait --for=delete pod/first --timeout=40s >/dev/null
eventually 30 equals Running phase third
consumers() { kubectl get resourceclaim shared -o 'jsonpath={range .status.reservedFor[*]}{.name}{"\n"}{end}' | sort | tr '\n' ' '; }
eventually 20 equals 'second third ' consumers
kubectl delete pod second third --wait=false >/dev/null
eventually 40 equals '' kubectl get resourceclaim shared -o 'jsonpath={.status.allocation}'
equals '' twice_allocated || fail "devices stand in two claims: $(twice_allocated)"
echo "nodes: fine"
