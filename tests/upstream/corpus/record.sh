#!/usr/bin/env bash
# Records what a real kube-apiserver 1.37.2 answers to generated writes: record.sh SEED COUNT OUT.jsonl
# Needs upstream's programs (tests/upstream/kubernetes/build.sh etcd kube-apiserver).
set -euo pipefail
seed=$1 count=$2 out=$(realpath -m "$3")
cd "$(dirname "$0")"
source ../kubernetes/control_plane.sh

work=$(mktemp -d)
trap 'stop_upstream "$work/real"; rm -rf "$work"' EXIT
start_upstream "$work/real"
python3 generate.py --seed "$seed" --count "$count" >"$work/cases.jsonl"
server=$(sed -n 's/.*server: "\(.*\)", insec.*/\1/p' "$work/real/kubeconfig")
python3 replay.py --server "$server" --token admin-token --record "$out" "$work/cases.jsonl"
