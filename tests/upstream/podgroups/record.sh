#!/usr/bin/env bash
# Records what a real kube-apiserver 1.37.2 answers to cases.py under three sets of feature gates:
# record.sh. Writes recorded/*.jsonl.gz for run.sh and tests/validation/podgroups.jsonl. Needs
# upstream's programs (../kubernetes/build.sh etcd kube-apiserver).
set -euo pipefail
cd "$(dirname "$0")"
source ../kubernetes/control_plane.sh

work=$(mktemp -d)
trap 'stop_upstream "$work/real"; rm -rf "$work"' EXIT
mkdir -p recorded
: >../../validation/podgroups.jsonl
python3 cases.py >"$work/cases.jsonl"
while read -r name gates; do
  start_upstream "$work/real" --feature-gates "$gates"
  server=$(sed -n 's/.*server: "\(.*\)", insec.*/\1/p' "$work/real/kubeconfig")
  python3 ../corpus/replay.py --server "$server" --token admin-token --record "$work/$name.jsonl" "$work/cases.jsonl" || true
  stop_upstream "$work/real"
  rm -rf "$work/real"
  python3 describe.py <"$work/$name.jsonl" | gzip -9n >"recorded/$name.jsonl.gz"
  case $name in
  beta) cases= ;;
  all) cases='v1beta1/(parent|preemption|schedulingConstraints)|composite/[^3]' ;; # what is different there
  off) continue ;;
  esac
  gzip -dc "recorded/$name.jsonl.gz" | python3 golden.py "$gates" "$cases" >>../../validation/podgroups.jsonl
done <gates.txt
