#!/bin/sh
# Manifests for the device plugin are converted, applied with kubectl, and their pods run: by claims, by extended resources
# of the classes that come with them, and on one shared device.
# Usage: convert.sh PROGRAM
DRACHMA=$1
. "$(dirname "$0")/lib.sh"

cat >"$WORK/fleet.yaml" <<'YAML'
apiVersion: drachma.dev/v1alpha1
kind: Fleet
groups:
- {name: small, count: 1, gpu: {model: A100-40GB, count: 4}}
- {name: large, count: 1, gpu: {model: H100-80GB, count: 4, mig: dynamic}}
YAML
export KUBECONFIG="$WORK/kubeconfig"
start_cluster --ephemeral --listen 127.0.0.1:0 --kubeconfig "$KUBECONFIG" --fleet "$WORK/fleet.yaml"
running() { kubectl get pods -n "$1" --no-headers 2>/dev/null | grep -c ' Running ' || true; }
kubectl_claims() { count resourceclaims -n "$1"; }
reserved_for() { kubectl get resourceclaim "$1" -o jsonpath='{.status.reservedFor[*].name}' | wc -w; }
clear_away() {
  kubectl delete namespace "$1" --timeout 60s >/dev/null
}

cat >"$WORK/plugin.yaml" <<'YAML'
apiVersion: v1
kind: Namespace
metadata: {name: ml}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: team, namespace: ml}
spec: {hard: {requests.nvidia.com/gpu: "4"}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: train, namespace: ml}
spec:
  replicas: 2
  selector: {matchLabels: {app: train}}
  template:
    metadata: {labels: {app: train}}
    spec:
      nodeSelector: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB}
      containers:
      - name: c
        image: i
        resources: {limits: {nvidia.com/gpu: 1}}
---
apiVersion: v1
kind: Pod
metadata: {name: part, namespace: ml}
spec:
  containers:
  - name: c
    image: i
    resources: {limits: {nvidia.com/mig-1g.10gb: 1}}
YAML
"$DRACHMA" convert -f "$WORK/plugin.yaml" >"$WORK/claims.yaml" || fail "not converted"
"$DRACHMA" convert -f "$WORK/claims.yaml" | cmp - "$WORK/claims.yaml" || fail "a second conversion changes something"
kubectl apply --validate=strict -f "$WORK/claims.yaml" >"$WORK/applied" 2>&1 || fail "$(cat "$WORK/applied")"
grep -qi warning "$WORK/applied" && fail "$(cat "$WORK/applied")"
eventually 60 equals 3 running ml
twice=$(kubectl get pods -n ml -l app=train -o jsonpath='{.items[*].spec.nodeName}')
[ "$twice" = "small-0 small-0" ] || fail "the product is not selected: $twice"
kubectl get resourcequota team -n ml -o jsonpath='{.status.used}' | grep -q '"gpu.nvidia.com.deviceclass.resource.k8s.io/devices":"2"' || fail "the quota does not count"
clear_away ml

# The pods as they are, and the classes for them.
"$DRACHMA" convert -f "$WORK/plugin.yaml" --to extended | grep -v nodeSelector >"$WORK/extended.yaml"
kubectl apply -f "$WORK/extended.yaml" >/dev/null || fail "not taken"
eventually 60 equals 3 running ml
equals 3 kubectl_claims ml || fail "no claims for extended resources"
clear_away ml

# Four notebooks on one GPU.
cat >"$WORK/plugin-config.yaml" <<'YAML'
version: v1
sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}
YAML
cat >"$WORK/notebooks.yaml" <<'YAML'
apiVersion: apps/v1
kind: Deployment
metadata: {name: notebooks}
spec:
  replicas: 4
  selector: {matchLabels: {app: notebooks}}
  template:
    metadata: {labels: {app: notebooks}}
    spec:
      containers:
      - name: c
        image: i
        resources: {limits: {nvidia.com/gpu: 1}}
YAML
"$DRACHMA" convert -f "$WORK/notebooks.yaml" -f "$WORK/plugin-config.yaml" --in-place 2>/dev/null >"$WORK/said" || fail "not converted"
grep -q "notebooks.yaml: converted" "$WORK/said" || fail "$(cat "$WORK/said")"
kubectl apply -f "$WORK/notebooks.yaml" >/dev/null
eventually 60 equals 4 running default
equals 4 reserved_for notebooks-gpu || fail "the claim is not shared"

# What cannot be converted is told and left.
cat >"$WORK/daemons.yaml" <<'YAML'
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  containers:
  - name: c
    image: i
    resources:
      limits:
        nvidia.com/gpu.shared: 2
YAML
code=0
"$DRACHMA" convert -f "$WORK/daemons.yaml" >"$WORK/same.yaml" 2>"$WORK/findings" || code=$?
[ "$code" = 1 ] || fail "exit code $code"
cmp "$WORK/daemons.yaml" "$WORK/same.yaml" || fail "half a conversion"
grep -q "daemons.yaml:10:9: error: " "$WORK/findings" || fail "$(cat "$WORK/findings")"
echo "convert: fine"
