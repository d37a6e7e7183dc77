#!/bin/sh
# The newcomer's first minute: starts a cluster with simulated GPUs, applies examples/quickstart.yaml
# with the kubectl at hand (without any, drachma does it), waits until the pods run and shows what
# they got.
#
# Usage: scripts/quickstart.sh PROGRAM
set -eu

drachma=$(realpath "${1:-build/release/drachma}")
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
kubeconfig=$work/kubeconfig

: >"$work/up.log"  # there from the start, whoever is faster
"$drachma" up --ephemeral --kubeconfig "$kubeconfig" --listen 127.0.0.1:0 >"$work/up.log" 2>&1 &
cluster=$!
trap 'kill "$cluster" 2>/dev/null || true; wait "$cluster" 2>/dev/null || true; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# Ready when it says so; dead when the process is gone.
tries=0
until grep -q "is up at" "$work/up.log"; do
  if ! kill -0 "$cluster" 2>/dev/null || [ "$tries" -gt 300 ]; then
    cat "$work/up.log" >&2
    exit 1
  fi
  tries=$((tries + 1))
  sleep 0.1
done
grep "is up at" "$work/up.log"
export KUBECONFIG="$kubeconfig"

echo
if command -v kubectl >/dev/null 2>&1; then
  echo "\$ kubectl apply -f examples/quickstart.yaml"
  kubectl apply -f "$root/examples/quickstart.yaml"
  kubectl rollout status deployment/training --timeout=60s
else
  echo "\$ drachma apply -f examples/quickstart.yaml    # there is no kubectl here"
  "$drachma" apply -f "$root/examples/quickstart.yaml"
  tries=0
  until "$drachma" get deployments -o json | grep -q '"readyReplicas": 3' || [ "$tries" -gt 300 ]; do
    tries=$((tries + 1))
    sleep 0.1
  done
fi

if command -v kubectl >/dev/null 2>&1; then
  echo
  echo "\$ kubectl get pods -o wide"
  kubectl get pods -o wide
  echo
  echo "\$ kubectl get resourceclaims"
  kubectl get resourceclaims
  echo
  echo "Devices of the claims:"
  kubectl get resourceclaims -o jsonpath='{range .items[*]}{.metadata.name}{"  "}{range .status.allocation.devices.results[*]}{.driver}/{.pool}/{.device}{" "}{end}{"\n"}{end}'
else
  for what in pods resourceclaims; do
    echo
    echo "\$ drachma get $what"
    "$drachma" get "$what"
  done
fi
echo
echo "\$ drachma top"
"$drachma" top

cat <<TEXT

Go on with a cluster that stays:
  $1 up                                 # then, in another terminal:
  export KUBECONFIG=~/.local/state/drachma/kubeconfig
  kubectl apply -f examples/quickstart.yaml
  kubectl scale deployment/training --replicas=2
  $1 plan -f examples/quickstart.yaml   # the same, without any server
TEXT
