#!/usr/bin/env bash
# run.sh BUILD_DIR: the whole system from outside, as processes of their own: cold start, idle
# memory, pods a second. Upstream's programs take the same load in the same run when they have been
# built (tests/upstream/kubernetes/build.sh). Wall-clock times suffer from whatever else the machine
# does: each measurement is repeated and the best run is shown, with its CPU time, which suffers
# less. As root the run gives itself precedence over other sessions' work.
# RUNS is the number of repetitions (3); WHAT selects from "cold load sizes upstream" (all).
set -euo pipefail
build=$(realpath "${1:?usage: run.sh BUILD_DIR}")
here=$(realpath "$(dirname "$0")")
root=$here/../..
drachma=$build/drachma
bench=$build/bench/system/system_bench
runs=${RUNS:-3}
what=${WHAT:-cold load sizes upstream}

# A session is one scheduling group; precedence is the group's.
if [ -z "${BENCH_SESSION:-}" ] && [ -w /proc/self/autogroup ]; then
  BENCH_SESSION=1 exec setsid -w "$0" "$@"
fi
[ "$(id -u)" = 0 ] && { echo -19 >/proc/self/autogroup; } 2>/dev/null

work=$(mktemp -d)
servers=()
finish() {
  stop_servers
  rm -rf "$work"
}
trap finish EXIT
stop_servers() {
  [ ${#servers[@]} -eq 0 ] && return
  # An API server of upstream's waits for the etcd that ends beside it; nothing here is to be kept.
  kill -KILL "${servers[@]}" 2>/dev/null || true
  wait "${servers[@]}" 2>/dev/null || true
  servers=()
}

# up ARGUMENT…: `drachma up` in an empty folder, until it is ready.
up() {
  rm -rf "$work/data" "$work/kubeconfig"
  : >"$work/log"
  "$drachma" up --data-dir "$work/data" --kubeconfig "$work/kubeconfig" --listen 127.0.0.1:0 "$@" \
    >>"$work/log" 2>&1 &
  servers=($!)
  until grep -q "is up" "$work/log"; do
    kill -0 "${servers[0]}" || { cat "$work/log" >&2; exit 1; }
    sleep 0.05
  done
}

# load NAME "UP ARGUMENTS" LOAD ARGUMENTS…: a row of the table, the best of all runs.
load() {
  local name=$1 arguments=$2
  shift 2
  for _ in $(seq "$runs"); do
    # shellcheck disable=SC2086
    up $arguments
    "$bench" load "$work/kubeconfig" "${servers[0]}" "$@" >>"$work/rows"
    stop_servers
  done
  row "$name"
}
row() {
  sort -t$'\t' -k3,3nr "$work/rows" | head -n 1 | awk -F'\t' -v name="$1" '
    { printf "| %s | %d | **%d** | %d | %.1f | %s |\n", name, $1, $3, $5, $6 / 1024, $7 }'
  rm "$work/rows"
}
table() {
  printf '\n| %s | pods | pods a second | CPU a pod, us | memory a pod, KiB | CPU by role, us a pod |\n' "$1"
  printf '|---|---|---|---|---|---|\n'
}

cold() {
  for _ in $(seq $((runs * 3))); do
    rm -rf "$work/cold"
    mkdir "$work/cold"
    "$bench" cold "$drachma" "$work/cold" "$root/examples/quickstart.yaml" >>"$work/colds"
  done
  sort -n -k2,2 "$work/colds" | awk '
    { listens[NR] = $1; allocated[NR] = $2; bytes[NR] = $3; cpu[NR] = $4 }
    END {
      middle = int((NR + 1) / 2)
      printf "\n| | best of %d | median |\n|---|---|---|\n", NR
      printf "| cold start until it listens | %.0f ms | %.0f ms |\n", listens[1], listens[middle]
      printf "| cold start until the first claim is allocated | %.0f ms | %.0f ms |\n", allocated[1], allocated[middle]
      printf "| CPU time until all is idle | %.0f ms | %.0f ms |\n", 1000 * cpu[1], 1000 * cpu[middle]
      printf "| idle resident memory | %.1f MiB | %.1f MiB |\n", bytes[1] / 1048576, bytes[middle] / 1048576
    }'
  rm "$work/colds"
}

upstream() {
  # shellcheck source=../../tests/upstream/kubernetes/control_plane.sh
  . "$root/tests/upstream/kubernetes/control_plane.sh"
  if [ ! -x "$upstream_bin/kube-scheduler" ] || [ ! -x "$upstream_bin/kube-controller-manager" ]; then
    echo "upstream's programs have not been built; left out"
    return
  fi
  table "upstream"
  start_upstream "$work/upstream" --disable-admission-plugins TaintNodesByCondition
  local limits=(--kubeconfig "$work/upstream/kubeconfig" --leader-elect=false --secure-port 0)
  "$upstream_bin/kube-controller-manager" "${limits[@]}" --kube-api-qps 1000 --kube-api-burst 1000 \
    --controllers '*,-node-lifecycle-controller' >"$work/kcm.log" 2>&1 &
  servers=($!)
  "$upstream_bin/kube-scheduler" "${limits[@]}" --kube-api-qps 5000 --kube-api-burst 5000 \
    >"$work/scheduler.log" 2>&1 &
  servers+=($!)
  mapfile -t pids <"$work/upstream/pids"
  "$bench" load "$work/upstream/kubeconfig" "$(IFS=,; echo "${pids[*]},${servers[*]}")" --pods 500 \
    --nodes 500 --connections 32 >"$work/rows"
  row "etcd, kube-apiserver, controller manager, scheduler 1.37.2"
  servers+=("${pids[@]}")
  stop_servers
}

without_nodes="--roles apiserver,controllers,scheduler"
for part in $what; do
  case $part in
    cold) cold ;;
    load)
      table "500 nodes, 10 devices each"
      load "bound, durable store" "$without_nodes" --nodes 500 --connections 32
      load "bound, memory store" "$without_nodes --ephemeral" --nodes 500 --connections 32
      load "running, durable store" "--fleet scale-500" --running --connections 32
      load "running, memory store" "--fleet scale-500 --ephemeral" --running --connections 32
      ;;
    sizes)
      table "2,000 nodes, 10 devices each"
      for pods in 1000 5000 20000; do
        load "bound, durable store" "$without_nodes" --nodes 2000 --pods $pods --connections 32
      done
      ;;
    upstream) upstream ;;
  esac
done
