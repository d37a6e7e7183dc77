#!/usr/bin/env python3
"""Runs the commands of commands.txt with a kubectl and writes a masked transcript.

usage: scenario.py --kubectl PATH --kubeconfig FILE [--golden FILE]

Without --golden the transcript goes to standard output (for recording). With it, every command's output is
compared with the recorded one and the run ends with 'N passed, N failed'. Masked are what no two runs share
(times, ages, uids, resource versions, ports, addresses) and the prose of field descriptions.
"""
import argparse
import difflib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
COMMAND_SECONDS_MAX = 60

MASKS = [
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"), "<uid>"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| [+-]\d{4})?"), "<time>"),
    (re.compile(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}"), "<time>"),
    (re.compile(r'(resourceVersion: )"\d+"'), r"\1<rv>"),
    (re.compile(r"(Resource Version: +)\d+"), r"\1<rv>"),
    (re.compile(r"(?<![\w.:/-])(\d+[dhms]){1,2}(?![\w.:/-])"), "<age>"),
    (re.compile(r"/tmp/(LIVE|MERGED)-\d+"), r"/tmp/\1-<n>"),
    (re.compile(r"(127\.0\.0\.1|localhost|\[::1\]):\d+"), "<server>"),
    (re.compile(r"https?://<server>"), "<server>"),
    (re.compile(r"\b10\.(96|0)\.\d+\.\d+\b"), "<ip>"),
    (re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]+"), "<token>"),
    (re.compile(r"^(v1\.\d+\.\d+|Kustomize Version: .*|Client Version: .*)$", re.M), "<version>"),
    (re.compile(r"\bdebugger-\w{5}\b"), "debugger-<rand>"),
    # Lines that kubectl logs when a time-out of its own races with an answer.
    (re.compile(r"^[EW]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ .*\n", re.M), ""),
]
FIELD = re.compile(r"^( +[\w$-]+\t<.*|GROUP:.*|KIND:.*|VERSION:.*|FIELD.*|RESOURCE:.*|FIELDS:.*)$")


def mask(command, text):
    for pattern, replacement in MASKS:
        text = pattern.sub(replacement, text)
    if command.startswith("explain"):  # descriptions are prose, and ours
        text = "\n".join(line for line in text.splitlines() if FIELD.match(line))
    # Widths of columns follow the masked values.
    return "\n".join(re.sub(r"  +", "  ", line.rstrip()) for line in text.splitlines())


def commands():
    with open(os.path.join(HERE, "commands.txt"), encoding="utf-8") as lines:
        return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def run(kubectl, kubeconfig, command, folder):
    # Shell words, but JSON arguments keep their quotes.
    words = command.split(" -p ")
    arguments = shlex.split(words[0]) + (["-p", words[1]] if len(words) > 1 else [])
    done = subprocess.run([kubectl, "--kubeconfig", kubeconfig, *arguments], cwd=folder,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=COMMAND_SECONDS_MAX,
                          env={**os.environ, "HOME": folder, "KUBECTL_EXTERNAL_DIFF": ""})
    return f"{mask(command, done.stdout)}\n[rc={done.returncode}]\n"


def read_golden(path):
    golden = {}
    with open(path, encoding="utf-8") as transcript:
        for part in re.split(r"^\$ kubectl ", transcript.read(), flags=re.M)[1:]:
            command, _, output = part.partition("\n")
            golden.setdefault(command, []).append(output)
    return golden


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kubectl", required=True)
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--golden")
    arguments = parser.parse_args()
    golden = read_golden(arguments.golden) if arguments.golden else None
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(os.path.join(HERE, "manifests"), folder, dirs_exist_ok=True)
        for command in commands():
            try:
                output = run(arguments.kubectl, arguments.kubeconfig, command, folder)
            except subprocess.TimeoutExpired:
                output = f"no answer within {COMMAND_SECONDS_MAX} s\n"
            if golden is None:
                sys.stdout.write(f"$ kubectl {command}\n{output}")
                continue
            expected = golden[command].pop(0) if golden.get(command) else "not recorded\n"
            if output == expected:
                passed += 1
                continue
            failed += 1
            print(f"FAIL kubectl {command}")
            print("\n".join(difflib.unified_diff(expected.splitlines(), output.splitlines(),
                                                 "recorded", "now", lineterm="")))
    if golden is not None:
        print(f"{passed} passed, {failed} failed")
        return 1 if failed else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
