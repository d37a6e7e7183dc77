#!/bin/sh
# Every example says what it means to show: nothing for `check` to find, and as many pods placed and waiting as it tells.
# Usage: examples.sh DRACHMA
DRACHMA=$1
. "$(dirname "$0")/lib.sh"
EXAMPLES=$(cd "$(dirname "$0")/../../examples" && pwd)

# shows FILE FLEET SCHEDULED PENDING
shows() {
  "$DRACHMA" check -f "$EXAMPLES/$1" >"$WORK/check" || fail "check of $1: $(cat "$WORK/check")"
  "$DRACHMA" plan -f "$EXAMPLES/$1" --fleet "$2" >"$WORK/plan" 2>"$WORK/errors" || [ "$4" -gt 0 ] ||
    fail "plan of $1: $(cat "$WORK/errors")"
  equals "$3" grep -c ' Scheduled ' "$WORK/plan" || fail "$1: not $3 pods placed: $(cat "$WORK/plan")"
  equals "$4" grep -c ' Pending ' "$WORK/plan" || fail "$1: not $4 pods waiting: $(cat "$WORK/plan")"
}

"$DRACHMA" check "$EXAMPLES/mig.yaml" 2>"$WORK/errors" && fail "a file without -f is not wrong use"
grep -q "did you mean -f $EXAMPLES/mig.yaml?" "$WORK/errors" || fail "no word of -f: $(cat "$WORK/errors")"
shows quickstart.yaml default 3 0
shows extended-resource.yaml default 1 0
shows shared-claim.yaml default 2 0
shows mig.yaml mig-h100 4 0
shows preemption.yaml dgx-h100 32 0
shows preemption-urgent.yaml dgx-h100 1 0
shows quota.yaml default 1 0
shows own-class.yaml default 2 0
shows first-available.yaml default 6 0
shows match-attribute.yaml default 2 0
shows taints.yaml default 1 1
shows admin-access.yaml default 4 0
shows consumable-capacity.yaml default 2 1
shows mps.yaml default 3 0
# Five workers, and a daemon on the node of each.
shows compute-domain.yaml gb200-nvl72 10 0
# Of the folder as a whole, the two files that want something else are left out and named.
status=0
"$DRACHMA" plan -f "$EXAMPLES" --fleet dgx-h100 >"$WORK/plan" 2>"$WORK/errors" || status=$?
equals 2 echo "$status" || fail "a folder with broken files is no wrong use: $(cat "$WORK/errors")"
equals "$(printf '%s/from-a-blog.yaml\n%s/gang.yaml' "$EXAMPLES" "$EXAMPLES")" sed -n 's/^warning: left out for its faults: //p' "$WORK/plan" ||
  fail "not these files are left out: $(cat "$WORK/plan")"
grep -q 'first .* Scheduled ' "$WORK/plan" || fail "the other files are not planned: $(cat "$WORK/plan")"

# But without its nodes a cluster would be planned on other ones.
cat >"$WORK/snapshot.yaml" <<'YAML'
{apiVersion: v1, kind: Node, metadata: {name: node-1}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: c}, spec: {devices: {requests: [{name: g, exactly: {deviceClassName: gpu.nvidia.com, count: -1}}]}}}
YAML
status=0
"$DRACHMA" plan -f "$WORK/snapshot.yaml" -f "$EXAMPLES/quickstart.yaml" >"$WORK/plan" 2>"$WORK/errors" || status=$?
equals 2 echo "$status" || fail "a faulty file with nodes is no wrong use: $(cat "$WORK/plan")"
grep -q ' Scheduled ' "$WORK/plan" && fail "planned on nodes of nobody's cluster: $(cat "$WORK/plan")"

# devices FILE REQUEST: what the pods of a plan got, in order of its devices.
devices() { "$DRACHMA" plan -f "$EXAMPLES/$1" --fleet default -o json | jq -r '.pods[].claims[].devices[] | .pool + " " + .request' | sort | uniq -c | tr -s ' '; }
equals "$(printf ' 4 a100-0 gpu/a100\n 2 l4-0 gpu/l4')" devices first-available.yaml || fail "not 4 A100 and 2 L4: $(devices first-available.yaml)"
equals "$(printf ' 4 a100-0 gpus\n 8 h100-0 gpus\n 8 h100-1 gpus\n 2 l4-0 gpus')" devices admin-access.yaml || fail "not all GPUs are watched: $(devices admin-access.yaml)"
shares() { "$DRACHMA" plan -f "$EXAMPLES/consumable-capacity.yaml" -o json | jq -c '[.pods[].claims[].devices[]? | .consumedCapacity.bandwidth]'; }
equals '["40G","40G"]' shares || fail "not 40G each: $(shares)"
"$DRACHMA" plan -f "$EXAMPLES/preemption.yaml" --what-if "$EXAMPLES/preemption-urgent.yaml" --fleet dgx-h100 -o json >"$WORK/preempted" || true
equals 8 jq '[.whatIf.pods[] | select(.phase == "Evicted")] | length' "$WORK/preempted" || fail "not 8 pods are evicted"
equals '"Scheduled"' jq '.whatIf.pods[] | select(.name == "urgent").phase' "$WORK/preempted" || fail "the urgent pod waits"
for file in "$EXAMPLES"/*.yaml; do
  case $(basename "$file") in
  from-a-blog.yaml | gang.yaml) continue ;; # the latter needs feature gates: gang.sh
  esac
  grep -q "^shows $(basename "$file") " "$0" || fail "$file is not tested"
done

# What the driver did to the devices stands in the claims' statuses; what it cannot do, in an event.
start_cluster --ephemeral --listen 127.0.0.1:0 --kubeconfig "$WORK/kubeconfig" --fleet mig-h100
export KUBECONFIG="$WORK/kubeconfig"
kubectl apply -f "$EXAMPLES/shared-claim.yaml" -f "$EXAMPLES/mig.yaml" >/dev/null
report() { kubectl get resourceclaim "$1" -o "jsonpath={.status.devices[0].data$2}"; }
eventually 30 equals Long report shared-gpu .sharing.interval
has_part() { report large-part .uuid | grep -q '^MIG-'; }
eventually 30 has_part
kubectl create -f - >/dev/null <<'YAML'
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: mps}
spec:
  devices:
    requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]
    config:
    - opaque:
        driver: gpu.nvidia.com
        parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, sharing: {strategy: MPS}}
---
apiVersion: v1
kind: Pod
metadata: {name: mps}
spec:
  containers: [{name: c, image: i, resources: {claims: [{name: g}]}}]
  resourceClaims: [{name: g, resourceClaimName: mps}]
YAML
mps_refused() { kubectl describe pod mps | grep -q 'FailedPrepareDynamicResources.*needs feature gate MPSSupport'; }
eventually 30 mps_refused
stop_cluster
start_cluster --ephemeral --listen 127.0.0.1:0 --kubeconfig "$WORK/kubeconfig" --fleet default
kubectl apply -f "$EXAMPLES/mps.yaml" -f "$EXAMPLES/taints.yaml" -f "$EXAMPLES/admin-access.yaml" -f "$EXAMPLES/match-attribute.yaml" >/dev/null
report_mps() { kubectl get resourceclaim mps-gpu -o "jsonpath={.status.devices[0].data.sharing.strategy}"; }
eventually 30 equals MPS report_mps
running() { kubectl get pods -A --no-headers | grep -c ' Running '; }
eventually 30 equals 10 running
equals Pending kubectl get pod usual -o 'jsonpath={.status.phase}' || fail "a claim got a tainted device"
stop_cluster
"$EXAMPLES/restart.sh" "$DRACHMA" >"$WORK/restarted" 2>&1 || fail "restart.sh: $(cat "$WORK/restarted")"
echo "examples: fine"
