#!/usr/bin/env python3
"""A client that does not read, one that sends too much, and the end of the server.

usage: limits.py SERVER KUBECONFIG-TOKEN PID. Prints what failed; exits 0 when nothing did.
"""
import http.client
import json
import os
import signal
import ssl
import sys
import time
import urllib.parse

CHANGES = 150
BYTES = 100_000
PATH = "/api/v1/namespaces/default/configmaps"
server, token, pid = urllib.parse.urlparse(sys.argv[1]), sys.argv[2], int(sys.argv[3])
failures = []


def check(fact, holds):
    if not holds:
        failures.append(fact)


def connect():
    return http.client.HTTPSConnection(
        server.hostname, server.port, timeout=60, context=ssl._create_unverified_context())


def send(connection, method, path, body=None, headers=None):
    headers = {"Authorization": "Bearer " + token, "Content-Type": "application/json",
               **(headers or {})}
    connection.request(method, path, body if body is None else json.dumps(body), headers)
    return connection.getresponse()


def config_map(number):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "big"},
            "data": {"number": str(number), "text": "x" * BYTES}}


writer = connect()
answer = json.loads(send(writer, "POST", PATH, config_map(0)).read())
begin = answer["metadata"]["resourceVersion"]
watch = connect()
stream = send(watch, "GET", f"{PATH}?watch=1&resourceVersion={begin}")
started = time.time()
for number in range(1, CHANGES + 1):
    send(writer, "PUT", PATH + "/big", config_map(number)).read()
check("writers do not wait for a watcher that does not read", time.time() - started < 50)
numbers = [int(json.loads(stream.readline())["object"]["data"]["number"]) for _ in range(CHANGES)]
check("the watcher goes on without a gap", numbers == list(range(1, CHANGES + 1)))

too_large = connect()
check("bodies have a limit", send(too_large, "POST", PATH, {"data": "x" * (4 << 20)}).status == 413)
check("headers have a limit",
      send(connect(), "GET", PATH, headers={"X-Long": "x" * 70_000}).status == 431)

metrics = send(connect(), "GET", "/metrics").read().decode()
for name in ("apiserver_request_total", "apiserver_request_duration_seconds_bucket",
             "apiserver_current_inflight_requests", "apiserver_longrunning_requests"):
    check(f"{name} is measured", f"\n{name}{{" in metrics or f"\n{name} " in metrics)

os.kill(pid, signal.SIGTERM)
check("the watch ends in good order at the end of the server", stream.readline() == b"")

for failure in failures:
    print("FAILED:", failure)
sys.exit(1 if failures else 0)
