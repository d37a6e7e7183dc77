#!/usr/bin/env bash
# Records what the real API server and controllers 1.37.2 answer to the scenarios here.
# usage: record.sh [SCENARIO…]      (access, quota)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
# shellcheck source=../upstream/kubernetes/control_plane.sh
. "$root/tests/upstream/kubernetes/control_plane.sh"
"$root/tests/upstream/kubernetes/build.sh" etcd kube-apiserver kube-controller-manager

[ $# -gt 0 ] || set -- access quota
for scenario; do
  work=$(mktemp -d)
  manager=
  trap 'stop_upstream "$work"; [ -z "$manager" ] || kill "$manager"; rm -rf "$work"' EXIT
  start_upstream "$work" --token-auth-file "$here/tokens.csv" \
    --enable-admission-plugins NodeRestriction
  if [ "$scenario" = quota ]; then
    "$upstream_bin/kube-controller-manager" --kubeconfig "$work/kubeconfig" --secure-port 0 \
      --leader-elect=false --controllers=resourcequota-controller,garbage-collector-controller \
      >"$work/manager.log" 2>&1 &
    manager=$!
  fi
  server=$(sed -n 's/.*server: "\(.*\)", insec.*/\1/p' "$work/kubeconfig")
  "$here/replay.py" --server "$server" --golden "$here/$scenario.expected.json" --record \
    "$here/$scenario.json"
  stop_upstream "$work"
done
