#!/usr/bin/env bash
# The first process of the sandbox (sandbox.sh). usage: init.sh DIR NODE CGROUP-KIND…
set -eu
dir=$1 node=$2
shift 2
mount --make-rprivate /
# The old control groups must go from the list of mounts, or runc and the kubelet take them for theirs.
umount -R -l /sys
mount -t sysfs sysfs /sys
mount -t tmpfs tmpfs /sys/fs/cgroup
for kind in "$@"; do
  mkdir "/sys/fs/cgroup/$kind"
  mount -t cgroup -o "$kind" cgroup "/sys/fs/cgroup/$kind"
done
# Sockets, locks and addresses of containerd and CNI end with the sandbox.
mount -t tmpfs tmpfs /run
hostname "$node"
ip link set lo up
ip link add br0 type bridge
ip address add 10.231.0.1/24 dev br0
ip link set br0 up
ip route add default via 10.231.0.1
echo 1 >/proc/sys/net/ipv4/ip_forward
# The kubelet hands mounts on to containers.
mount --bind "$dir" "$dir"
mount --make-shared "$dir"
touch "$dir/ready"
while :; do sleep 3600 & wait $! || true; done
