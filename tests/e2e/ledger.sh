#!/bin/sh
# Two schedulers for the same nodes, and the webhook between them: no device is allocated twice, all pods run.
# Usage: ledger.sh PROGRAM
DRACHMA=$1
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/race_steps.sh"

cat >"$WORK/fleet.yaml" <<'YAML'
apiVersion: drachma.dev/v1alpha1
kind: Fleet
groups: [{name: hot, count: 2, gpu: {model: H100-80GB, count: 8}}]
YAML
export KUBECONFIG="$WORK/kubeconfig"
OTHERS=
stop_others() {
  for other in $OTHERS; do kill "$other" 2>/dev/null || true; done
  OTHERS=
}
trap 'stop_others; stop_cluster; rm -rf "$WORK"' EXIT
start_cluster --roles=apiserver,controllers,nodes --ephemeral --listen 127.0.0.1:0 --kubeconfig "$KUBECONFIG" --fleet "$WORK/fleet.yaml"

# The webhook has the rights of its service account, and no others.
kubectl apply -f "$(dirname "$0")/../../deploy/webhook.yaml" >/dev/null || fail "deploy/webhook.yaml is not taken"
token=$(kubectl create token drachma-webhook -n drachma-system)
cp "$KUBECONFIG" "$WORK/account"
kubectl --kubeconfig "$WORK/account" config set-credentials account --token "$token" >/dev/null
kubectl --kubeconfig "$WORK/account" config set-context --current --user account >/dev/null
"$DRACHMA" webhook --listen 127.0.0.1:0 --self-signed --cert-dir "$WORK/certs" --register --settle 0s --leader-elect --kubeconfig "$WORK/account" >"$WORK/webhook.log" 2>&1 &
OTHERS="$OTHERS $!"
eventually 30 grep -q "drachma applied" "$WORK/webhook.log"
for name in one two; do
  "$DRACHMA" scheduler --scheduler-name "$name" >"$WORK/$name.log" 2>&1 &
  OTHERS="$OTHERS $!"
done
race_round 1
race_round 2
stop_race

# What the driver would refuse later is refused at once, with all faults.
kubectl apply -f - >"$WORK/said" 2>&1 <<'YAML' && fail "a wrong config is taken"
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: wrong}
spec:
  spec:
    devices:
      requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]
      config:
      - opaque: {driver: gpu.nvidia.com, parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: GpuConfig, colour: red}}
      - opaque: {driver: gpu.nvidia.com, parameters: {apiVersion: resource.nvidia.com/v1beta1, kind: Nothing}}
YAML
grep -q "2 configs failed to validate" "$WORK/said" || fail "$(cat "$WORK/said")"


stop_others
echo "ledger: fine"
