#!/usr/bin/env bash
# Replays recorded writes of the real API server against ours: run.sh PROGRAM. Fails below the
# shares of cases that must agree; prints the groups that differ and the first differences.
# Nightly (DRACHMA_NIGHTLY) a fresh seed is recorded and replayed, too, where upstream's programs are.
set -euo pipefail
program=$(realpath "${1:-build/release/drachma}")
cd "$(dirname "$0")"
# Percent of all cases: what was handed to us, and what generate.py makes.
readonly HANDED_CAUSES_MIN=99 HANDED_MESSAGES_MIN=99 CAUSES_MIN=99 MESSAGES_MIN=99

work=$(mktemp -d)
server=
trap '[ -n "$server" ] && kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
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
passed=0
failed=0

# replay FILE CAUSES_MIN MESSAGES_MIN
replay() {
  local cases causes messages
  python3 replay.py --server "$url" --token replay-token --first 40 "$1" >"$work/report" 2>&1 || true
  cat "$work/report"
  # "validation: N cases, S status agree, C causes agree, M messages agree"
  read -r cases causes messages < <(
    sed -n 's/^validation: \([0-9]*\) cases.* \([0-9]*\) causes agree, \([0-9]*\) messages agree/\1 \2 \3/p' \
      "$work/report")
  passed=$((passed + messages))
  [ $((causes * 100)) -ge $((cases * $2)) ] || failed=$((failed + 1))
  [ $((messages * 100)) -ge $((cases * $3)) ] || failed=$((failed + 1))
}

gzip -dc handed.jsonl.gz >"$work/handed.jsonl"
replay "$work/handed.jsonl" $HANDED_CAUSES_MIN $HANDED_MESSAGES_MIN
gzip -dc recorded.jsonl.gz >"$work/recorded.jsonl"
replay "$work/recorded.jsonl" $CAUSES_MIN $MESSAGES_MIN
if [ -n "${DRACHMA_NIGHTLY:-}" ] && [ -x ../../../build/upstream/kube-apiserver ]; then
  seed=$(date +%Y%m%d)
  echo "recording seed $seed"
  ./record.sh "$seed" 4000 "$work/fresh.jsonl"
  replay "$work/fresh.jsonl" $CAUSES_MIN $MESSAGES_MIN
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
