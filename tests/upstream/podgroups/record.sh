#!/usr/bin/env bash
# Records what a real kube-apiserver 1.37.2 answers to cases.py under three sets of feature gates:
# record.sh. Writes recorded/*.jsonl.gz, which run.sh and the tests of validation read. Needs
# upstream's programs (../kubernetes/build.sh etcd kube-apiserver).
set -euo pipefail
cd "$(dirname "$0")"
source ../kubernetes/control_plane.sh

work=$(mktemp -d)
trap 'stop_upstream "$work/real"; rm -rf "$work"' EXIT
mkdir -p recorded
python3 cases.py >"$work/cases.jsonl"
while read -r name gates; do
  start_upstream "$work/real" --feature-gates "$gates"
  server=$(sed -n 's/.*server: "\(.*\)", insec.*/\1/p' "$work/real/kubeconfig")
  python3 ../corpus/replay.py --server "$server" --token admin-token --record "$work/$name.jsonl" "$work/cases.jsonl" || true
  stop_upstream "$work/real"
  rm -rf "$work/real"
  python3 describe.py <"$work/$name.jsonl" | gzip -9n >"recorded/$name.jsonl.gz"
done <gates.txt
