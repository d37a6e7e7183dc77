#!/usr/bin/env bash
# Replays recorded/*.jsonl.gz against ours, each under the gates that it was recorded with:
# run.sh PROGRAM. Fails when more cases than DIFFERENT_MAX differ in anything: eight messages show
# values of upstream's internal types (docs/compatibility.md), and tables tell ages.
set -euo pipefail
program=$(realpath "${1:-build/release/drachma}")
cd "$(dirname "$0")"
readonly DIFFERENT_MAX=10

work=$(mktemp -d)
server=
trap '[ -n "$server" ] && kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
echo 'replay-token,replay,replay,"system:masters"' >"$work/tokens.csv"
different=0
passed=0
while read -r name gates; do
  rm -f "$work/kubeconfig"
  "$program" up --roles=apiserver --ephemeral --listen 127.0.0.1:0 --kubeconfig "$work/kubeconfig" \
    --token-auth-file "$work/tokens.csv" --feature-gates "$gates" >"$work/server.log" 2>&1 &
  server=$!
  for _ in $(seq 100); do
    [ -s "$work/kubeconfig" ] && break
    kill -0 "$server" 2>/dev/null || { cat "$work/server.log"; exit 1; }
    sleep 0.1
  done
  url=$(sed -n 's/^ *server: *//p' "$work/kubeconfig")
  gzip -dc "recorded/$name.jsonl.gz" >"$work/$name.jsonl"
  echo "gates: $gates"
  python3 ../corpus/replay.py --server "$url" --token replay-token --first "${FIRST:-40}" "$work/$name.jsonl" \
    >"$work/report" 2>&1 || true
  cat "$work/report"
  read -r cases messages < <(
    sed -n 's/^validation: \([0-9]*\) cases.* \([0-9]*\) messages agree/\1 \2/p' "$work/report")
  passed=$((passed + messages))
  different=$((different + cases - messages))
  kill "$server"
  wait "$server" 2>/dev/null || true
  server=
done <gates.txt
echo "$passed passed, $different failed"
[ "$different" -le "$DIFFERENT_MAX" ]
