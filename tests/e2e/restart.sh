#!/bin/sh
# A cluster that is ended and started again on its data: the nodes that run, their addresses, and a
# fleet that comes to them.
# Usage: restart.sh PROGRAM
DRACHMA=$1
. "$(dirname "$0")/lib.sh"

data=$WORK/data
export KUBECONFIG="$data/kubeconfig"
up() { start_cluster --data-dir "$data" --listen 127.0.0.1:0 "$@"; }
says() { grep -q "with $1 simulated nodes" "$WORK/up.log" || fail "it does not say $1 nodes: $(head -1 "$WORK/up.log")"; }
addresses() { kubectl get nodes -o jsonpath='{range .items[*]}{.metadata.name} {.status.addresses[0].address}{"\n"}{end}'; }

up
says 4
before=$(addresses)
[ "$(echo "$before" | cut -d' ' -f2 | sort -u | wc -l)" = 4 ] || fail "nodes share an address: $before"
kubectl patch deviceclass gpu.nvidia.com --type=merge -p '{"metadata":{"labels":{"mine":"yes"}},"spec":{"selectors":[
  {"cel":{"expression":"device.driver == \"gpu.nvidia.com\" && true"}}]}}' >/dev/null
class() { kubectl get deviceclass gpu.nvidia.com -o jsonpath='{.metadata.generation} {.metadata.labels.mine} {.spec.selectors}'; }
edited=$(class)
kubectl delete deviceclass mig.nvidia.com >/dev/null
stop_cluster
up
says 4
[ "$(class)" = "$edited" ] || fail "an edited DeviceClass was written over: $(class)"
[ "$(count deviceclass mig.nvidia.com)" = 1 ] || fail "a DeviceClass that was deleted has not come back"
[ "$(addresses)" = "$before" ] || fail "addresses changed over the restart"
stop_cluster
# The nodes of another fleet come to those that are there.
up --fleet dgx-h100
all=$(count nodes)
[ "$all" -gt 4 ] || fail "the fleet has not come"
says "$all"
[ "$(addresses | cut -d' ' -f2 | sort -u | wc -l)" = "$all" ] || fail "nodes share an address: $(addresses)"
echo "restart: fine"
