#!/bin/sh
# A cluster that is ended in the middle of its work ends well, and goes on with it afterwards.
# Usage: stop.sh PROGRAM
DRACHMA=$1
. "$(dirname "$0")/lib.sh"

export KUBECONFIG="$WORK/kubeconfig"
for delay in 0 0.05 0.1 0.2 0.3; do
  start_cluster --data-dir "$WORK/data" --kubeconfig "$KUBECONFIG" --listen 127.0.0.1:0
  kubectl create deployment "after-$delay" --image=x --replicas=60 >/dev/null
  sleep "$delay"
  stop_cluster
done
start_cluster --data-dir "$WORK/data" --kubeconfig "$KUBECONFIG" --listen 127.0.0.1:0
eventually 60 equals 300 count pods --field-selector status.phase=Running
echo "stop: fine"
