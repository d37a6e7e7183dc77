# Functions for scripts that need upstream's control plane: source this file.

upstream_bin=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)/build/upstream

# free_port: a TCP port that nobody listens on now.
free_port() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# start_upstream DIR [FLAG…]: a real etcd and kube-apiserver 1.37.2 on loopback with their data in DIR.
# All API versions are served, RBAC decides, the ServiceAccount admission is off; FLAGs go to
# kube-apiserver. Writes DIR/kubeconfig (a member of system:masters) and DIR/pids.
start_upstream() {
  local dir=$1 etcd_port peer_port port
  shift
  mkdir -p "$dir"
  etcd_port=$(free_port)
  peer_port=$(free_port)
  port=$(free_port)
  openssl ecparam -name prime256v1 -genkey -noout -out "$dir/sa.key" 2>/dev/null
  echo "admin-token,admin,admin,system:masters" >"$dir/tokens.csv"
  "$upstream_bin/etcd" --data-dir "$dir/etcd" --listen-client-urls "http://127.0.0.1:$etcd_port" \
    --advertise-client-urls "http://127.0.0.1:$etcd_port" \
    --listen-peer-urls "http://127.0.0.1:$peer_port" \
    --initial-advertise-peer-urls "http://127.0.0.1:$peer_port" \
    --initial-cluster "default=http://127.0.0.1:$peer_port" --log-level error \
    >"$dir/etcd.log" 2>&1 &
  echo $! >"$dir/pids"
  "$upstream_bin/kube-apiserver" --etcd-servers "http://127.0.0.1:$etcd_port" \
    --bind-address 127.0.0.1 --secure-port "$port" --cert-dir "$dir/certs" \
    --token-auth-file "$dir/tokens.csv" --authorization-mode Node,RBAC \
    --service-account-issuer https://kubernetes.default.svc \
    --service-account-signing-key-file "$dir/sa.key" --service-account-key-file "$dir/sa.key" \
    --service-cluster-ip-range 10.96.0.0/16 --runtime-config api/all=true \
    --disable-admission-plugins ServiceAccount "$@" >"$dir/apiserver.log" 2>&1 &
  echo $! >>"$dir/pids"
  write_kubeconfig "$dir/kubeconfig" "https://127.0.0.1:$port" admin-token
  wait_ready "$dir/kubeconfig" 60
}

# write_kubeconfig FILE SERVER TOKEN: server certificates are not checked.
write_kubeconfig() {
  cat >"$1" <<KUBECONFIG
apiVersion: v1
kind: Config
current-context: c
clusters: [{name: c, cluster: {server: "$2", insecure-skip-tls-verify: true}}]
users: [{name: u, user: {token: "$3"}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
KUBECONFIG
}

# wait_ready KUBECONFIG SECONDS: until /readyz says ok.
wait_ready() {
  local server token
  server=$(sed -n 's/.*server: "\(.*\)", insec.*/\1/p' "$1")
  token=$(sed -n 's/.*token: "\(.*\)"}}.*/\1/p' "$1")
  for _ in $(seq $(($2 * 10))); do
    [ "$(curl -sk -H "Authorization: Bearer $token" "$server/readyz")" = ok ] && return 0
    sleep 0.1
  done
  echo "no API server became ready at $server" >&2
  return 1
}

# stop_upstream DIR. Killed, because kube-apiserver waits minutes for an etcd that has ended before it.
stop_upstream() {
  [ -f "$1/pids" ] && xargs -r kill -KILL 2>/dev/null <"$1/pids"
  return 0
}
