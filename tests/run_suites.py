#!/usr/bin/env python3
"""Runs the registered tests of a build folder and adds up their cases.

usage: run_suites.py BUILD_DIR [--jobs N] [--match REGEX]

Every test that CTest knows is run. A googletest program counts its cases; any other program counts
by its last line of the form 'N passed, N failed', or as one case by its exit status. Failing programs'
output is printed. Ends with the line 'N passed, N failed' and exits 1 when anything failed.
"""
import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import time

PLAIN = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", re.M)
GTEST_RAN = re.compile(r"^\[==========\] (\d+) tests? from .* ran\.", re.M)
GTEST_FAILED = re.compile(r"^\[  FAILED  \] (\d+) tests?, listed below:", re.M)
GTEST_SKIPPED = re.compile(r"^\[  SKIPPED \] (\d+) tests?, listed below:", re.M)


def registered(build_dir):
    listing = subprocess.run(["ctest", "--show-only=json-v1"], cwd=build_dir, check=True,
                             capture_output=True, text=True).stdout
    for test in json.loads(listing)["tests"]:
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        yield {"name": test["name"], "command": test.get("command"),
               "timeout": float(properties.get("TIMEOUT", 300)),
               "cwd": properties.get("WORKING_DIRECTORY", build_dir)}


def count(output, exit_status):
    """(passed, failed) of one program's run."""
    first = lambda pattern: int(m.group(1)) if (m := pattern.search(output)) else 0
    ran = first(GTEST_RAN)
    if ran:
        failed = first(GTEST_FAILED)
        if exit_status != 0 and failed == 0:
            failed = 1  # a crash or a sanitizer's report after the last case
        return ran - failed - first(GTEST_SKIPPED), failed
    plain = PLAIN.findall(output)
    if plain:
        passed, failed = map(int, plain[-1][:2])
        return passed, failed if exit_status == 0 or failed else 1
    return (1, 0) if exit_status == 0 else (0, 1)


def skipped(output):
    """How many cases of a program could not be run here."""
    if m := GTEST_SKIPPED.search(output):
        return int(m.group(1))
    plain = PLAIN.findall(output)
    return int(plain[-1][2] or 0) if plain else 0


def run(test):
    start = time.monotonic()
    if not test["command"]:
        return test, 0, 1, "the program was not built", 0.0
    try:
        done = subprocess.run(test["command"], cwd=test["cwd"], timeout=test["timeout"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace")
        output, status = done.stdout, done.returncode
    except subprocess.TimeoutExpired as late:
        output = (late.stdout or b"").decode(errors="replace") + "\ntimed out"
        status = -1
    except OSError as error:
        output, status = str(error), -1
    passed, failed = count(output, status)
    return test, passed, failed, output, time.monotonic() - start


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build_dir")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--match", default="")
    arguments = parser.parse_args()
    tests = [t for t in registered(arguments.build_dir) if re.search(arguments.match, t["name"])]
    total_passed = total_failed = total_skipped = 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for future in concurrent.futures.as_completed([pool.submit(run, t) for t in tests]):
            test, passed, failed, output, seconds = future.result()
            total_passed += passed
            total_failed += failed
            left_out = skipped(output)
            total_skipped += left_out
            print(f"{'ok  ' if failed == 0 else 'FAIL'} {test['name']}: {passed} passed, "
                  f"{failed} failed, {f'{left_out} skipped, ' if left_out else ''}{seconds:.1f} s",
                  flush=True)
            for why in re.findall(r"^(?:skipped: .*|.*: Skipped\n.*)$", output, re.M):
                print(f"     {why}", flush=True)
            if failed:
                print(output[-20000:], flush=True)
    if total_passed + total_failed == 0:
        print("no test was found", file=sys.stderr)
        total_failed = 1
    if total_skipped:
        print(f"{total_skipped} skipped, for what this machine does not allow")
    print(f"{total_passed} passed, {total_failed} failed")
    return 1 if total_failed else 0


if __name__ == "__main__":
    sys.exit(main())
