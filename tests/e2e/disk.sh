#!/bin/sh
# A disk that is full or read-only under a running server: writes fail and say why, reads go on, and
# all is well once there is space again. Data folders that cannot be used are refused with the reason.
# Needs the right to mount; without it the cases that mount are skipped.
# Usage: disk.sh PROGRAM
# shellcheck disable=SC2034
DRACHMA=$1
if [ -z "${DISK_MOUNTS:-}" ]; then
  # Mounts of our own, which nobody else sees.
  if unshare --mount true 2>/dev/null; then
    DISK_MOUNTS=yes exec unshare --mount "$0" "$@"
  fi
  DISK_MOUNTS=no
fi
. "$(dirname "$0")/lib.sh"
trap 'stop_cluster; umount "$WORK/disk" 2>/dev/null; rm -rf "$WORK"' EXIT

passed=0
skipped=0
data=$WORK/disk/data
mkdir "$WORK/disk"
export KUBECONFIG="$WORK/kubeconfig"

up() { start_cluster --roles apiserver --data-dir "$data" --listen 127.0.0.1:0 --kubeconfig "$KUBECONFIG"; }
# fails_with TEXT COMMAND…: it fails and says TEXT.
fails_with() {
  text=$1
  shift
  if "$@" >"$WORK/said" 2>&1; then fail "succeeded: $*"; fi
  grep -qF "$text" "$WORK/said" || fail "did not say '$text': $(cat "$WORK/said")"
}
# refused TEXT: the program does not start on $data and says TEXT.
refused() { fails_with "$1" timeout 20 "$DRACHMA" up --roles apiserver --data-dir "$data" --listen 127.0.0.1:0; }
case_passed() { passed=$((passed + 1)); }
# can NAME COMMAND…: whether a case can be run; counts those that cannot.
can() {
  name=$1
  shift
  if [ "$DISK_MOUNTS" = yes ] && "$@" 2>"$WORK/why"; then return 0; fi
  skipped=$((skipped + 1))
  echo "skipped: $name (cannot mount here: $(cat "$WORK/why" 2>/dev/null))"
  return 1
}
fill() { dd if=/dev/zero of="$WORK/disk/filler" bs=64k 2>/dev/null || true; }
big_write() { head -c 300000 /dev/zero | tr '\0' x >"$WORK/big" && kubectl create configmap "$1" --from-file="$WORK/big"; }

if can "full and read-only disks" mount -t tmpfs -o size=24m tmpfs "$WORK/disk"; then
  up
  kubectl create configmap before --from-literal=a=b >/dev/null
  kubectl get configmaps --watch-only -o name >"$WORK/watched" 2>/dev/null &
  watcher=$!
  fill
  fails_with "the disk is full" big_write during
  fails_with "the disk is full" big_write during
  [ "$(kubectl get configmap before -o 'jsonpath={.data.a}')" = b ] || fail "a full disk stops reads"
  equals "" kubectl get configmaps --field-selector metadata.name=during -o name || fail "a refused write is there"
  rm "$WORK/disk/filler"
  big_write after >/dev/null || fail "no write once there is space again"
  eventually 10 grep -q configmap/after "$WORK/watched"
  kill "$watcher"
  case_passed

  stop_cluster
  up
  [ "$(kubectl get configmaps -o name | grep -cE '/(before|after)$')" = 2 ] || fail "a restart lost writes"
  equals "" kubectl get configmaps --field-selector metadata.name=during -o name || fail "a refused write came back"
  case_passed

  # Under a running server the kernel does not let a file system become read-only but by a fault,
  # which fault_test.cc simulates.
  stop_cluster
  mount -o remount,ro "$WORK/disk"
  refused "ead-only file system"
  mount -o remount,rw "$WORK/disk"
  up
  [ "$(kubectl get configmap before -o 'jsonpath={.data.a}')" = b ] || fail "no start on a disk that is writable again"
  stop_cluster
  case_passed
fi
[ -f "$data/store.db" ] || { up; stop_cluster; }

up
refused "in use by process $CLUSTER"
stop_cluster
case_passed

rm -f "$data/store.db-wal"  # it would mend what is broken below; the database holds everything, too
cp -r "$data" "$WORK/kept"
restore() { rm -rf "$data" && cp -r "$WORK/kept" "$data"; }
# put_bytes OFFSET FORMAT: changes bytes of the database.
put_bytes() { printf "$2" | dd of="$data/store.db" bs=1 seek="$1" conv=notrunc 2>/dev/null; }
# The schema's version is at byte 60 of a SQLite database, the application's id at 68.
put_bytes 60 '\0\0\0\143'
refused "newer"
case_passed
restore
put_bytes 68 'abcd'
refused "another program"
case_passed
restore
size=$(wc -c <"$data/store.db")
dd if=/dev/urandom of="$data/store.db" bs=4096 seek=2 count=$(((size - 8192) / 4096)) conv=notrunc 2>/dev/null
refused "corrupt"
case_passed
restore
echo "this is no database at all, but a text that somebody put here" >"$data/store.db"
refused "database"
case_passed

restore
if [ "$(id -u)" -eq 0 ]; then
  # Permissions do not bind root.
  if setpriv --reuid 65534 --regid 65534 --clear-groups true 2>/dev/null; then
    chmod 755 "$WORK"
    refused_as_nobody() { fails_with "$1" setpriv --reuid 65534 --regid 65534 --clear-groups timeout 20 "$DRACHMA" up --roles apiserver --data-dir "$data" --listen 127.0.0.1:0; }
    refused_as_nobody "ermission denied"
    case_passed
  else
    skipped=$((skipped + 1))
    echo "skipped: wrong permissions (root may do everything here)"
  fi
else
  chmod 500 "$data" && chmod 400 "$data"/store.*
  refused "ermission denied"
  chmod 700 "$data"
  case_passed
fi

echo "$passed passed, 0 failed, $skipped skipped"
