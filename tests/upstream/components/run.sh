#!/usr/bin/env bash
# The real kube-scheduler and kube-controller-manager 1.37.2 with their default settings (and so with
# protobuf bodies) on drachma's API server and simulated nodes, without drachma's own scheduler and
# controllers: the quickstart and workloads of every kind must come to life and go away again, and
# nothing in the logs of either may come from a fault of the server.
# usage: run.sh PATH_TO_DRACHMA      Ends with 'N passed, N failed'.
# With REFERENCE=1 everything but the nodes is upstream's, kube-apiserver included: that is how the lines
# of expected.txt were found.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
drachma=$(realpath "${1:-$root/build/release/drachma}")
# shellcheck source=../kubernetes/control_plane.sh
. "$here/../kubernetes/control_plane.sh"
# shellcheck source=../kubernetes/checks.sh
. "$here/../kubernetes/checks.sh"
# shellcheck source=../kubernetes/scenarios.sh
. "$here/../kubernetes/scenarios.sh"
"$here/../kubernetes/build.sh" kubectl kube-scheduler kube-controller-manager || exit 1

work=$(mktemp -d)
export KUBECONFIG=$work/kubeconfig
server=
components=()

stop_all() {
  [ "${#components[@]}" -gt 0 ] && kill "${components[@]}" 2>/dev/null && wait "${components[@]}" 2>/dev/null
  [ -n "$server" ] && kill "$server" 2>/dev/null && wait "$server" 2>/dev/null
  components=()
  server=
}
finish() {
  stop_all
  if [ "$failed" -eq 0 ]; then rm -rf "$work"; else echo "logs are in $work"; fi
}
trap finish EXIT

# start USERS: the API server with simulated nodes, then upstream's components. USERS is `admin`, or
# `own`: each component as the user that upstream's roles are made for, the controllers as service
# accounts, and the store on disk.
start() {
  local log="$work/$1" flags=() store=(--ephemeral) manager=$KUBECONFIG scheduler=$KUBECONFIG url
  mkdir -p "$log"
  cat >"$log/tokens.csv" <<'TOKENS'
manager-token,system:kube-controller-manager,manager
scheduler-token,system:kube-scheduler,scheduler
TOKENS
  if [ -n "${REFERENCE:-}" ]; then
    reference "$log"
    return
  fi
  [ "$1" = own ] && store=(--data-dir "$log/data")
  "$drachma" up --roles=apiserver,nodes "${store[@]}" --listen 127.0.0.1:0 --kubeconfig "$KUBECONFIG" \
    --fleet default --token-auth-file "$log/tokens.csv" --audit-log-path "$log/audit.log" \
    >"$log/up.log" 2>&1 &
  server=$!
  within 30 grep -qs "is up at" "$log/up.log" || return 1
  if [ "$1" = own ]; then
    url=$(sed -n 's/.*is up at \([^ ]*\).*/\1/p' "$log/up.log")
    manager=$log/manager.kubeconfig
    scheduler=$log/scheduler.kubeconfig
    write_kubeconfig "$manager" "$url" manager-token
    write_kubeconfig "$scheduler" "$url" scheduler-token
    flags=(--use-service-account-credentials)
  fi
  components_of "$log" "$manager" "$scheduler" "${flags[@]}"
}
# components_of LOG MANAGER_KUBECONFIG SCHEDULER_KUBECONFIG [FLAG_OF_MANAGER…]
components_of() {
  local log=$1 manager=$2 scheduler=$3
  shift 3
  "$upstream_bin/kube-controller-manager" --kubeconfig "$manager" --secure-port 0 \
    --flex-volume-plugin-dir "$log/flex" "$@" >"$log/kube-controller-manager.log" 2>&1 &
  components+=($!)
  "$upstream_bin/kube-scheduler" --kubeconfig "$scheduler" --secure-port 0 \
    >"$log/kube-scheduler.log" 2>&1 &
  components+=($!)
}

reference() {
  "$here/../kubernetes/build.sh" kube-apiserver etcd || return 1
  printf 'apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: Metadata\n' >"$1/policy.yaml"
  start_upstream "$1" --audit-log-path "$1/audit.log" --audit-policy-file "$1/policy.yaml" || return 1
  cp "$1/kubeconfig" "$KUBECONFIG"
  "$drachma" node --kubeconfig "$KUBECONFIG" --fleet default >"$1/nodes.log" 2>&1 &
  components+=($!)
  components_of "$1" "$KUBECONFIG" "$KUBECONFIG"
}

leads() { k get lease "$1" -n kube-system -o jsonpath='{.spec.holderIdentity}' 2>/dev/null | grep -q .; }
lead() {
  check "$1: kube-scheduler leads" within 60 leads kube-scheduler
  check "$1: kube-controller-manager leads" within 60 leads kube-controller-manager
}

workloads() {
  local node
  eventually "a new namespace has its service account" number 1 serviceaccounts -n work
  eventually "the StatefulSet is ready" field 2 '{.status.readyReplicas}' statefulset/ordered -n work
  eventually "its pods have ordered names" field "ordered-0 ordered-1" '{.items[*].metadata.name}' \
    pods -n work -l app=ordered
  eventually "the DaemonSet is on every node" field 4 '{.status.numberReady}' daemonset/everywhere -n work
  eventually "the Job completes" field 3 '{.status.succeeded}' job/batch -n work
  eventually "claims of ended pods are given back" claims_in_use 6 -n work
  eventually "the failed Job is removed after its time" number 0 job/failing -n work
  eventually "the endpoints of the Service are known" field "true true" \
    '{.items[*].endpoints[*].conditions.ready}' endpointslices -n work
  eventually "the disruption budget is computed" field 2 '{.status.currentHealthy}' pdb/ordered -n work
  node=$(k get pod ordered-0 -n work -o jsonpath='{.spec.nodeName}')
  check "it refuses evictions" refused_with "Cannot evict pod as it would violate the pod's disruption budget" \
    k drain "$node" --pod-selector app=ordered --timeout 1s
  check "the node takes pods again" k uncordon "$node"
  check "the StatefulSet scales down" k scale statefulset/ordered -n work --replicas 1
  eventually "the last pod is gone with its claim" field "ordered-0" '{.items[*].metadata.name}' \
    pods -n work -l app=ordered
}

quota() {
  check "a quota of claims" k apply -f "$here/quota.yaml"
  eventually "its use is computed" field 0 '{.status.used.count/resourceclaims\.resource\.k8s\.io}' quota/claims -n limited
  check "a first claim" k create -f "$here/claim.yaml"
  check "a second claim" k create -f "$here/claim.yaml"
  check "a third one is refused" refused_with \
    "exceeded quota: claims, requested: count/resourceclaims.resource.k8s.io=1, used: count/resourceclaims.resource.k8s.io=2, limited: count/resourceclaims.resource.k8s.io=2" \
    k create -f "$here/claim.yaml"
  check "one claim is deleted" k delete "$(k get resourceclaims -n limited -o name | head -n 1)" -n limited
  eventually "the use is computed again" field 1 '{.status.used.count/resourceclaims\.resource\.k8s\.io}' quota/claims -n limited
  eventually "and that of the class" field 1 \
    '{.status.used.gpu\.example\.com\.deviceclass\.resource\.k8s\.io/devices}' quota/claims -n limited
}

custom_resources() {
  check "a definition" k apply -f "$here/definition.yaml"
  check "it is established" k wait --for condition=Established crd/widgets.example.com --timeout 20s
  check "an owner" k create configmap owner -n limited
  check "a widget that it owns" within 20 widget "$(k get configmap owner -n limited -o jsonpath='{.metadata.uid}')"
  check "the owner is deleted" k delete configmap owner -n limited
  # Upstream's garbage collector looks for new kinds every 30 s.
  eventually "the widget follows it" number 0 widgets -n limited
}
widget() {
  k apply -f - <<WIDGET
{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: limited, ownerReferences:
  [{apiVersion: v1, kind: ConfigMap, name: owner, uid: $1}]}, spec: {size: 3}}
WIDGET
}

ran_by_time() { k get cronjob minutely -n work -o jsonpath='{.status.lastSuccessfulTime}' | grep -q T; }

leaving() {
  eventually "the CronJob has run" ran_by_time
  for namespace in work devices limited; do
    check "the namespace $namespace goes away with all that is in it" k delete namespace "$namespace" --timeout 90s
  done
  eventually "no claim is left" number 0 resourceclaims -A
}

as_themselves() {
  start own || { echo "the API server did not start"; failed=1; }
  lead "as themselves"
  quickstart "as themselves"
  check "all of it is deleted" k delete -f "$root/examples/quickstart.yaml" --timeout 60s
  eventually "nothing of it is left" number 0 pods,resourceclaims,replicasets
  stop_all
}

start admin || { echo "the API server did not start"; exit 1; }
k apply -f "$here/workloads.yaml" -f "$scenarios/devices.yaml" >/dev/null || failed=1
lead "as administrator"
quickstart "as administrator"
scaling
workloads
sharing
extended
tainting
quota
custom_resources
leaving
stop_all
[ -z "${REFERENCE:-}" ] || stop_upstream "$work/admin"
[ -n "${REFERENCE:-}" ] || as_themselves

for users in admin own; do
  [ -d "$work/$users" ] || continue
  for component in kube-scheduler kube-controller-manager; do
    check "$users: nothing in the log of $component is the server's fault" \
      "$here/judge.py" log "$here/expected.txt" "$work/$users/$component.log"
    check "$users: $component got only answers that upstream gives, too" \
      "$here/judge.py" audit "$here/expected.txt" "$work/$users/audit.log" "$component"
  done
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
