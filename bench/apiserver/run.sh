#!/usr/bin/env bash
# run.sh BUILD_DIR [full|short]: the real etcd + kube-apiserver 1.37.2 and `drachma up --roles apiserver`, one after
# the other under the same load from the same program, each with its data on this folder's disk. BUILD_DIR
# is a build with the bench preset. Needs Go to build upstream's programs the first time.
# Prints a table in Markdown; KEEP=DIR keeps the raw figures there.
set -euo pipefail
build=$(realpath "${1:?usage: run.sh BUILD_DIR [full|short]}")
size=${2:-full}
root=$(realpath "$(dirname "$0")/../..")
drachma=${DRACHMA:-$build/src/cli/drachma}
[ -x "$drachma" ] || drachma=$build/drachma
# shellcheck source=../../tests/upstream/kubernetes/control_plane.sh
. "$root/tests/upstream/kubernetes/control_plane.sh"
[ -x "$upstream_bin/kube-apiserver" ] && [ -x "$upstream_bin/etcd" ] ||
  "$root/tests/upstream/kubernetes/build.sh"

work=$(mktemp -d "$build/apiserver-bench.XXXXXX")
ours=
stop() {
  stop_upstream "$work/upstream" || true # its processes may have ended
  [ -z "$ours" ] || kill "$ours" 2>/dev/null || true
}
trap 'stop; wait 2>/dev/null || true; rm -rf "$work"' EXIT

start_upstream "$work/upstream"
port=$(sed -n 's/.*server: "https:.*:\([0-9]*\)".*/\1/p' "$work/upstream/kubeconfig")
mapfile -t pids <"$work/upstream/pids"
"$build/bench/apiserver/apiserver_bench" "$size" "$port" admin-token "${pids[@]}" >"$work/theirs.tsv"
stop_upstream "$work/upstream"

echo "admin-token,admin,admin,system:masters" >"$work/tokens.csv"
port=$(free_port)
"$drachma" up --roles apiserver --fleet none --data-dir "$work/data" --listen "127.0.0.1:$port" \
  --kubeconfig "$work/unused" --token-auth-file "$work/tokens.csv" >"$work/up.log" 2>&1 &
ours=$!
write_kubeconfig "$work/kubeconfig" "https://127.0.0.1:$port" admin-token
wait_ready "$work/kubeconfig" 60
"$build/bench/apiserver/apiserver_bench" "$size" "$port" admin-token "$ours" >"$work/ours.tsv"
[ -z "${KEEP:-}" ] || cp "$work"/{ours,theirs}.tsv "$KEEP"
"$root/bench/apiserver/report.py" "$work/theirs.tsv" "$work/ours.tsv"
