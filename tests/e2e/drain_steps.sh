# Sourced by drain.sh and by the run against the real API server; wants a node hot-0 with two GPUs,
# $DRACHMA, $WORK and the functions of lib.sh.
holders() { kubectl get resourceclaims -o jsonpath='{range .items[*]}{.status.allocation.devices.results[*].device}{"\n"}{end}' | sort | tr '\n' ' '; }
pod_on() { # pod_on DEVICE: the pod that has it
  kubectl get resourceclaims -o jsonpath='{range .items[*]}{.status.allocation.devices.results[0].device} {.status.reservedFor[0].name}{"\n"}{end}' | sed -n "s/^$1 //p"
}
pods_running() { kubectl get pods --no-headers 2>/dev/null | grep -c ' Running ' || true; }
phase_of() { kubectl get pod "$1" -o jsonpath='{.status.phase}'; }

drain_steps() {
  kubectl apply -f - >/dev/null <<'YAML'
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: all}
spec: {minAvailable: 2, selector: {matchLabels: {app: web}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: c, image: i, resources: {claims: [{name: gpu}]}}]
      resourceClaims: [{name: gpu, resourceClaimTemplateName: one}]
YAML
  eventually 60 equals 2 pods_running

  "$DRACHMA" drain device gpu.nvidia.com/hot-0/gpu-7 2>"$WORK/unknown" && fail "a device that is not there is drained"
  grep -q "did you mean gpu.nvidia.com/hot-0/gpu-" "$WORK/unknown" || fail "no near name: $(cat "$WORK/unknown")"

  victim=$(pod_on gpu-1)
  "$DRACHMA" drain device gpu.nvidia.com/hot-0/gpu-1 --dry-run >"$WORK/dry"
  grep -q "created (dry run): NoExecute" "$WORK/dry" || fail "$(cat "$WORK/dry")"
  grep -q "$victim" "$WORK/dry" || fail "a dry run does not name $victim: $(cat "$WORK/dry")"
  equals 0 count devicetaintrules || fail "a dry run leaves a rule"

  "$DRACHMA" drain device gpu.nvidia.com/hot-0/gpu-1 --reason "XID 79" --timeout 60s >"$WORK/drained" || fail "$(cat "$WORK/drained")"
  grep -q "concerned: default/all" "$WORK/drained" || fail "no budget is named: $(cat "$WORK/drained")"
  grep -q "nobody holds the devices" "$WORK/drained" || fail "$(cat "$WORK/drained")"
  kubectl get pod "$victim" >/dev/null 2>&1 && fail "$victim is still there"
  equals "XID 79" kubectl get devicetaintrules -o jsonpath='{.items[0].metadata.annotations.drachma\.dev/drain-reason}' || fail "no reason"
  # Its replacement finds no other device.
  eventually 30 equals "gpu-0 " holders_of_allocated
  "$DRACHMA" drain device/gpu.nvidia.com/hot-0/gpu-1 --reason "XID 79" -o json | grep -q '"unchanged"' || fail "a second drain changes the rule"

  "$DRACHMA" undrain device gpu.nvidia.com/hot-0/gpu-1 | grep -q "removed: gpu.nvidia.com/hot-0/gpu-1" || fail "not undrained"
  eventually 60 equals 2 pods_running

  # A whole node, without eviction: pods stay, and new ones wait.
  "$DRACHMA" drain node hot-0 --effect NoSchedule >"$WORK/node" || fail "$(cat "$WORK/node")"
  grep -q "NoSchedule for gpu.nvidia.com/hot-0$" "$WORK/node" || fail "$(cat "$WORK/node")"
  "$DRACHMA" drain node hot-0 --effect NoSchedule --wait --timeout 1s >"$WORK/node" && fail "pods that stay are no drained node"
  grep -q "not drained in time: 2 claims left" "$WORK/node" || fail "$(cat "$WORK/node")"
  equals 2 pods_running || fail "NoSchedule evicts"
  # A rule of somebody else is left alone.
  kubectl apply -f - >/dev/null <<'YAML'
apiVersion: resource.k8s.io/v1
kind: DeviceTaintRule
metadata: {name: mine}
spec: {deviceSelector: {driver: gpu.nvidia.com}, taint: {key: example.com/mine, effect: NoSchedule}}
YAML
  "$DRACHMA" undrain node hot-0 >"$WORK/node"
  grep -q "still tainted by DeviceTaintRule mine (example.com/mine:NoSchedule)" "$WORK/node" || fail "$(cat "$WORK/node")"
  equals mine kubectl get devicetaintrules -o jsonpath='{.items[*].metadata.name}' || fail "a rule of somebody else has gone"
  kubectl delete devicetaintrule mine >/dev/null
}
holders_of_allocated() { holders | tr -s ' \n' ' ' | sed 's/^ //'; }
