#!/usr/bin/env bash
# Random objects as Protobuf by upstream's types, read by drachma (main.go).
# usage: run.sh BUILD_DIR      COUNT objects of each kind (20), SEED (1).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$(realpath "${1:?usage: run.sh BUILD_DIR}")
cmake --build "$build" --target drachma_protobuf_json -- --quiet
cd "$here"
exec go run . "$build/tests/api/drachma_protobuf_json" ../../api/samples.jsonl "${COUNT:-20}" "${SEED:-1}"
