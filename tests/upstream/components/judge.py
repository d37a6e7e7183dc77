#!/usr/bin/env python3
"""Finds what should not be in the log of an upstream component, or in the answers it got.

usage: judge.py log EXPECTED LOG                lines of klog with severity W, E or F
       judge.py audit EXPECTED AUDIT COMPONENT  answers of 400 and more to the component

EXPECTED has one regular expression a line, with the reason above it in a comment. Prints what none of
them matches; exits 1 if there is something, or if nothing at all was recorded.
"""
import json
import re
import sys


def expected(path):
    with open(path, encoding="utf-8") as lines:
        return [re.compile(line.rstrip("\n")) for line in lines if line.strip() and line[0] != "#"]


def complaints(path):
    """The component's own words, without time and process."""
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            match = re.match(r"([IWEF])\d{4} \S+ +\d+ (.*)", line)
            if match and match[1] in "WEF":
                yield f"{match[1]} {match[2]}"
            elif not match and re.match(r"panic:|fatal error:|Error:", line):
                yield line.rstrip("\n")


def answers(path, component):
    """One line per answer that is an error: code, verb, resource and message."""
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            event = json.loads(line)
            if event["stage"] != "ResponseComplete" or not event.get("userAgent", "").startswith(component):
                continue
            status = event.get("responseStatus", {})
            reference = event.get("objectRef", {})
            resource = "/".join(filter(None, [reference.get("resource", event["requestURI"]), reference.get("subresource")]))
            yield status.get("code", 0), f'{status.get("code", 0)} {event["verb"]} {resource}: {status.get("message", "")}'


def main():
    mode, patterns, path = sys.argv[1], expected(sys.argv[2]), sys.argv[3]
    if mode == "log":
        found = list(complaints(path))
        with open(path, encoding="utf-8", errors="replace") as text:
            empty = not text.read(1)
    else:
        every = list(answers(path, sys.argv[4]))
        empty = not every
        found = [text for code, text in every if code >= 400]
    if empty:
        sys.exit(f"nothing is recorded in {path}")
    unexpected = [text for text in found if not any(p.search(text) for p in patterns)]
    for text in dict.fromkeys(unexpected):
        print(text[:600])
    sys.exit(1 if unexpected else 0)


if __name__ == "__main__":
    main()
