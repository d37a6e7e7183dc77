#!/bin/sh
# `kill -9` at random instants under load: what was answered is there, no device is given twice,
# unfinished work goes on.
# Usage: kill.sh PROGRAM [ROUNDS]
DRACHMA=$1
ROUNDS=${2:-50}
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$(dirname "$0")/lib.sh"

data=$WORK/data
export KUBECONFIG="$data/kubeconfig"
start_cluster --data-dir "$data" --listen 127.0.0.1:0
kubectl apply -f "$root/examples/quickstart.yaml" >/dev/null
: >"$WORK/answered"

round=0
while [ "$round" -lt "$ROUNDS" ]; do
  # Writes go on until the server is killed under them; each one that is answered is noted.
  (
    i=0
    while kubectl create configmap "r$round-$i" --from-literal=a=b >/dev/null 2>&1; do
      echo "r$round-$i" >>"$WORK/answered"
      [ $((i % 4)) != 0 ] || kubectl scale deployment/training --replicas=$((1 + (round + i) % 6)) >/dev/null 2>&1 || break
      i=$((i + 1))
    done
  ) &
  writer=$!
  # A different instant each round, within a second.
  sleep "0.$(((round * 37) % 90 + 10))"
  kill -9 "$CLUSTER"
  wait "$CLUSTER" 2>/dev/null || true
  wait "$writer" 2>/dev/null || true
  CLUSTER=
  start_cluster --data-dir "$data" --listen 127.0.0.1:0
  [ -z "$(twice_allocated)" ] || fail "round $round: a device stands in two claims"
  round=$((round + 1))
done

kubectl get configmaps -o name | sed 's|configmap/||' | sort >"$WORK/there"
sort "$WORK/answered" | comm -23 - "$WORK/there" >"$WORK/lost"
[ ! -s "$WORK/lost" ] || fail "answered writes are lost: $(head -5 "$WORK/lost")"
kubectl scale deployment/training --replicas=4 >/dev/null
kubectl rollout status deployment/training --timeout=60s >/dev/null
eventually 30 equals 4 count pods
eventually 30 equals 4 count resourceclaims
[ -z "$(twice_allocated)" ] || fail "a device stands in two claims"
echo "kill: $ROUNDS rounds, $(wc -l <"$WORK/answered") answered writes, none lost"
