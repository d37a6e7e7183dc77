#!/usr/bin/env python3
"""Writes src/cel/syntax/grammar_states.inc from cel-go's CEL.interp: what the states of its generated
parser expect. usage: grammar_states.py PATH_TO_CEL.interp > grammar_states.inc"""
import sys

text = open(sys.argv[1]).read()
numbers = iter(eval(text[text.index("atn:") + 4:].strip()))
take = lambda: next(numbers)
EPSILON, EOF = 1, 1 << 63
assert (take(), take(), take()) == (4, 1, 37)
states = []
for _ in range(take()):
    kind = take()
    state = {"kind": kind, "rule": take(), "edges": [], "end": None}
    if kind in (3, 4, 5, 12):
        state["end"] = take()
    states.append(state)
for _ in range(2):  # non-greedy and precedence states
    for _ in range(take()):
        take()
for _ in range(take()):  # rules
    take()
for _ in range(take()):  # modes
    take()
sets = []
for _ in range(take()):
    count, eof = take(), take()
    mask = EOF if eof else 0
    for _ in range(count):
        low, high = take(), take()
        for token in range(low, high + 1):
            mask |= 1 << token
    sets.append(mask)
for _ in range(take()):
    source, target, kind, a, b, c = (take() for _ in range(6))
    states[source]["edges"].append((target, kind, a, b, c))


def label(edge):
    target, kind, a, b, c = edge
    if kind == 5:  # atom; c says that it is EOF
        return EOF if c else 1 << a
    if kind == 2:
        return sum(1 << token for token in range(a, b + 1))
    return sets[a]


def look(number, seen, calls):
    """Tokens that can come next within the rule; EPSILON when the rule can end."""
    if states[number]["kind"] == 7:
        return EPSILON
    if number in seen:
        return 0
    seen.add(number)
    mask = 0
    for edge in states[number]["edges"]:
        target, kind = edge[0], edge[1]
        if kind == 3:  # a rule: its start is edge[2], the state behind it is target
            if edge[2] in calls:
                continue
            inner = look(edge[2], set(), calls | {edge[2]})
            mask |= inner & ~EPSILON
            if inner & EPSILON:
                mask |= look(target, seen, calls)
        elif kind in (1, 4, 6, 10):
            mask |= look(target, seen, calls)
        else:
            mask |= label(edge)
    return mask


print("// Made by tests/upstream/cel/grammar_states.py from cel-go's grammar (CEL.interp).")
print("// {kind, first target, state after a rule, tokens that can come next}")
for number, state in enumerate(states):
    edges = state["edges"]
    first = edges[0] if edges else None
    kind = {3: "kBlock", 4: "kBlock", 5: "kBlock", 10: "kBlock", 9: "kLoop", 11: "kLoop"}.get(state["kind"], "kPlain")
    target = (first[2] if first[1] == 3 else first[0]) if first else 0
    follow = first[0] if first and first[1] == 3 else 0
    print("{%s, %d, %d, 0x%xULL}," % (kind, target, follow, look(number, set(), frozenset())))
