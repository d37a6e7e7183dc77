#!/usr/bin/env bash
# Go's typed clients on drachma's API server (client/main.go), then random objects as Protobuf by
# upstream's types, read by drachma (main.go).
# usage: run.sh BUILD_DIR      COUNT objects of each kind (20), SEED (1).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(realpath "${1:?usage: run.sh BUILD_DIR}")
cmake --build "$build" --target drachma drachma_protobuf_json -- --quiet
cd "$here"

work=$(mktemp -d)
"$build/drachma" up --roles=apiserver --ephemeral --listen 127.0.0.1:0 --kubeconfig "$work/kubeconfig" >"$work/log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null; wait "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
for _ in $(seq 300); do
  grep -q "is up at" "$work/log" && break
  sleep 0.1
done
go run ./client "$work/kubeconfig"
go run . "$build/tests/api/drachma_protobuf_json" ../../api/samples.jsonl "${COUNT:-20}" "${SEED:-1}"
