#!/usr/bin/env bash
# The commands of commands.txt against our API server alone, compared with what the real one answered.
# usage: run.sh PATH_TO_DRACHMA [KUBECTL]     Ends with 'N passed, N failed'.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
drachma=$1
kubectl=${2:+$(realpath "$2")}
kubectl=${kubectl:-$(command -v kubectl || true)}
[ -n "$kubectl" ] || { echo "no kubectl is installed: nothing to compare"; echo "0 passed, 0 failed, 1 skipped"; exit 0; }
version=$("$kubectl" version --client -o json | jq -r .clientVersion.gitVersion | grep -oE '^v1\.[0-9]+')
golden=$here/golden/${version#v}.txt
[ -f "$golden" ] || { echo "nothing was recorded with kubectl $version"; echo "0 passed, 0 failed, 1 skipped"; exit 0; }

work=$(mktemp -d)
trap 'kill "$server" 2>/dev/null; wait 2>/dev/null; rm -rf "$work"' EXIT
# The same user as when the answers were recorded.
echo 'admin-token,admin,admin,system:masters' >"$work/tokens.csv"
"$drachma" up --roles=apiserver --ephemeral --listen 127.0.0.1:0 --kubeconfig "$work/kubeconfig" \
  --token-auth-file "$work/tokens.csv" >"$work/server.log" 2>&1 &
server=$!
for _ in $(seq 100); do
  [ -s "$work/kubeconfig" ] && "$kubectl" --kubeconfig "$work/kubeconfig" get --raw /readyz >/dev/null 2>&1 && break
  kill -0 "$server" 2>/dev/null || { cat "$work/server.log"; echo "0 passed, 1 failed"; exit 1; }
  sleep 0.1
done
"$kubectl" --kubeconfig "$work/kubeconfig" config set-credentials tester --token admin-token >/dev/null
"$kubectl" --kubeconfig "$work/kubeconfig" config set-context --current --user tester >/dev/null
"$here/scenario.py" --kubectl "$kubectl" --kubeconfig "$work/kubeconfig" --golden "$golden"
