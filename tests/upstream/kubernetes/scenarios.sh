# What every control plane must do with the pods of this folder and of the quickstart: source this file
# after checks.sh. $root is the checkout.
scenarios=$root/tests/upstream/kubernetes

# quickstart WHOSE
quickstart() {
  check "$1: the quickstart is accepted" k apply -f "$root/examples/quickstart.yaml"
  check "$1: the rollout completes" k rollout status deployment/training --timeout 60s
  check "$1: three claims are allocated and reserved" within 20 claims_in_use 3
  check "$1: three pods run" running 3
  check "$1: the devices are pairwise different" pairwise_different
}

scaling() {
  check "scaling up" k scale deployment/training --replicas 5
  eventually "five pods with claims" claims_in_use 5
  check "scaling down" k scale deployment/training --replicas 2
  eventually "the claims of the other pods are gone" number 2 resourceclaims
  check "a new rollout" k set env deployment/training A=B
  check "the new rollout completes" k rollout status deployment/training --timeout 60s
  eventually "only the new pods have claims" claims_in_use 2
  eventually "the old ReplicaSet is empty" field "0 2" '{.items[*].status.replicas}' \
    replicasets --sort-by .status.replicas
  check "the rollout is undone" k rollout undo deployment/training
  check "the old revision is back" k rollout status deployment/training --timeout 60s
  eventually "two claims after all" number 2 resourceclaims
  check "deleting the Deployment in the foreground" k delete deployment training --cascade=foreground --timeout 60s
  check "its pods and claims are gone" within 30 number 0 pods,resourceclaims
}

# The pods of devices.yaml.
sharing() {
  eventually "two pods share a claim" field "first second" '{.status.reservedFor[*].name}' \
    resourceclaim/shared -n devices
  eventually "they run on one node" one_node
  check "the pods are deleted" k delete pod first second -n devices
  eventually "the shared claim is given back" field "" '{.status.allocation}{.status.reservedFor}' resourceclaim/shared -n devices
}
one_node() {
  running 2 first second -n devices &&
    [ "$(k get pods first second -n devices -o jsonpath='{range .items[*]}{.spec.nodeName}{"\n"}{end}' | sort -u | wc -l)" = 1 ]
}

extended() {
  eventually "a pod gets devices by an extended resource" running 1 extended -n devices
  check "its claim has two devices" two_devices
  check "the pod is deleted" k delete pod extended -n devices
  eventually "its claim is gone" no_extended_claims
}
extended_claims() { names resourceclaims -n devices | grep -c extended; }
two_devices() {
  local claim
  claim=$(k get pod extended -n devices -o jsonpath='{.status.extendedResourceClaimStatus.resourceClaimName}')
  [ "$(k get resourceclaim "$claim" -n devices -o jsonpath='{.status.allocation.devices.results[*].device}' | wc -w)" = 2 ]
}
no_extended_claims() { [ "$(extended_claims)" = 0 ]; }

tainting() {
  local pod device
  eventually "a pod with a device runs" running 1 -l app=moving -n devices
  pod=$(names pods -n devices -l app=moving)
  device=$(k get resourceclaims -n devices -o jsonpath='{range .items[*]}{.status.reservedFor[0].name} {.status.allocation.devices.results[0].pool} {.status.allocation.devices.results[0].device}{"\n"}{end}' | sed -n "s/^$pod //p")
  check "a rule taints its device" k apply -f - < <(sed -e "s/POOL/${device% *}/" -e "s/DEVICE/${device#* }/" "$scenarios/taint_rule.yaml")
  eventually "the pod is evicted" number 0 pod "$pod" -n devices
  eventually "another one runs" running 1 -l app=moving -n devices
  check "with another device" other_device "$device"
  eventually "the rule tells of the eviction" field "False Completed 1 pod evicted since starting the controller." \
    '{.status.conditions[0].status} {.status.conditions[0].reason} {.status.conditions[0].message}' \
    devicetaintrule/broken
  check "the rule is deleted" k delete devicetaintrule broken
}
other_device() { ! devices -n devices | grep -qx "${1% *}/${1#* }"; }
