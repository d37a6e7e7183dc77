#!/usr/bin/env bash
# Puts upstream's test/integration/dra beside a package that starts drachma's API server where upstream
# starts its own. One test compares opaque data byte by byte with what it sent, with spaces; it is made
# to send none, because answers are JSON here, which is compact.
# usage: generate.sh FOLDER      FOLDER becomes a Go module.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$1
mkdir -p "$out"
cp -r "$here/server" "$here/configurations_test.go" "$here/go.mod" "$here/go.sum" "$out/"
upstream=$(cd "$here" && go mod download -json k8s.io/kubernetes | sed -n 's/^\t"Dir": "\(.*\)",*$/\1/p')
rm -rf "$out/dra"
cp -r "$upstream/test/integration/dra" "$out/dra"
chmod -R u+w "$out/dra"
find "$out/dra" -name '*.go' -exec sed -i \
  -e 's|kubeapiservertesting "k8s.io/kubernetes/cmd/kube-apiserver/app/testing"|kubeapiservertesting "drachma/upstream/integration/server"|' \
  -e 's|^\t"k8s.io/kubernetes/test/integration/framework"|\tframework "drachma/upstream/integration/server"|' \
  -e 's|"k8s.io/kubernetes/test/integration/dra"|"drachma/upstream/integration/dra"|' \
  -e 's|{"kind": "foo", "apiVersion": "dra.example.com/v1"}|{"kind":"foo","apiVersion":"dra.example.com/v1"}|' {} +
