#!/usr/bin/env python3
"""Sends the requests of a scenario to an API server and shows its answers, masked.

usage: replay.py --server URL SCENARIO.json [--golden FILE [--record]]

A scenario is a list of steps:
  {"name": …, "as": TOKEN, "method": …, "path": …, "body": …, "headers": {…},
   "keep": {NAME: [path of a value in the answer]}, "until": {"at": [path], "is": VALUE},
   "show": [[path], …], "warnings": true | "sorted"}
"{NAME}" in paths, tokens and bodies stands for a value that an earlier step kept. With "until" the
request is repeated until the answer holds the value, for controllers to act. With "show" only these
parts of the answer are shown; with "warnings" the texts of its Warning headers, too. With --golden the answers must equal the file; --record writes it.
Ends with 'N passed, N failed'.
"""
import argparse
import json
import re
import ssl
import sys
import time
import urllib.error
import urllib.request

UNTIL_SECONDS = 60
DROPPED = {"managedFields", "creationTimestamp", "expirationTimestamp"}
MASKS = [
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "UID"),
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z\b"), "TIME"),
    (re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]+"), "TOKEN"),
    (re.compile(r"ResourceVersion: \d+"), "ResourceVersion: N"),
    (re.compile(r"\b(generated-)[0-9a-z]{5}\b"), r"\1SUFFIX"),
]


def masked(value, key=""):
    if isinstance(value, dict):
        return {k: masked(v, k) for k, v in value.items() if k not in DROPPED}
    if isinstance(value, list):
        values = [masked(v) for v in value]
        # Upstream gathers rules in the random order of its caches.
        return sorted(values, key=json.dumps) if key.endswith("resourceRules") else values
    if key in ("resourceVersion", "continue") and value:
        return "RV"
    if isinstance(value, str):
        for pattern, word in MASKS:
            value = pattern.sub(word, value)
    return value


def at(value, path):
    for step in path:
        if isinstance(value, list):
            value = value[step] if isinstance(step, int) and step < len(value) else None
        elif isinstance(value, dict):
            value = value.get(step)
        else:
            return None
    return value


class Replay:
    def __init__(self, server):
        self.server = server
        self.kept = {}
        self.tls = ssl._create_unverified_context()

    def fill(self, value):
        if isinstance(value, str):
            return re.sub(r"\{(\w+)\}", lambda m: str(self.kept.get(m.group(1), m.group(0))), value)
        if isinstance(value, dict):
            return {k: self.fill(v) for k, v in value.items()}
        if isinstance(value, list):
            return [self.fill(v) for v in value]
        return value

    def send(self, step):
        body = step.get("body")
        method = step.get("method", "GET" if body is None else "POST")
        data = None if body is None else json.dumps(self.fill(body)).encode()
        request = urllib.request.Request(self.server + self.fill(step["path"]), data, method=method)
        if step.get("as"):
            request.add_header("Authorization", "Bearer " + self.fill(step["as"]))
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        request.add_header("Content-Type", kind)
        request.add_header("Accept", "application/json")
        for name, value in step.get("headers", {}).items():
            request.add_header(name, self.fill(value))
        try:
            with urllib.request.urlopen(request, context=self.tls) as answer:
                status, text, headers = answer.status, answer.read(), answer.headers
        except urllib.error.HTTPError as error:
            status, text, headers = error.code, error.read(), error.headers
        try:
            answer = json.loads(text)
        except ValueError:
            return status, text.decode(errors="replace")
        if step.get("warnings"):
            texts = [value.split(" ", 2)[2] for value in headers.get_all("Warning", [])]
            answer["warnings"] = [json.loads(text) for text in texts]
            if step["warnings"] == "sorted":  # upstream's come in the random order of its maps
                answer["warnings"].sort()
        return status, answer

    def run(self, step):
        deadline = time.time() + UNTIL_SECONDS
        until = step.get("until")
        while True:
            status, answer = self.send(step)
            if until is None or at(answer, until["at"]) == self.fill(until["is"]):
                break
            if time.time() > deadline:
                return {"name": step["name"], "error": "never became what is waited for",
                        "answer": masked(answer)}
            time.sleep(0.1)
        for name, path in step.get("keep", {}).items():
            self.kept[name] = at(answer, path)
        if "show" in step and status < 300:
            shown = step["show"] + ([["warnings"]] if step.get("warnings") else [])
            answer = {".".join(map(str, path)): at(answer, path) for path in shown}
        return {"name": step["name"], "status": status, "answer": masked(answer)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    parser.add_argument("--golden")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("scenario")
    options = parser.parse_args()
    with open(options.scenario, encoding="utf-8") as file:
        steps = json.load(file)
    replay = Replay(options.server)
    answers = [replay.run(step) for step in steps]
    if options.record or not options.golden:
        text = json.dumps(answers, indent=1, sort_keys=True) + "\n"
        if not options.golden:
            sys.stdout.write(text)
            return 0
        with open(options.golden, "w", encoding="utf-8") as file:
            file.write(text)
        return 0
    with open(options.golden, encoding="utf-8") as file:
        wanted = json.load(file)
    failed = abs(len(answers) - len(wanted))
    for answer, expected in zip(answers, wanted):
        if answer == expected:
            continue
        failed += 1
        print("FAIL", answer["name"])
        print("  wanted", json.dumps(expected, sort_keys=True))
        print("  got   ", json.dumps(answer, sort_keys=True))
    print(f"{len(answers) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
