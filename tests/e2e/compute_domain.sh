#!/bin/sh
# Compute domains: a job over the nodes of one rack from its ComputeDomain to its end, what goes wrong on the way, and the same with
# the roles as processes of their own that are killed in between.
# Usage: compute_domain.sh PROGRAM
DRACHMA=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$(dirname "$0")/lib.sh"
DRIVER=dra-driver-nvidia-gpu

cat >"$WORK/fleet.yaml" <<'YAML'
apiVersion: drachma.dev/v1alpha1
kind: Fleet
groups:
- {name: red, count: 5, gpu: {model: GB200-186GB, count: 4}, nvlinkDomain: red}
- {name: blue, count: 5, gpu: {model: GB200-186GB, count: 4}, nvlinkDomain: blue}
- {name: alone, count: 1, gpu: {model: GB300-278GB, count: 4}}
YAML

# domain NAME NODES [TEMPLATE]
domain() {
  cat <<YAML
apiVersion: resource.nvidia.com/v1beta1
kind: ComputeDomain
metadata: {name: $1}
spec: {numNodes: $2, channel: {resourceClaimTemplate: {name: ${3:-$1}}}}
YAML
}
# workers NAME COUNT: pods that join the domain of that name and stay in one rack.
workers() {
  cat <<YAML
apiVersion: apps/v1
kind: Deployment
metadata: {name: $1}
spec:
  replicas: $2
  selector: {matchLabels: {app: $1}}
  template:
    metadata: {labels: {app: $1}}
    spec:
      affinity:
        podAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - {topologyKey: nvidia.com/gpu.clique, labelSelector: {matchLabels: {app: $1}}}
      containers: [{name: c, image: i, resources: {claims: [{name: channel}]}}]
      resourceClaims: [{name: channel, resourceClaimTemplateName: $1}]
YAML
}
domain_status() { kubectl get computedomain "$1" -o 'jsonpath={.status.status}'; }
uid_of() { kubectl get computedomain "$1" -o 'jsonpath={.metadata.uid}'; }
nodes_of() { kubectl get computedomain "$1" -o 'jsonpath={range .status.nodes[*]}{.name} {.cliqueID} {.index} {.status}{"\n"}{end}'; }
labelled() { kubectl get nodes -l "resource.nvidia.com/computeDomain=$1" -o name | wc -l; }
phase() { kubectl get pod "$1" -o 'jsonpath={.status.phase}'; }
event() { kubectl describe "$1" | grep -q "$2"; }

export KUBECONFIG="$WORK/kubeconfig"
start_cluster --ephemeral --listen 127.0.0.1:0 --kubeconfig "$KUBECONFIG" --fleet "$WORK/fleet.yaml"

# Two workers in one rack.
{ domain ring 2 && echo --- && workers ring 2; } | kubectl apply -f - >/dev/null
kubectl rollout status deployment/ring --timeout=60s >/dev/null || fail "$("$DRACHMA" explain deployment/ring)"
eventually 10 equals Ready domain_status ring
nodes_of ring | cut -d' ' -f2- | sort >"$WORK/nodes"
rack=$(cut -d' ' -f1 "$WORK/nodes" | uniq)
equals "$(printf '%s 0 Ready\n%s 1 Ready' "$rack" "$rack")" cat "$WORK/nodes" || fail "not two nodes of one rack: $(nodes_of ring)"
ring=$(uid_of ring)
equals 2 labelled "$ring" || fail "not two nodes are labelled"
equals "$rack 1" kubectl get computedomainclique -n $DRIVER "$ring.$rack" -o 'jsonpath={.daemons[1].cliqueID} {.daemons[1].index}' || fail "no clique"
daemon_report() { kubectl get resourceclaims -n $DRIVER -o 'jsonpath={range .items[*]}{.status.devices[0].data.env.COMPUTE_DOMAIN_NAME}{"\n"}{end}' | sort | uniq -c | tr -s ' '; }
eventually 10 equals ' 2 ring' daemon_report
kubectl get computedomain ring | grep -q 'ring *Ready' || fail "$(kubectl get computedomain ring)"
kubectl explain computedomain.spec.channel | grep -q allocationMode || fail "no explanation of the kind"
kubectl patch computedomain ring --type merge -p '{"spec":{"numNodes":3}}' 2>&1 | grep -q 'A computeDomain.spec is immutable' || fail "the spec can be changed"
equals '' twice_allocated || fail "devices stand in two claims: $(twice_allocated)"

# Without a fabric a pod starts, too, and gets no channel.
kubectl taint nodes -l nvidia.com/gpu.clique full=yes:NoSchedule >/dev/null
{ domain alone 1 && echo --- && workers alone 1 | sed '/affinity:/,/topologyKey/d'; } | kubectl apply -f - >/dev/null
kubectl rollout status deployment/alone --timeout=60s >/dev/null || fail "$("$DRACHMA" explain deployment/alone)"
eventually 10 equals 'alone-0  -1 Ready' nodes_of alone
kubectl delete deployment alone >/dev/null
kubectl taint nodes -l nvidia.com/gpu.clique full- >/dev/null

# A template of somebody else is left as it is.
kubectl apply -f - >/dev/null <<'YAML'
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: mine}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]}}}
YAML
domain mine 0 | kubectl apply -f - >/dev/null
eventually 10 event computedomain/mine 'ResourceClaimTemplateExists.*is not of this ComputeDomain'
equals NotReady domain_status mine || fail "a domain without a template is ready"
equals gpu kubectl get resourceclaimtemplate mine -o 'jsonpath={.spec.spec.devices.requests[0].name}' || fail "the template was overwritten"

# A claim of another namespace is refused at once, and the node is nobody's.
kubectl create namespace other >/dev/null
kubectl get resourceclaimtemplate ring -o json | jq '{apiVersion, kind, metadata: {name: "stolen", namespace: "other"}, spec}' | kubectl apply -f - >/dev/null
workers stolen 1 | kubectl apply -n other -f - >/dev/null
refused() { kubectl get events -n other | grep -q "FailedPrepareDynamicResources.*namespace is different than the ComputeDomain's namespace"; }
eventually 20 refused
"$DRACHMA" explain "$(kubectl get pods -n other -o name)" -n other | grep -q 'waits for ComputeDomain default/ring, which is of another namespace' || fail "no word of the namespace"
equals 2 labelled "$ring" || fail "a node of another namespace's pod is labelled"
kubectl delete namespace other --wait=false >/dev/null

# A pod waits for the daemon of its node, and `explain` says so. No daemon comes up for want of quota.
kubectl create quota none --hard=pods=2 -n $DRIVER >/dev/null
kubectl delete deployment ring >/dev/null
eventually 20 equals 0 labelled "$ring"
eventually 20 equals 0 count pods -n $DRIVER
kubectl patch quota none -n $DRIVER --type merge -p '{"spec":{"hard":{"pods":"0"}}}' >/dev/null
eventually 20 equals 0 kubectl get quota none -n $DRIVER -o jsonpath='{.status.hard.pods}'
workers ring 1 | kubectl apply -f - >/dev/null
waits() { "$DRACHMA" explain "$(kubectl get pods -l app=ring -o name)" | grep -q 'waits for ComputeDomain default/ring: no daemon of it runs on node .* yet'; }
eventually 20 waits
kubectl delete quota none -n $DRIVER >/dev/null
kubectl rollout status deployment/ring --timeout=90s >/dev/null || fail "$("$DRACHMA" explain deployment/ring)"
kubectl scale deployment ring --replicas=2 >/dev/null
eventually 20 equals Ready domain_status ring

# A daemon that dies comes back; the place of a node that goes is taken by another one.
daemon=$(kubectl get pods -n $DRIVER -o name | head -1)
kubectl delete -n $DRIVER "$daemon" --force >/dev/null 2>&1
back() { [ "$(kubectl get pods -n $DRIVER --no-headers | grep -c ' 1/1 ')" = 2 ] && ! kubectl get pods -n $DRIVER -o name | grep -q "^$daemon\$"; }
eventually 20 back
eventually 20 equals Ready domain_status ring
gone=$(nodes_of ring | tail -1 | cut -d' ' -f1)
kubectl delete node "$gone" >/dev/null
eventually 20 equals NotReady domain_status ring
pod_there() { kubectl get pods -A --field-selector "spec.nodeName=$gone" -o 'jsonpath={range .items[*]}{.metadata.namespace} {.metadata.name}{"\n"}{end}'; }
pod_there | while read -r ns name; do kubectl delete pod -n "$ns" "$name" --force >/dev/null 2>&1; done
eventually 30 equals Ready domain_status ring
nodes_of ring | grep -q "^$gone " && fail "a node that is gone is still there: $(nodes_of ring)"

# The label goes with the workers; with the domain, everything.
kubectl delete deployment ring >/dev/null
eventually 20 equals 0 labelled "$ring"
eventually 20 equals '' nodes_of ring
eventually 20 equals 0 count computedomaincliques -n $DRIVER
kubectl delete computedomain --all >/dev/null
equals 0 count resourceclaimtemplates -n $DRIVER || fail "templates of daemons are left"
equals 0 count daemonsets -n $DRIVER || fail "DaemonSets are left"
equals mine kubectl get resourceclaimtemplates -o 'jsonpath={.items[*].metadata.name}' || fail "not only the foreign template is left"
stop_cluster

# Roles apart. The nodes' process ends without a word, and so does that of the controllers, while the domain is deleted.
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
data=$WORK/data
export KUBECONFIG="$data/kubeconfig"
start_cluster --roles=apiserver --data-dir "$data" --listen "127.0.0.1:$port"
roles=
trap 'kill $roles 2>/dev/null || true; stop_cluster; rm -rf "$WORK"' EXIT
start_role() {
  "$DRACHMA" "$@" >>"$WORK/$1.log" 2>&1 &
  started=$!
  roles="$roles $started"
}
start_role scheduler
start_role controllers
controllers=$started
start_role node --fleet "$WORK/fleet.yaml"
nodes=$started
eventually 30 equals 11 count nodes
"$DRACHMA" apply -f "$root/examples/compute-domain.yaml" >/dev/null
running() { kubectl get pods --no-headers | grep -c ' Running '; }
eventually 60 equals 5 running
eventually 20 equals Ready domain_status training
eventually 20 equals 3 labelled "$(uid_of serving)"
restarted=$(kubectl get pods -n $DRIVER -o name | sort)
kill -9 "$nodes"
start_role node --fleet "$WORK/fleet.yaml"
sleep 3
equals 5 running || fail "pods do not survive their kubelets"
equals "$restarted" sh -c "kubectl get pods -n $DRIVER -o name | sort" || fail "daemons do not survive their kubelets"
equals Ready domain_status training || fail "a domain does not survive its kubelets"
kubectl delete deployment serving >/dev/null
kill -9 "$controllers"
kubectl delete computedomain training serving --wait=false >/dev/null
sleep 1
start_role controllers
eventually 60 equals 0 count computedomains
eventually 20 equals 0 count daemonsets -n $DRIVER
eventually 20 equals 'four-gpus' kubectl get resourceclaimtemplates -A -o 'jsonpath={.items[*].metadata.name}'
equals '' kubectl get nodes -l resource.nvidia.com/computeDomain -o name || fail "labels are left"
echo "compute domains: fine"
