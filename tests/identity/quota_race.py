#!/usr/bin/env python3
"""Many clients at once want what a quota has left, again and again while some is given back.

usage: quota_race.py --server URL. Ends with 'N passed, N failed'.
"""
import argparse
import json
import ssl
import sys
import threading
import time
import urllib.error
import urllib.request

ROUNDS, CLIENTS, TRIES, PER_CLAIM, LIMIT, GIVEN_BACK = 5, 16, 5, 2, 20, 7
DEVICES = "x.deviceclass.resource.k8s.io/devices"
QUOTAS = "/api/v1/namespaces/default/resourcequotas"
CLAIMS = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims"

parser = argparse.ArgumentParser()
parser.add_argument("--server", required=True)
server = parser.parse_args().server
tls = ssl._create_unverified_context()


def send(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(server + path, data, method=method)
    request.add_header("Authorization", "Bearer admin-token")
    request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(request, context=tls) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        return json.load(error)


def used():
    return send("GET", QUOTAS + "/race").get("status", {}).get("used", {}).get(DEVICES)


def wait_used(amount):
    end = time.time() + 30
    while used() != str(amount) and time.time() < end:
        time.sleep(0.02)


def client(name):
    request = {"name": "r", "exactly": {"deviceClassName": "x", "count": PER_CLAIM}}
    for number in range(TRIES):
        send("POST", CLAIMS, {"metadata": {"name": f"{name}-{number}"},
                              "spec": {"devices": {"requests": [request]}}})


send("POST", QUOTAS, {"metadata": {"name": "race"}, "spec": {"hard": {DEVICES: str(LIMIT)}}})
wait_used(0)
failed = 0
for number in range(ROUNDS):
    threads = [threading.Thread(target=client, args=(f"c{number}-{i}",)) for i in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    names = [claim["metadata"]["name"] for claim in send("GET", CLAIMS)["items"]]
    if len(names) * PER_CLAIM != LIMIT or used() != str(LIMIT):
        failed += 1
        print(f"FAIL round {number}: {len(names)} claims, {used()} devices of {LIMIT} used")
    for name in names[:GIVEN_BACK]:
        send("DELETE", CLAIMS + "/" + name)
    wait_used(LIMIT - GIVEN_BACK * PER_CLAIM)
print(f"{ROUNDS - failed} passed, {failed} failed")
sys.exit(1 if failed else 0)
