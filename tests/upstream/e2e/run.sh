#!/usr/bin/env bash
# Our scheduler, controllers and simulated nodes against a real etcd and kube-apiserver 1.37.2: the
# quickstart must end with three running pods that hold three different GPUs.
# usage: run.sh PATH_TO_DRACHMA      Ends with 'N passed, N failed'.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
drachma=$(realpath "${1:-$root/build/release/drachma}")
# shellcheck source=../kubernetes/control_plane.sh
. "$here/../kubernetes/control_plane.sh"
"$here/../kubernetes/build.sh" kubectl etcd kube-apiserver || exit 1

work=$(mktemp -d)
export KUBECONFIG=$work/up/kubeconfig
kubectl=$upstream_bin/kubectl
passed=0
failed=0
roles=()

finish() {
  kill "${roles[@]}" 2>/dev/null
  stop_upstream "$work/up"
  wait 2>/dev/null
  if [ "$failed" -eq 0 ]; then rm -rf "$work"; else echo "logs are in $work"; fi
}
trap finish EXIT

# check NAME COMMAND…: COMMAND must succeed.
check() {
  local name=$1
  shift
  if "$@" >"$work/out" 2>&1; then
    passed=$((passed + 1))
    echo "ok   $name"
  else
    failed=$((failed + 1))
    echo "FAIL $name"
    cat "$work/out"
  fi
}

# claims_of STATE: how many claims are in that state.
claims_of() { "$kubectl" get resourceclaims --no-headers 2>/dev/null | grep -c " $1 "; }
eventually() {  # eventually COMMAND…: within a minute
  for _ in $(seq 300); do
    "$@" && return 0
    sleep 0.2
  done
  return 1
}
three_claims() { [ "$(claims_of allocated,reserved)" = 3 ]; }
one_claim() { [ "$(claims_of allocated,reserved)" = 1 ] && [ "$("$kubectl" get resourceclaims --no-headers | wc -l)" = 1 ]; }
distinct_devices() {
  local devices
  devices=$("$kubectl" get resourceclaims -o jsonpath='{range .items[*]}{.status.allocation.devices.results[0].pool}/{.status.allocation.devices.results[0].device}{"\n"}{end}')
  [ "$(sort -u <<<"$devices" | wc -l)" = 3 ]
}
nothing_left() { [ -z "$("$kubectl" get pods,resourceclaims --no-headers 2>/dev/null)" ]; }

start_upstream "$work/up" || { failed=1; echo "0 passed, 1 failed"; exit 1; }
for role in controllers scheduler "node --fleet default"; do
  # shellcheck disable=SC2086
  "$drachma" $role --kubeconfig "$KUBECONFIG" >"$work/${role%% *}.log" 2>&1 &
  roles+=($!)
done

check "the quickstart is accepted" "$kubectl" apply -f "$root/examples/quickstart.yaml"
check "the rollout completes" "$kubectl" rollout status deployment/training --timeout 60s
check "three claims are allocated and reserved" eventually three_claims
check "the devices are pairwise different" distinct_devices
deployment=$("$kubectl" get deployments -o name | head -n 1)
check "scaling down is accepted" "$kubectl" scale "$deployment" --replicas 1
check "the claims of the other pods are gone" eventually one_claim
check "deleting is accepted" "$kubectl" delete -f "$root/examples/quickstart.yaml" --wait=false
check "nothing is left" eventually nothing_left

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
