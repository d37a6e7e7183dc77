#!/usr/bin/env bash
# Records what the real API server 1.37.2 answers to the scenarios here (see
# ../identity/replay.py).  usage: record.sh [SCENARIO…]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
# shellcheck source=../upstream/kubernetes/control_plane.sh
. "$root/tests/upstream/kubernetes/control_plane.sh"
"$root/tests/upstream/kubernetes/build.sh" etcd kube-apiserver

[ $# -gt 0 ] || set -- policies limits podsecurity ratcheting owners formats webhooks mutation costs
for scenario; do
  work=$(mktemp -d)
  trap 'stop_upstream "$work"; rm -rf "$work"' EXIT
  flags=(--token-auth-file "$here/tokens.csv" --allow-privileged)
  [ "$scenario" != owners ] ||
    flags+=(--enable-admission-plugins OwnerReferencesPermissionEnforcement)
  start_upstream "$work" "${flags[@]}"
  server=$(sed -n 's/.*server: "\(.*\)", insec.*/\1/p' "$work/kubeconfig")
  "$root/tests/identity/replay.py" --server "$server" --golden "$here/$scenario.expected.json" \
    --record "$here/$scenario.json"
  stop_upstream "$work"
done
