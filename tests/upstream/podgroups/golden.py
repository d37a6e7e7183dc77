#!/usr/bin/env python3
"""Prints what src/validation/golden_test.cc needs of a recording: golden.py GATES [REGEX] <recording

Of the cases that need no server, without those that admission has a say in (it fills in the priority).
"""
import json
import re
import sys

WANTED = re.compile(sys.argv[2] if len(sys.argv) > 2 else '')


def needs_admission(answer):
    return answer['status'] == 403 or any(c['field'] == 'spec.priority' and 'immutable' in c['message'] for c in answer.get('causes', []))


for line in sys.stdin:
    case = json.loads(line)
    if not case['id'].startswith('validation/') or not WANTED.search(case['id']) or any(map(needs_admission, case['expect'])):
        continue
    steps = [{k: s[k] for k in ('method', 'path', 'contentType', 'body') if k in s} for s in case['steps']]
    expect = [{k: a[k] for k in ('status', 'causes') if a.get(k)} for a in case['expect']]
    print(json.dumps({'id': case['id'].replace('validation', 'podgroups', 1), 'gates': sys.argv[1], 'steps': steps, 'expect': expect},
                     ensure_ascii=False, separators=(',', ':')))
