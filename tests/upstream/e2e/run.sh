#!/usr/bin/env bash
# Our scheduler, controllers and simulated nodes against a real etcd and kube-apiserver 1.37.2: the
# quickstart must end with three running pods that hold three different GPUs, and devices must be
# shared, taken by extended resources, tainted and given back, and jobs run over several nodes of a
# rack.
# usage: run.sh PATH_TO_DRACHMA      Ends with 'N passed, N failed'.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
drachma=$(realpath "${1:-$root/build/release/drachma}")
# shellcheck source=../kubernetes/control_plane.sh
. "$here/../kubernetes/control_plane.sh"
# shellcheck source=../kubernetes/checks.sh
. "$here/../kubernetes/checks.sh"
# shellcheck source=../kubernetes/scenarios.sh
. "$here/../kubernetes/scenarios.sh"
"$here/../kubernetes/build.sh" kubectl etcd kube-apiserver || exit 1

work=$(mktemp -d)
export KUBECONFIG=$work/up/kubeconfig
roles=()

finish() {
  kill "${roles[@]}" 2>/dev/null
  stop_upstream "$work/up"
  wait 2>/dev/null
  if [ "$failed" -eq 0 ]; then rm -rf "$work"; else echo "logs are in $work"; fi
}
trap finish EXIT

start_upstream "$work/up" || { failed=1; echo "0 passed, 1 failed"; exit 1; }
for role in controllers scheduler "node --fleet default"; do
  # shellcheck disable=SC2086
  "$drachma" $role --kubeconfig "$KUBECONFIG" >"$work/${role%% *}.log" 2>&1 &
  roles+=($!)
done

quickstart "our roles"
scaling
check "pods with devices of all kinds" k apply -f "$scenarios/devices.yaml"
sharing
extended
tainting
check "a namespace goes away with all that is in it" k delete namespace devices --timeout 90s
eventually "no claim is left" number 0 resourceclaims -A

# Compute domains: their definitions and what their controller may do came with the roles.
"$drachma" node --fleet gb200-nvl72 --kubeconfig "$KUBECONFIG" >"$work/rack.log" 2>&1 &
roles+=($!)
eventually "a rack of nodes is there" number 18 nodes -l nvidia.com/gpu.clique=rack-1.0
check "jobs over several nodes" "$drachma" apply -f "$root/examples/compute-domain.yaml" --kubeconfig "$KUBECONFIG"
eventually "their pods run" running 5
reported() { [ "$(k get resourceclaims -o 'jsonpath={range .items[*]}{.status.devices[*].data.cliqueID}{"\n"}{end}' | grep -c '^rack-1.0$')" = "$1" ]; }
eventually "what their driver did stands in the claims" reported 5
eventually "their domain is ready" field Ready '{.status.status}' computedomain training
check "the spec of a domain stays" refused_with "A computeDomain.spec is immutable" \
  k patch computedomain training --type merge -p '{"spec":{"numNodes":3}}'
check "domains are deleted" k delete computedomain --all --timeout 60s
check "what they had is gone" number 0 daemonsets -n dra-driver-nvidia-gpu
check "no node is theirs" number 0 nodes -l resource.nvidia.com/computeDomain

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
