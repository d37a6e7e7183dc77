# A machine of its own within this one: processes, mounts, network and control groups that end with
# it and leave nothing behind. Source this file; it needs root and control groups of version 1.

cgroup_kinds=(cpu cpuacct cpuset memory devices freezer blkio pids)
# Entered first, since what is started before stays where it was.
own_cgroup() { # KIND: the folder of the sandbox's group on this machine
  local line
  line=$(grep -E "^[0-9]+:([^:]*,)?$1(,[^:]*)?:" /proc/self/cgroup | head -1)
  echo "/sys/fs/cgroup/$1${line#*:*:}/$sandbox_name"
}

# sandbox_lacks: why there can be none; nothing when there can.
sandbox_lacks() {
  [ "$(id -u)" = 0 ] || { echo "not root"; return; }
  local kind
  for kind in "${cgroup_kinds[@]}"; do
    [ -w "/sys/fs/cgroup/$kind/cgroup.procs" ] || { echo "no control group of version 1: $kind"; return; }
  done
  unshare --net --mount --pid --ipc --uts --cgroup --fork true 2>/dev/null || echo "no namespaces"
}

# sandbox_start DIR NODE: DIR holds all that is kept in it.
sandbox_start() {
  sandbox_dir=$1
  sandbox_name=drachma-node-$$
  sandbox_groups=()
  local kind group parent
  for kind in "${cgroup_kinds[@]}"; do
    group=$(own_cgroup "$kind")
    mkdir "$group" || return 1
    sandbox_groups+=("$group")
    if [ "$kind" = cpuset ]; then
      parent=$(dirname "$group")
      cat "$parent/cpuset.cpus" >"$group/cpuset.cpus"
      cat "$parent/cpuset.mems" >"$group/cpuset.mems"
    fi
  done
  (
    join_groups
    exec unshare --net --mount --pid --ipc --uts --cgroup --fork --kill-child --mount-proc \
      bash "$(dirname "${BASH_SOURCE[0]}")/init.sh" "$sandbox_dir" "$2" "${cgroup_kinds[@]}"
  ) >"$sandbox_dir/init.log" 2>&1 &
  sandbox_unshare=$!
  local tries=0
  until [ -f "$sandbox_dir/ready" ]; do
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] && kill -0 "$sandbox_unshare" 2>/dev/null || { cat "$sandbox_dir/init.log" >&2; return 1; }
    sleep 0.1
  done
  sandbox_init=$(pgrep -P "$sandbox_unshare")
}

join_groups() {
  local group
  for group in "${sandbox_groups[@]}"; do echo "$BASHPID" >"$group/cgroup.procs"; done
}

# enter COMMAND…: turns this shell into the command in the sandbox, which nsenter has for a child.
enter() {
  join_groups
  exec nsenter -t "$sandbox_init" -n -m -p -i -u -C "$@"
}
# inside COMMAND…: runs it in the sandbox.
inside() { (enter "$@"); }

# sandbox_stop: everything in it ends.
sandbox_stop() {
  [ -n "${sandbox_unshare:-}" ] || return 0
  # The first process of the namespace takes all others with it.
  [ -n "${sandbox_init:-}" ] && kill -KILL "$sandbox_init" 2>/dev/null
  wait "$sandbox_unshare" 2>/dev/null
  local group tries
  for group in "${sandbox_groups[@]}"; do
    for tries in $(seq 50); do
      find "$group" -depth -type d -exec rmdir {} \; 2>/dev/null
      [ -d "$group" ] || break
      sleep 0.1
    done
  done
  sandbox_unshare=
}
