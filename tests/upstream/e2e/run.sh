#!/usr/bin/env bash
# Our scheduler, controllers and simulated nodes against a real etcd and kube-apiserver 1.37.2: the
# quickstart must end with three running pods that hold three different GPUs, and devices must be
# shared, taken by extended resources, tainted and given back.
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

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
