# The steps of run.sh: source this file after sandbox.sh and checks.sh.

k() { inside "$bin/kubectl" "$@"; }
ctr() { inside "$bin/ctr" -a "$work/containerd.sock" -n k8s.io "$@"; }

# start LOG COMMAND…: a service in the sandbox; its process is in $service.
start() {
  local log=$work/$1
  shift
  (enter "$@") >>"$log" 2>&1 &
  local shell=$!
  within 5 pgrep -P "$shell" >/dev/null || return 1
  service=$(pgrep -P "$shell")
}
# stop PROCESS SIGNAL: and waits for its end.
stop() {
  kill "-$2" "$1" && within 20 eval "! kill -0 $1 2>/dev/null"
}
milliseconds() { date +%s%3N; }

write_configs() {
  mkdir -p "$work"/{cdi,cni,kubelet,images,state}
  cat >"$work/containerd.toml" <<TOML
version = 4
root = "$work/containerd/root"
state = "$work/containerd/state"
temp = "$work/containerd/temp"
disabled_plugins = ["io.containerd.nri.v1.nri"]
[plugins.'io.containerd.server.v1.grpc']
  address = "$work/containerd.sock"
[plugins.'io.containerd.server.v1.ttrpc']
  address = "$work/containerd.sock.ttrpc"
[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = "localhost/pause:1"
[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = true
  cdi_spec_dirs = ["$work/cdi"]
[plugins.'io.containerd.cri.v1.runtime'.cni]
  bin_dirs = ["/usr/lib/cni"]
  conf_dir = "$work/cni"
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
  BinaryName = "$(command -v runc)"
  SystemdCgroup = false
TOML
  cat >"$work/cni/10-pods.conflist" <<'JSON'
{"cniVersion": "1.0.0", "name": "pods", "plugins": [{"type": "bridge", "bridge": "br0", "isGateway": false,
  "ipMasq": false, "ipam": {"type": "host-local", "dataDir": "/run/cni-addresses",
  "ranges": [[{"subnet": "10.231.0.0/24", "rangeStart": "10.231.0.10", "rangeEnd": "10.231.0.250"}]]}}]}
JSON
  cat >"$work/kubelet.yaml" <<YAML
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
cgroupDriver: cgroupfs
failSwapOn: false
address: 10.231.0.1
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
containerRuntimeEndpoint: unix://$work/containerd.sock
podLogsDir: $work/pod-logs
volumePluginDir: $work/volume-plugins
resolvConf: ""
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: 1Mi, nodefs.available: 1Mi, imagefs.available: 1Mi}
YAML
  echo "kubelet-token,system:node:$node,kubelet,system:nodes" >"$work/tokens.csv"
  write_kubeconfig "$work/kubelet.kubeconfig" https://127.0.0.1:6443 kubelet-token
}

start_api() {
  start up.log "$drachma" up --roles=apiserver,controllers,scheduler --fleet none --ephemeral \
    --listen 127.0.0.1:6443 --kubeconfig "$KUBECONFIG" --token-auth-file "$work/tokens.csv"
  within 30 grep -qs "is up at" "$work/up.log" || { cat "$work/up.log"; return 1; }
  check "deploy/ is accepted" k apply -f "$root/deploy/driver.yaml" -f "$root/deploy/device-classes.yaml"
  # The driver is started here, not by a DaemonSet: there is no image of it.
  k delete daemonset -n drachma drachma-dra-driver >/dev/null
}

start_containerd() {
  start containerd.log env "PATH=$bin:$PATH" "$bin/containerd" --config "$work/containerd.toml"
  within 30 ctr version >/dev/null 2>&1 || { tail "$work/containerd.log"; return 1; }
  "$here/image.py" "$work/images/busybox.tar" localhost/busybox:1 localhost/pause:1
  ctr images import "$work/images/busybox.tar" >/dev/null
}

start_kubelet() {
  start kubelet.log "$bin/kubelet" --config "$work/kubelet.yaml" --kubeconfig "$work/kubelet.kubeconfig" \
    --root-dir "$work/kubelet" --cert-dir "$work/kubelet-pki" --hostname-override "$node" \
    --node-ip 10.231.0.1
  kubelet=$service
}
node_ready() { field True '{.status.conditions[?(@.type=="Ready")].status}' node "$node"; }

# The device that stands in for GPUs: one that a container may not open unless it was given.
stand_in=/dev/null
[ -c /dev/fuse ] && stand_in=/dev/fuse

start_driver() {
  if [ ! -f "$work/driver.kubeconfig" ]; then
    # As a pod of the driver on this node would have it.
    write_kubeconfig "$work/driver.kubeconfig" https://127.0.0.1:6443 "$(k create token -n drachma \
      drachma-dra-driver --bound-object-kind Node --bound-object-name "$node" \
      --bound-object-uid "$(k get node "$node" -o 'jsonpath={.metadata.uid}')")"
  fi
  start driver.log "$drachma" node --kubelet-dir "$work/kubelet" --node-name "$node" --backend sim \
    --simulated-gpus "H100-80GB x4" --stand-in "$stand_in" --cdi-dir "$work/cdi" \
    --state-dir "$work/state" --kubeconfig "$work/driver.kubeconfig" \
    --metrics-listen 127.0.0.1:8080 --healthz 127.0.0.1:51516
  driver=$service
}
slices_are() { number "$1" resourceslices; }

# pod NAME TEMPLATE-OR-CLAIM…: a pod whose container `with` has all of these claims, and whose
# container `without` has none. TEMPLATE is template/NAME, CLAIM claim/NAME.
pod() {
  local name=$1 claims="" names="" i=0 one
  shift
  for one in "$@"; do
    case $one in
    template/*) claims+="{name: c$i, resourceClaimTemplateName: ${one#*/}}, " ;;
    claim/*) claims+="{name: c$i, resourceClaimName: ${one#*/}}, " ;;
    esac
    names+="{name: c$i}, "
    i=$((i + 1))
  done
  k apply -f - <<YAML
apiVersion: v1
kind: Pod
metadata: {name: $name}
spec:
  terminationGracePeriodSeconds: 1
  automountServiceAccountToken: false
  dnsPolicy: Default
  resourceClaims: [$claims]
  containers:
  - name: with
    image: localhost/busybox:1
    imagePullPolicy: Never
    resources: {claims: [$names]}
  - name: without
    image: localhost/busybox:1
    imagePullPolicy: Never
YAML
}
claim() {
  k apply -f - <<YAML
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: $1}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]}}
YAML
}
template() {
  k apply -f - <<YAML
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: $1}
spec: {spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu.nvidia.com}}]}}}
YAML
}
runs() { field "true true" '{.status.containerStatuses[*].ready}' pod "$1"; }
gone() { [ -z "$(names pod "$1")" ]; }
delete() { k delete "$1" --wait=false >/dev/null; }
# in_container POD CONTAINER COMMAND…
in_container() {
  local id
  id=$(k get pod "$1" -o "jsonpath={.status.containerStatuses[?(@.name=='$2')].containerID}")
  shift 2
  ctr tasks exec --exec-id "e$RANDOM$RANDOM" "${id#containerd://}" "$@"
}
has_device() { in_container "$1" "$2" sh -c 'test -c /dev/nvidia[0-9]'; }
cdi_files() { [ "$(find "$work/cdi" -name '*.json' | wc -l)" = "$1" ]; }
says() { # says TEXT COMMAND…: its output has TEXT
  local text=$1 said
  shift
  said=$("$@" 2>&1)
  echo "$said"
  grep -qF -- "$text" <<<"$said"
}

one_pod() {
  check "a template is accepted" template one-gpu
  local began
  began=$(milliseconds)
  check "a pod with a claim is accepted" pod one template/one-gpu
  check "the pod runs" within 60 runs one
  echo "     $(($(milliseconds) - began)) ms from its creation"
  check "the container has the device's environment" says "DRACHMA_GPU_" in_container one with env
  check "the container has the device node" has_device one with
  check "the container may open the device" in_container one with sh -c 'exec 3<>"$(echo /dev/nvidia[0-9])"'
  check "the other container has no device node" in_container one without sh -c '! ls /dev/nvidia*'
  check "the other container has no such environment" in_container one without sh -c '! env | grep GPU'
  if [ "$stand_in" != /dev/null ]; then
    check "the other container may not open such a device" says "not permitted" \
      in_container one without sh -c 'mknod /tmp/mine c 10 229 && exec 3<>/tmp/mine'
  fi
  check "a file describes the claim's devices to the runtime" cdi_files 1
  check "the pod's status tells the device's health" within 20 field Healthy \
    '{.status.containerStatuses[?(@.name=="with")].allocatedResourcesStatus[0].resources[0].health}' pod one
  check "metrics count the prepared device" says \
    "nvidia_dra_prepared_devices{node=\"$node\",driver=\"gpu.nvidia.com\",device_type=\"gpu\"} 1" \
    inside curl -s 127.0.0.1:8080/metrics
  delete pod/one
  check "the pod ends" within 60 gone one
  check "its file has gone" within 10 cdi_files 0
}
not() { ! "$@"; }

shared_claim() {
  check "a claim for two pods" claim shared
  check "two pods share it" eval 'pod first claim/shared && pod second claim/shared'
  check "both run" within 60 eval 'runs first && runs second'
  local device
  device=$(in_container first with env | grep DRACHMA_GPU_)
  check "both have the same device" says "$device" in_container second with env
  delete pod/first
  check "the first pod ends" within 60 gone first
  check "the claim stays prepared for the second" cdi_files 1
  delete pod/second
  check "the second pod ends" within 60 gone second
  check "then the claim is given back" within 10 cdi_files 0
  k delete resourceclaim shared >/dev/null
}

two_claims() {
  check "a pod with two claims is accepted" pod two template/one-gpu template/one-gpu
  check "the pod with two claims runs" within 60 runs two
  check "it has two devices" in_container two with sh -c 'test "$(ls -d /dev/nvidia[0-9] | wc -l)" = 2'
  delete pod/two
  check "the pod with two claims ends" within 60 gone two
  check "both claims are given back" within 10 cdi_files 0
}

# watch_slices: a line in slices.log for each event from now on, with the time it was seen.
watch_slices() {
  local version
  version=$(k get --raw '/apis/resource.k8s.io/v1/resourceslices?limit=1' | jq -r .metadata.resourceVersion)
  k get --raw "/apis/resource.k8s.io/v1/resourceslices?watch=true&resourceVersion=$version" |
    while IFS= read -r line; do echo "$(milliseconds) ${line:9:9}"; done >"$work/slices.log" 2>/dev/null &
}
# A kubelet that starts wipes the slices of its node.
kubelet_restart() {
  check "a pod before the kubelet's restart" eval 'pod stays template/one-gpu && within 60 runs stays'
  local id
  id=$(k get pod stays -o 'jsonpath={.status.containerStatuses[0].containerID}')
  watch_slices
  check "the kubelet ends" stop "$kubelet" TERM
  start_kubelet
  check "the kubelet registers the driver anew" within 30 \
    eval '[ "$(grep -c "has registered the driver" "$work/driver.log")" -ge 2 ]'
  check "the kubelet has wiped the slices" within 30 grep -q DELETED "$work/slices.log"
  check "they are back" within 5 grep -q ADDED "$work/slices.log"
  local wiped back
  wiped=$(awk '/DELETED/ {print $1; exit}' "$work/slices.log")
  back=$(awk '/ADDED/ {print $1; exit}' "$work/slices.log")
  echo "     $((back - wiped)) ms without slices"
  check "that was less than a second" test -n "$wiped" -a $((back - wiped)) -lt 1000
  check "the node is ready again" within 60 node_ready
  check "the running pod was left alone" field "$id" '{.status.containerStatuses[0].containerID}' pod stays
  check "the running pod keeps its device" has_device stays with
}

# kill -9: nothing is told to anybody.
driver_restart() {
  check "the driver is killed" stop "$driver" KILL
  check "a pod comes while there is no driver" pod late template/one-gpu
  delete pod/stays
  sleep 3
  check "a pod with prepared devices waits for the driver" not gone stays
  start_driver
  check "the new driver takes the sockets of the dead one" within 20 \
    eval '[ "$(grep -c "has registered the driver" "$work/driver.log")" -ge 3 ]'
  check "the pod that waited ends" within 90 gone stays
  check "the pod that came meanwhile runs" within 90 runs late
}

# SIGTERM, as for an update: what is prepared stays prepared.
driver_ends() {
  check "the driver ends when it is told to" stop "$driver" TERM
  check "its sockets have gone" test ! -e "$work/kubelet/plugins_registry/gpu.nvidia.com-reg.sock"
  check "the claim stays prepared" cdi_files 1
  check "the pod goes on" has_device late with
  start_driver
  check "the next driver is registered" within 20 \
    eval '[ "$(grep -c "has registered the driver" "$work/driver.log")" -ge 4 ]'
  delete pod/late
  check "the pod ends with the next driver" within 60 gone late
  check "the next driver gives the claim back" within 10 cdi_files 0
}

wiped_slices() {
  check "somebody deletes all slices" k delete resourceslices --all
  check "the driver has them back" within 5 slices_are 1
}

nothing_left() {
  ! grep -q "$work" /proc/mounts && [ -z "$(find "${sandbox_groups[@]}" -maxdepth 0 2>/dev/null)" ] &&
    ! pgrep -f "$work/kubelet.yaml" >/dev/null
}
