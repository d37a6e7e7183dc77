#!/usr/bin/env bash
# Installs what building, running and testing need on Debian 12. Does nothing when all is there.
# --all: also for the full checks; --node: also for the tests on a real node.
set -euo pipefail

packages=(
  g++ cmake ninja-build pkg-config ccache mold git curl ca-certificates python3 python3-yaml jq
  libboost1.81-dev libssl-dev libcurl4-openssl-dev libyaml-dev libsqlite3-dev libre2-dev zlib1g-dev libisal-dev
  libfmt-dev libmimalloc-dev libcli11-dev libgtest-dev libgmock-dev librapidcheck-dev libbenchmark-dev
  libgrpc++-dev libprotobuf-dev protobuf-compiler protobuf-compiler-grpc
)
# What the fuzzing and formatting stages of the full checks use.
[ "${1:-}" != --all ] || packages+=(clang-19 clang-format-19 libclang-rt-19-dev)
[ "${1:-}" != --node ] ||
  packages+=(runc busybox-static containernetworking-plugins iptables iproute2 procps util-linux)

missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed$' ||
    missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

echo "installing ${#missing[@]} packages, a minute or two: ${missing[*]}"
sudo=""
[ "$(id -u)" -eq 0 ] || sudo=sudo
log=$(mktemp)
export DEBIAN_FRONTEND=noninteractive
{ $sudo apt-get update && $sudo apt-get install -y --no-install-recommends "${missing[@]}"; } \
  >"$log" 2>&1 || { cat "$log" >&2; echo "cannot install the packages above" >&2; exit 1; }
rm -f "$log"
