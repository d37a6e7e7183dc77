#!/usr/bin/env bash
# Builds upstream's programs of Kubernetes 1.37.2 (and its etcd) from Go modules into build/upstream/.
# usage: build.sh PROGRAM…   (kubectl, kube-apiserver, kube-scheduler, kube-controller-manager, etcd)
# The first time takes about 10 minutes on two cores, later ones seconds.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$(cd "$here/../../.." && pwd)/build/upstream
version=v1.37.2
mkdir -p "$out"
cd "$here"
command -v go >/dev/null || { echo "upstream's programs are built with Go, which is not installed" >&2; exit 3; }
ldflags="-X k8s.io/component-base/version.gitVersion=$version"
ldflags+=" -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=37"
for program in "$@"; do
  if [ "$program" = etcd ]; then
    go build -o "$out/etcd" go.etcd.io/etcd/server/v3
  else
    go build -ldflags "$ldflags" -o "$out/$program" "k8s.io/kubernetes/cmd/$program"
  fi
done
