#!/bin/sh
# What people do with kubectl, against a whole cluster: each command changes what it says it does.
# Usage: kubectl.sh PROGRAM [KUBECTL]     (default: the one on the machine). The answers' texts are
# compared with the real server's by tests/kubectl.
DRACHMA=$(realpath "$1")
KUBECTL=$(command -v "${2:-kubectl}")
case $KUBECTL in /*) ;; *) KUBECTL=$PWD/$KUBECTL ;; esac
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$(dirname "$0")/lib.sh"
kubectl() { command "$KUBECTL" "$@"; }

checks=0
# is EXPECTED COMMAND…: its output.
is() {
  expected=$1
  shift
  got=$("$@" 2>&1) || fail "$* ended with $?: $got"
  [ "$got" = "$expected" ] || fail "$*: want '$expected', got '$got'"
  checks=$((checks + 1))
}
# says PATTERN COMMAND…: a part of its output; it succeeds.
says() {
  pattern=$1
  shift
  got=$("$@" 2>&1) || fail "$* ended with $?: $got"
  printf '%s\n' "$got" | grep -qE -- "$pattern" || fail "$*: no '$pattern' in: $got"
  checks=$((checks + 1))
}
# refuses PATTERN COMMAND…: it fails, and says so.
refuses() {
  pattern=$1
  shift
  if got=$("$@" 2>&1); then fail "$* should have failed: $got"; fi
  printf '%s\n' "$got" | grep -qE -- "$pattern" || fail "$*: no '$pattern' in: $got"
  checks=$((checks + 1))
}
path() { kubectl get "$1" -o "jsonpath=$2"; }

start_cluster --ephemeral --listen 127.0.0.1:0 --kubeconfig "$WORK/kubeconfig"
export KUBECONFIG="$WORK/kubeconfig"
cp -r "$root/examples" "$WORK/"
cd "$WORK"

# --- Three replicas: a claim each, named after pod and entry, owned by the pod, allocated, reserved.
says 'deployment.apps/training created' kubectl apply -f examples/quickstart.yaml
says 'deployment.apps/training unchanged' kubectl apply -f examples/quickstart.yaml
says 'successfully rolled out' kubectl rollout status deployment/training --timeout=60s
for pod in $(kubectl get pods -o name); do
  name=${pod#pod/}
  claim=$(path "$pod" '{.status.resourceClaimStatuses[0].resourceClaimName}')
  printf '%s' "$claim" | grep -qE "^$name-gpu-[a-z0-9]{5}\$" || fail "$claim is not named after $name"
  is "Pod $name true" path "resourceclaim/$claim" \
    '{.metadata.ownerReferences[0].kind} {.metadata.ownerReferences[0].name} {.metadata.ownerReferences[0].controller}'
  is "$name" path "resourceclaim/$claim" '{.status.reservedFor[0].name}'
  is "$(path "$pod" '{.spec.nodeName}')" path "resourceclaim/$claim" \
    '{.status.allocation.devices.results[0].pool}'
done
is 3 count resourceclaims
is '' twice_allocated

# --- get in its forms, describe, explain, api-resources.
says 'allocated,reserved' kubectl get resourceclaims
says '(h100|a100|l4)-' kubectl get pods -o wide
says '^kind: List' kubectl get pods -o yaml
is 3 kubectl get deployment training -o 'jsonpath={.spec.replicas}'
says 'training' kubectl get pods -o custom-columns=N:.metadata.name --no-headers
says 'Allocation' kubectl describe resourceclaim
says 'Scheduled' kubectl describe pod -l app=training
says 'resourceclaimtemplates +resource.k8s.io/v1 +true' kubectl api-resources
says 'deviceClassName' kubectl explain resourceclaim.spec.devices.requests.exactly
says 'Scheduled.*Successfully assigned' kubectl events --types=Normal
says 'yes' kubectl auth can-i create resourceclaims
kubectl get pods -w -o name --request-timeout=60s >"$WORK/watched" &
watcher=$!
eventually 30 equals 3 grep -c pod/training "$WORK/watched"

# --- scale: one claim and its device free again; then more than there is room for nothing breaks.
says scaled kubectl scale deployment/training --replicas=2
eventually 30 equals 2 count pods
eventually 30 equals 2 count resourceclaims
says '"allocated": 2' "$DRACHMA" top -o json
says scaled kubectl scale deployment/training --replicas=3
says 'successfully rolled out' kubectl rollout status deployment/training --timeout=60s
eventually 30 grep -qE 'pod/training' "$WORK/watched"
kill "$watcher" 2>/dev/null || true
[ "$(sort -u "$WORK/watched" | wc -l)" -ge 4 ] || fail "the watch did not show the new pod"

# --- set image, rollout history, undo, restart.
says 'image updated' kubectl set image deployment/training training=example/other:2
says 'successfully rolled out' kubectl rollout status deployment/training --timeout=60s
says 'REVISION' kubectl rollout history deployment/training
says 'rolled back' kubectl rollout undo deployment/training
says 'successfully rolled out' kubectl rollout status deployment/training --timeout=60s
kubectl get deployment training -o 'jsonpath={.spec.template.spec.containers[0].image}' | grep -q other &&
  fail "the image was not rolled back"
says restarted kubectl rollout restart deployment/training
says 'successfully rolled out' kubectl rollout status deployment/training --timeout=60s
eventually 30 equals 3 count resourceclaims
is '' twice_allocated

# --- create, label, annotate, patch, replace, edit, diff, apply --server-side and --prune.
says created kubectl create configmap c --from-literal=a=1
refuses 'already exists' kubectl create configmap c --from-literal=a=1
says labeled kubectl label configmap c tier=one
refuses 'already has a value' kubectl label configmap c tier=two
says labeled kubectl label configmap c tier=two --overwrite
says annotated kubectl annotate configmap c note=x
says patched kubectl patch configmap c -p '{"data":{"b":"2"}}'
says patched kubectl patch configmap c --type=merge -p '{"data":{"a":null}}'
says patched kubectl patch configmap c --type=json -p '[{"op":"add","path":"/data/d","value":"3"}]'
is '{"b":"2","d":"3"}' path configmap/c '{.data}'
is 'two x' path configmap/c '{.metadata.labels.tier} {.metadata.annotations.note}'
kubectl get configmap c -o yaml | sed 's/b: "2"/b: "4"/' >changed.yaml
refuses '\+  b: "4"' kubectl diff -f changed.yaml
says replaced kubectl replace -f changed.yaml
is 4 path configmap/c '{.data.b}'
printf '#!/bin/sh\nsed -i "s/b: \\"4\\"/b: \\"5\\"/" "$1"\n' >editor
chmod +x editor
EDITOR="$WORK/editor" says edited kubectl edit configmap c
is 5 path configmap/c '{.data.b}'
cat >set.yaml <<'YAML'
apiVersion: v1
kind: ConfigMap
metadata: {name: s1, labels: {set: yes-please}}
data: {a: "1"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: s2, labels: {set: yes-please}}
data: {a: "1"}
YAML
says 'serverside-applied' kubectl apply --server-side -f set.yaml
sed 's/"1"/"2"/' set.yaml >set2.yaml
refuses 'conflict' kubectl apply --server-side --field-manager=other -f set2.yaml
says 'serverside-applied' kubectl apply --server-side --field-manager=other --force-conflicts -f set2.yaml
kubectl delete -f set.yaml >/dev/null
says created kubectl apply -f set.yaml -l set=yes-please --prune --prune-allowlist=core/v1/ConfigMap
sed '/^---/,$d' set.yaml >one.yaml
says 's2 pruned' kubectl apply -f one.yaml -l set=yes-please --prune --prune-allowlist=core/v1/ConfigMap
is configmap/s1 kubectl get configmap -l set=yes-please -o name

# --- Two pods share a claim: on its node; the device is free when the second is gone.
says 'pod/two created' kubectl create -f - <<'YAML'
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: shared}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: one}
spec:
  containers: [{name: c, image: i, resources: {claims: [{name: g}]}}]
  resourceClaims: [{name: g, resourceClaimName: shared}]
---
apiVersion: v1
kind: Pod
metadata: {name: two}
spec:
  containers: [{name: c, image: i, resources: {claims: [{name: g}]}}]
  resourceClaims: [{name: g, resourceClaimName: shared}]
YAML
says 'pod/two condition met' kubectl wait --for=condition=Ready pod/one pod/two --timeout=30s
says 'condition met' kubectl wait --for=jsonpath='{.status.phase}'=Running pod/one --timeout=30s
is "$(path pod/one '{.spec.nodeName}')" path pod/two '{.spec.nodeName}'
is "$(path pod/one '{.spec.nodeName}')" path resourceclaim/shared '{.status.allocation.devices.results[0].pool}'
says deleted kubectl delete pod one --wait
[ -n "$(path resourceclaim/shared '{.status.allocation}')" ] || fail "the claim is freed while a pod uses it"
kubectl delete pod two --wait=false >/dev/null
kubectl wait --for=delete pod/two --timeout=30s >/dev/null || fail "wait --for=delete"
eventually 30 equals '' path resourceclaim/shared '{.status.allocation}'

# --- explain says why pods wait, each time for another reason.
kubectl create -f - >/dev/null <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: templateless}
spec:
  containers: [{name: c, image: i, resources: {claims: [{name: g}]}}]
  resourceClaims: [{name: g, resourceClaimTemplateName: nowhere}]
---
apiVersion: v1
kind: Pod
metadata: {name: volumeless}
spec:
  containers: [{name: c, image: i}]
  volumes: [{name: v, persistentVolumeClaim: {claimName: data}}]
---
apiVersion: v1
kind: Pod
metadata: {name: too-big}
spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "1000"}}}]}
YAML
says 'ResourceClaimTemplate default/nowhere, which does not exist' "$DRACHMA" explain pod/templateless
says 'persistentvolumeclaim "data" not found' "$DRACHMA" explain pod volumeless
says 'if the pod asked for at most' "$DRACHMA" explain pod/too-big -o json
says 'no pod of deployment default/training waits' "$DRACHMA" explain deployment/training
says 'no pod of deployment default/training waits' "$DRACHMA" explain deploy training
refuses 'not found' "$DRACHMA" explain pod/nobody
refuses 'want pod/NAME' "$DRACHMA" explain node/h100-0
kubectl delete pod templateless volumeless too-big --now >/dev/null

# --- A quota is named where it keeps claims or pods from being made, whoever makes them.
kubectl create -f - >/dev/null <<'YAML'
apiVersion: v1
kind: Namespace
metadata: {name: tight}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: few, namespace: tight}
spec: {hard: {count/resourceclaims.resource.k8s.io: "0", pods: "4"}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpu, namespace: tight}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]}}}
---
apiVersion: v1
kind: Pod
metadata: {name: templated, namespace: tight}
spec:
  containers: [{name: c, image: i, resources: {claims: [{name: g}]}}]
  resourceClaims: [{name: g, resourceClaimTemplateName: gpu}]
---
apiVersion: v1
kind: Pod
metadata: {name: extended, namespace: tight}
spec:
  containers: [{name: c, image: i, resources: {limits: {deviceclass.resource.kubernetes.io/gpu.nvidia.com: 1}}}]
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: many, namespace: tight}
spec:
  replicas: 3
  podManagementPolicy: Parallel
  selector: {matchLabels: {app: many}}
  template:
    metadata: {labels: {app: many}}
    spec: {containers: [{name: c, image: i}]}
YAML
readonly NEEDS='if ResourceQuota tight/few had room for count/resourceclaims.resource.k8s.io=1'
says "$NEEDS" "$DRACHMA" explain pod/templated -n tight
says "$NEEDS" "$DRACHMA" explain pod/extended -n tight
eventually 30 equals 2 kubectl get statefulset/many -n tight -o 'jsonpath={.status.replicas}'
says 'if ResourceQuota tight/few had room for pods=1' "$DRACHMA" explain sts/many -n tight
kubectl delete namespace tight --wait=false >/dev/null

# --- What a simulated node cannot do is refused in words.
pod=$(kubectl get pods -l app=training -o name | head -1)
refuses 'is simulated: no container runs there' kubectl logs "$pod"
refuses 'is simulated: no container runs there' kubectl exec "$pod" -- true
refuses 'is simulated: no container runs there' kubectl cp "${pod#pod/}:/etc/hosts" hosts.copy
refuses 'Metrics API not available' kubectl top nodes
refuses 'Metrics API not available' kubectl top pods

# --- delete: orphans stay, foreground waits for the dependents, --wait for the object.
says deleted kubectl delete deployment training --cascade=orphan
[ "$(count replicasets)" -ge 1 ] || fail "--cascade=orphan took the ReplicaSet"
is 3 count pods
says 'deployment.apps/training created' kubectl apply -f examples/quickstart.yaml
says 'successfully rolled out' kubectl rollout status deployment/training --timeout=60s
is 3 count pods
says deleted kubectl delete deployment training --cascade=foreground --timeout=60s
is 0 count pods
is 0 count replicasets
eventually 30 equals 1 count resourceclaims   # the shared one
says deleted kubectl delete -f examples/quickstart.yaml --ignore-not-found --wait
says deleted kubectl delete resourceclaim shared --wait --timeout=30s

# --- Namespaces go with what is in them.
kubectl create namespace short >/dev/null
kubectl -n short create configmap c --from-literal=a=b >/dev/null
says deleted kubectl delete namespace short --timeout=30s
refuses 'NotFound' kubectl get namespace short
echo "$checks passed, 0 failed"
