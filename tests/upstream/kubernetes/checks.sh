# Functions for scripts that check a cluster step by step: source this file after control_plane.sh.
# $work is a folder, $KUBECONFIG the cluster. Counts in $passed and $failed.
passed=0
failed=0

k() { "$upstream_bin/kubectl" "$@"; }

# check NAME COMMAND…: COMMAND must succeed.
check() {
  local name=$1
  shift
  if "$@" >"$work/out" 2>&1; then
    passed=$((passed + 1))
    echo "ok   $name"
  else
    failed=$((failed + 1))
    echo "FAIL $name"
    tail -n 20 "$work/out"
  fi
}
# eventually NAME COMMAND…: COMMAND must succeed within a minute and a half.
eventually() { check "$1" within 90 "${@:2}"; }
within() {
  local end=$((SECONDS + $1))
  shift
  until "$@"; do
    [ "$SECONDS" -lt "$end" ] || return 1
    sleep 0.2
  done
}
refused_with() {  # refused_with TEXT COMMAND…: COMMAND fails and says TEXT.
  local text=$1 said
  shift
  said=$("$@" 2>&1) && return 1
  echo "$said"
  grep -qF "$text" <<<"$said"
}

# What there is. NS is the namespace.
names() { k get "$@" --no-headers -o custom-columns=N:.metadata.name 2>/dev/null; }
number() { [ "$(names "${@:2}" | wc -l)" = "$1" ]; }
field() { [ "$(k get "${@:3}" -o "jsonpath=$2" 2>/dev/null)" = "$1" ]; }
claims_in_use() { [ "$(k get resourceclaims "${@:2}" --no-headers 2>/dev/null | grep -c ' allocated,reserved ')" = "$1" ]; }
devices() { k get resourceclaims "$@" -o jsonpath='{range .items[*]}{range .status.allocation.devices.results[*]}{.pool}/{.device}{"\n"}{end}{end}'; }
pairwise_different() { [ -n "$(devices -A)" ] && [ -z "$(devices -A | sort | uniq -d)" ]; }
running() { [ "$(k get pods "${@:2}" --no-headers 2>/dev/null | grep -c ' Running ')" = "$1" ]; }
