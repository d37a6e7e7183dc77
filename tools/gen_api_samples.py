#!/usr/bin/env python3
"""Makes tests/api/samples.jsonl from the compatibility test data of upstream's modules.

usage: gen_api_samples.py k8s.io/api@v0.37.2/testdata/HEAD apiextensions-apiserver@v0.37.2/pkg/apis/testdata/HEAD

One line per kind: its object with every field set, as JSON and as Protobuf (base64).
"""
import base64
import json
import os
import sys

for folder in sys.argv[1:]:
    for name in sorted(os.listdir(folder)):
        if not name.endswith('.json') or 'after_roundtrip' in name:
            continue
        binary = os.path.join(folder, name[:-5] + '.pb')
        if not os.path.exists(binary):
            continue
        text = json.load(open(os.path.join(folder, name)))
        print(json.dumps({'name': name[:-5], 'json': text, 'protobuf': base64.b64encode(open(binary, 'rb').read()).decode()},
                         separators=(',', ':'), ensure_ascii=False))
