#!/bin/sh
# Devices are drained: new claims stay away, pods are evicted, those that tolerate it stay; and taken back.
# Usage: drain.sh PROGRAM
DRACHMA=$1
. "$(dirname "$0")/lib.sh"

cat >"$WORK/fleet.yaml" <<'YAML'
apiVersion: drachma.dev/v1alpha1
kind: Fleet
groups: [{name: hot, count: 1, gpu: {model: H100-80GB, count: 2}}]
YAML
export KUBECONFIG="$WORK/kubeconfig"
start_cluster --ephemeral --listen 127.0.0.1:0 --kubeconfig "$KUBECONFIG" --fleet "$WORK/fleet.yaml"
. "$(dirname "$0")/drain_steps.sh"
drain_steps
echo "drain: fine"
