# What the end-to-end tests share. Sourced; needs $DRACHMA.
set -eu
WORK=$(mktemp -d)
CLUSTER=
trap 'stop_cluster; rm -rf "$WORK"' EXIT

fail() {
  echo "FAILED: $*" | head -c 2000 >&2
  [ -f "$WORK/up.log" ] && tail -20 "$WORK/up.log" >&2
  exit 1
}

# start_cluster ARGUMENTS…: returns once it is ready.
start_cluster() {
  : >"$WORK/up.log"
  "$DRACHMA" up "$@" >"$WORK/up.log" 2>&1 &
  CLUSTER=$!
  tries=0
  until grep -q "is up at" "$WORK/up.log"; do
    kill -0 "$CLUSTER" 2>/dev/null || fail "the cluster ended"
    tries=$((tries + 1))
    [ "$tries" -lt 600 ] || fail "the cluster was not ready in a minute"
    sleep 0.1
  done
}

# Whatever it was doing, it ends well.
stop_cluster() {
  [ -n "$CLUSTER" ] || return 0
  stopped=$CLUSTER
  CLUSTER=
  kill "$stopped" 2>/dev/null || true
  wait "$stopped" || fail "the cluster ended with $?"
}

# eventually SECONDS COMMAND…: until it succeeds.
eventually() {
  limit=$1
  shift
  tries=0
  until "$@" >/dev/null 2>&1; do
    tries=$((tries + 1))
    [ "$tries" -lt $((limit * 5)) ] || fail "not within $limit s: $*"
    sleep 0.2
  done
}

# Devices that stand in more than one claim's allocation.
twice_allocated() {
  kubectl get resourceclaims -A -o jsonpath='{range .items[*]}{range .status.allocation.devices.results[*]}{.driver}/{.pool}/{.device}{"\n"}{end}{end}' | sort | uniq -d
}

# equals EXPECTED COMMAND…
equals() {
  expected=$1
  shift
  [ "$("$@")" = "$expected" ]
}
count() { kubectl get "$@" --no-headers 2>/dev/null | wc -l; }
