#!/usr/bin/env bash
# On a real etcd and kube-apiserver 1.37.2: devices are drained, and two real kube-schedulers that serve the same nodes allocate
# no device twice while the webhook keeps the ledger. First without it, to see whether the race is there at all.
# usage: ledger.sh PATH_TO_DRACHMA      Ends with 'N passed, N failed'.
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
DRACHMA=$(realpath "${1:-$root/build/release/drachma}")
# shellcheck source=../kubernetes/control_plane.sh
. "$here/../kubernetes/control_plane.sh"
"$here/../kubernetes/build.sh" kubectl etcd kube-apiserver kube-scheduler || exit 1
PATH=$upstream_bin:$PATH
# shellcheck source=../../e2e/lib.sh
. "$root/tests/e2e/lib.sh"
# shellcheck source=../../e2e/drain_steps.sh
. "$root/tests/e2e/drain_steps.sh"
# shellcheck source=../../e2e/race_steps.sh
. "$root/tests/e2e/race_steps.sh"

roles=()
stop_roles() {
  [ "${#roles[@]}" -eq 0 ] || kill "${roles[@]}" 2>/dev/null || true
  roles=()
}
passed=0
finish() {
  code=$?
  stop_roles
  stop_upstream "$WORK/up"
  wait 2>/dev/null
  rm -rf "$WORK"
  if [ "$code" -eq 0 ]; then echo "$passed passed, 0 failed"; else echo "$passed passed, 1 failed"; fi
}
trap finish EXIT
ok() {
  passed=$((passed + 1))
  echo "ok   $1"
}
# run NAME ARGUMENTS…: a role of ours in the background.
run() {
  "$DRACHMA" "$@" >"$WORK/$1.log" 2>&1 &
  roles+=($!)
}
fleet() { # fleet COUNT GPUS
  cat >"$WORK/fleet.yaml" <<YAML
apiVersion: drachma.dev/v1alpha1
kind: Fleet
groups: [{name: hot, count: $1, gpu: {model: H100-80GB, count: $2}}]
YAML
}

export KUBECONFIG="$WORK/up/kubeconfig"
start_upstream "$WORK/up"
fleet 1 2
run controllers
run scheduler
run node --fleet "$WORK/fleet.yaml"
eventually 60 equals 1 count resourceslices
drain_steps
ok "devices of a real API server are drained and come back"
kubectl delete deployment web >/dev/null
kubectl delete poddisruptionbudget all >/dev/null
eventually 60 equals 0 count resourceclaims
stop_roles
kubectl delete nodes,resourceslices --all >/dev/null

fleet 2 8
run controllers
run node --fleet "$WORK/fleet.yaml"
eventually 60 equals 2 count resourceslices
for name in one two; do
  cat >"$WORK/$name.yaml" <<YAML
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: $KUBECONFIG}
leaderElection: {leaderElect: false}
profiles: [{schedulerName: $name}]
YAML
  kube-scheduler --config "$WORK/$name.yaml" --secure-port 0 >"$WORK/$name.log" 2>&1 &
  roles+=($!)
done
# Without the ledger.
races=0
for round in a b c d e; do
  race_pods "$round" | kubectl apply -f - >/dev/null
  for _ in $(seq 30); do
    [ -z "$(twice_allocated)" ] || break
    sleep 0.1
  done
  [ -z "$(twice_allocated)" ] || races=$((races + 1))
  kubectl delete pods -l "round=$round" --force --grace-period=0 >/dev/null 2>&1
  eventually 60 equals 0 count resourceclaims
done
echo "     two kube-schedulers without the ledger: $races of 5 rounds end with a device in two claims"

run webhook --listen 127.0.0.1:0 --self-signed --cert-dir "$WORK/certs" --register --settle 1s
eventually 30 grep -q "drachma applied" "$WORK/webhook.log"
sleep 2 # until every API server thread has read the configuration
for round in 1 2 3 4 5; do race_round "$round"; done
ok "two kube-schedulers with the ledger: all pods run, no device is in two claims ($(grep -c denied "$WORK/webhook.log" || true) writes denied)"
