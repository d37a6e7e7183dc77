#!/usr/bin/env bash
# Builds containerd 2.4.2, its shim for runc and ctr from Go modules into build/upstream/: what runs
# the pods of a real node. The first time takes about 2 minutes on two cores, later ones seconds.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$(cd "$here/../../.." && pwd)/build/upstream
version=v2.4.2
mkdir -p "$out"
cd "$here"
command -v go >/dev/null || { echo "containerd is built with Go, which is not installed" >&2; exit 3; }
# Neither snapshots on other file systems nor traces: a third of the code.
tags=no_btrfs,no_devmapper,no_zfs,no_blockfile,no_erofs,no_tracing
for program in containerd containerd-shim-runc-v2 ctr; do
  CGO_ENABLED=0 go build -trimpath -tags "$tags" -o "$out/$program" \
    -ldflags "-s -w -X github.com/containerd/containerd/v2/version.Version=$version" \
    "github.com/containerd/containerd/v2/cmd/$program"
done
