#!/usr/bin/env python3
"""Runs the programs that run.sh has built and compares what fails with what is known to.

usage: report.py FOLDER KNOWN [--write PAGE] [CONFIGURATION…]

KNOWN has a line per test that does not pass here: its name (or the beginning of names, ending in /),
two spaces, why. A known one that passes is a failure, too: its line must go.
"""
import os
import re
import subprocess
import sys
import tempfile

MINUTES_MAX = 15  # of one configuration
RESULT = re.compile(r"^ *--- (PASS|FAIL|SKIP): (\S+)")

# Name, program, and what selects it.
CONFIGURATIONS = [
    (name, "configurations.test", {"CONFIGURATIONS": f"^{name}$"})
    for name in ("default", "GA", "all", "compatibility-groups-without-consumable-capacity", "v1beta1", "v1beta2",
                 "disabled", "GA-1.36", "GA-1.35", "GA-opt-out-1.36")
] + [("ResourcePoolStatusRequest", "pools.test", {})]


def known_failures(path):
    with open(path, encoding="utf-8") as lines:
        pairs = (line.rstrip("\n").split("  ", 1) for line in lines if line.strip() and line[0] != "#")
        return {name: reason.strip() for name, reason in pairs}


def reason_of(name, known):
    for prefix, reason in known.items():
        if name == prefix or (prefix.endswith("/") and name.startswith(prefix)):
            return reason
    return None


def run(folder, name, program, selection, logs):
    """{test: PASS, FAIL or SKIP} of the innermost tests."""
    env = dict(os.environ, DRACHMA_LOGS=logs, **selection)
    log = os.path.join(logs, f"{name}.log")
    with open(log, "w", encoding="utf-8") as output:
        subprocess.run([os.path.join(folder, program), "-test.v", f"-test.timeout={MINUTES_MAX}m"],
                       cwd=os.path.join(folder, "dra"), env=env, stdout=output, stderr=subprocess.STDOUT, check=False)
    results = {}
    with open(log, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if match := RESULT.match(line):
                results[match[2]] = match[1]
    inner = {test: result for test, result in results.items()
             if not any(other.startswith(test + "/") for other in results)}
    return inner or {name: "FAIL"}


def page(results, known):
    """The Markdown page: a table of what passes by configuration, and one of what does not and why."""
    lines = ["# Upstream's integration tests", "",
             "`tests/upstream/integration/run.sh` runs `test/integration/dra` of Kubernetes 1.37.2 with this API server in",
             "place of kube-apiserver; upstream's scheduler and controllers work against it. This page is written by it",
             "(`WRITE=1`).", "", "| configuration | pass | do not | skipped by upstream |", "|---|---|---|---|"]
    for name, tests in results.items():
        count = [sum(1 for result in tests.values() if result == wanted) for wanted in ("PASS", "FAIL", "SKIP")]
        lines.append(f"| {name} | {count[0]} | {count[1]} | {count[2]} |")
    lines += ["", "## What does not pass", "", "| test | why |", "|---|---|"]
    for tests in results.values():
        for test, result in tests.items():
            if result == "FAIL":
                lines.append(f"| {test.removeprefix('TestDRA/')} | {reason_of(test, known) or 'not known'} |")
    lines += ["", "## What passes", ""]
    for name, tests in results.items():
        passing = {test.removeprefix("TestDRA/").removeprefix(name + "/").split("/")[0]
                   for test, result in tests.items() if result == "PASS"}
        if passing:
            lines.append(f"* **{name}**: {', '.join(sorted(passing))}")
    return "\n".join(lines) + "\n"


def main():
    arguments = sys.argv[1:]
    write = None
    if "--write" in arguments:
        at = arguments.index("--write")
        write = arguments[at + 1]
        del arguments[at:at + 2]
    folder, known = os.path.realpath(arguments[0]), known_failures(arguments[1])
    logs = tempfile.mkdtemp(prefix="drachma-integration-logs")
    results = {name: run(folder, name, program, selection, logs)
               for name, program, selection in CONFIGURATIONS if not arguments[2:] or name in arguments[2:]}
    passed = failed = 0
    for tests in results.values():
        for test, result in sorted(tests.items()):
            reason = reason_of(test, known)
            if (result == "FAIL") == (reason is not None):
                passed += result != "SKIP"
                continue
            failed += 1
            print(f"FAIL {test}" if result == "FAIL" else f"FAIL {test} passes, but is in the list of those that do not")
    if write:
        with open(write, "w", encoding="utf-8") as output:
            output.write(page(results, known))
    if failed:
        print(f"logs are in {logs}")
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
