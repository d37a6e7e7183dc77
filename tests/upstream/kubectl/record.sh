#!/usr/bin/env bash
# Records tests/kubectl/golden/VERSION.txt: the scenario's commands answered by the real kube-apiserver
# 1.37.2 (no controllers), once for every kubectl given. Needs Go for the server.
# usage: record.sh KUBECTL…
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
scenario=$here/../../kubectl
# shellcheck source=../kubernetes/control_plane.sh
. "$here/../kubernetes/control_plane.sh"
"$here/../kubernetes/build.sh" etcd kube-apiserver
for kubectl in "$@"; do
  version=$("$kubectl" version --client -o json | jq -r .clientVersion.gitVersion | grep -oE '^v1\.[0-9]+')
  work=$(mktemp -d)
  start_upstream "$work"
  "$scenario/scenario.py" --kubectl "$kubectl" --kubeconfig "$work/kubeconfig" \
    >"$scenario/golden/${version#v}.txt"
  stop_upstream "$work"
  rm -rf "$work"
  echo "recorded $scenario/golden/${version#v}.txt"
done
