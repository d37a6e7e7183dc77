#!/usr/bin/env bash
# A real node: kubelet 1.37.2, containerd 2.4.2 and runc run pods with claims; API server, scheduler,
# controllers and the GPU driver (`drachma node --kubelet-dir`, simulated GPUs) are ours. Everything
# runs in a machine of its own (sandbox.sh), which takes away all it made.
# usage: run.sh [PATH_TO_DRACHMA]      Ends with 'N passed, N failed', or says why it is skipped.
# KEEP=1 keeps the logs.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
drachma=$(realpath "${1:-$root/build/release/drachma}")
bin=$root/build/upstream
node=real-1
passed=0 failed=0

# shellcheck source=sandbox.sh
. "$here/sandbox.sh"
# shellcheck source=../kubernetes/checks.sh
. "$here/../kubernetes/checks.sh"
# shellcheck source=../kubernetes/control_plane.sh
. "$here/../kubernetes/control_plane.sh"
# shellcheck source=steps.sh
. "$here/steps.sh"

skip() {
  echo "skipped: $1"
  echo "0 passed, 0 failed"
  exit 0
}
reason=$(sandbox_lacks)
[ -z "$reason" ] || skip "a node in a sandbox: $reason"
for tool in runc busybox ip nsenter pgrep go python3; do
  command -v "$tool" >/dev/null || skip "$tool is missing (scripts/install.sh --node)"
done
[ -x /usr/lib/cni/bridge ] || skip "/usr/lib/cni/bridge is missing (scripts/install.sh --node)"
"$here/../containerd/build.sh" || exit 1
"$here/../kubernetes/build.sh" kubelet kubectl || exit 1

work=$(mktemp -d /tmp/drachma-node-XXXXXX) # short: paths of sockets are
export KUBECONFIG=$work/kubeconfig
finish() {
  sandbox_stop
  if [ "$failed" -eq 0 ] && [ -z "${KEEP:-}" ]; then rm -rf "$work"; else echo "logs are in $work"; fi
}
trap finish EXIT

began=$(date +%s)
sandbox_start "$work" "$node" || exit 1
write_configs
start_api || exit 1
start_containerd || exit 1
start_kubelet
check "the node is ready" within 60 node_ready
start_driver
check "the driver's devices are published" within 20 slices_are 1
check "the kubelet has registered the driver" within 20 grep -qs "has registered the driver" "$work/driver.log"
one_pod
shared_claim
two_claims
kubelet_restart
driver_restart
driver_ends
wiped_slices
sandbox_stop
check "nothing is left of the node" nothing_left
echo "$passed passed, $failed failed (in $(($(date +%s) - began)) s)"
[ "$failed" -eq 0 ]
