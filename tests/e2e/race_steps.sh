# Sourced by ledger.sh and by the run against the real API server; wants 16 GPUs, schedulers named one and two,
# $WORK and the functions of lib.sh. Pods of both schedulers come together and take all devices.
race_pods() { # race_pods ROUND
  cat <<'YAML'
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: race}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]}}}
YAML
  for i in 1 2 3 4 5 6 7 8; do
    for name in one two; do
      cat <<YAML
---
apiVersion: v1
kind: Pod
metadata: {name: $name-$1-$i, labels: {round: "$1"}}
spec:
  schedulerName: $name
  terminationGracePeriodSeconds: 0
  containers: [{name: c, image: i, resources: {claims: [{name: gpu}]}}]
  resourceClaims: [{name: gpu, resourceClaimTemplateName: race}]
YAML
    done
  done
}
race_running() { kubectl get pods -l "round=$1" --no-headers 2>/dev/null | grep -c ' Running ' || true; }
race_round() { # race_round ROUND: all run, and at no time two claims have one device
  race_pods "$1" | kubectl apply -f - >/dev/null || fail "pods are refused"
  tries=0
  until equals 16 race_running "$1"; do
    twice=$(twice_allocated)
    [ -z "$twice" ] || fail "allocated twice: $twice"
    tries=$((tries + 1))
    [ "$tries" -lt 300 ] || fail "only $(race_running "$1") pods run"
    sleep 0.1
  done
  twice=$(twice_allocated)
  [ -z "$twice" ] || fail "allocated twice: $twice"
  kubectl delete pods -l "round=$1" >/dev/null
  eventually 60 equals 0 count resourceclaims
}
stop_race() { kubectl delete resourceclaimtemplate race >/dev/null; }
