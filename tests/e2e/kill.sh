#!/bin/sh
# `kill -9` at random instants under load: what was answered is there, no device is given twice,
# unfinished work goes on.
# Usage: kill.sh PROGRAM [ROUNDS]     (default $DRACHMA_KILL_ROUNDS, then 50)
DRACHMA=$1
ROUNDS=${2:-${DRACHMA_KILL_ROUNDS:-50}}
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$(dirname "$0")/lib.sh"

data=$WORK/data
export KUBECONFIG="$data/kubeconfig"
start_cluster --data-dir "$data" --listen 127.0.0.1:0
kubectl apply -f "$root/examples/quickstart.yaml" >/dev/null
: >"$WORK/answered"

round=0
while [ "$round" -lt "$ROUNDS" ]; do
  # Writes go on until the server is killed under them; kubectl names each one that is answered.
  seq 300 | sed "s|.*|{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"r$round-&\"}}|" >"$WORK/batch"
  kubectl create --validate=false -f "$WORK/batch" -o name >>"$WORK/answered" 2>/dev/null &
  writer=$!
  kubectl scale deployment/training --replicas=$((1 + round % 6)) >/dev/null 2>&1 &
  scaler=$!
  # A different instant each round: while the first writes are under way, or many are done.
  sleep "$(printf '0.%03d' $(((round * 137) % 431 + 60)))"
  kill -9 "$CLUSTER"
  wait "$CLUSTER" 2>/dev/null || true
  wait "$writer" "$scaler" 2>/dev/null || true
  CLUSTER=
  start_cluster --data-dir "$data" --listen 127.0.0.1:0
  [ -z "$(twice_allocated)" ] || fail "round $round: a device stands in two claims"
  round=$((round + 1))
done

kubectl get configmaps -o name | sort >"$WORK/there"
sort "$WORK/answered" | comm -23 - "$WORK/there" >"$WORK/lost"
[ "$(wc -l <"$WORK/answered")" -ge "$ROUNDS" ] || fail "too few writes were answered to tell"
[ ! -s "$WORK/lost" ] || fail "answered writes are lost: $(head -5 "$WORK/lost")"
kubectl scale deployment/training --replicas=4 >/dev/null
kubectl rollout status deployment/training --timeout=60s >/dev/null
eventually 30 equals 4 count pods
eventually 30 equals 4 count resourceclaims
[ -z "$(twice_allocated)" ] || fail "a device stands in two claims"
echo "kill: $ROUNDS rounds, $(wc -l <"$WORK/answered") answered writes, none lost"
