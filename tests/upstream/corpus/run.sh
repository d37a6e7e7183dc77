#!/usr/bin/env bash
# Replays recorded writes of the real API server against ours: run.sh PROGRAM. Fails below the
# shares of cases that must agree; prints the groups that differ and the first differences.
set -euo pipefail
program=$(realpath "${1:-build/release/drachma}")
cd "$(dirname "$0")"
readonly CAUSES_MIN=97 MESSAGES_MIN=92  # percent of all cases

work=$(mktemp -d)
server=
trap '[ -n "$server" ] && kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
gzip -dc handed.jsonl.gz >"$work/handed.jsonl"
echo 'replay-token,replay,replay,"system:masters"' >"$work/tokens.csv"

"$program" up --roles=apiserver --ephemeral --listen 127.0.0.1:0 --kubeconfig "$work/kubeconfig" \
  --token-auth-file "$work/tokens.csv" >"$work/server.log" 2>&1 &
server=$!
for _ in $(seq 100); do
  [ -s "$work/kubeconfig" ] && break
  kill -0 "$server" 2>/dev/null || { cat "$work/server.log"; exit 1; }
  sleep 0.1
done
url=$(sed -n 's/^ *server: *//p' "$work/kubeconfig")

python3 replay.py --server "$url" --token replay-token --first 40 "$work/handed.jsonl" \
  >"$work/report" 2>&1 || true
cat "$work/report"
# "validation: N cases, S status agree, C causes agree, M messages agree"
read -r cases causes messages < <(
  sed -n 's/^validation: \([0-9]*\) cases.* \([0-9]*\) causes agree, \([0-9]*\) messages agree/\1 \2 \3/p' \
    "$work/report")
failed=0
[ $((causes * 100)) -ge $((cases * CAUSES_MIN)) ] || failed=$((failed + 1))
[ $((messages * 100)) -ge $((cases * MESSAGES_MIN)) ] || failed=$((failed + 1))
echo "$messages passed, $failed failed"
[ "$failed" -eq 0 ]
