#!/usr/bin/env python3
"""Prints cases of API writes (the format of README.md, without answers): generate.py --seed S --count N

  --systematic   every change of every place of the resource.k8s.io kinds instead (some 20,000 cases)
  --group REGEX  only these groups
  --family NAME  only this family of gen/families.py
"""
import argparse
import json
import random
import re

from gen import families


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument('--seed', type=int, default=1)
    ap.add_argument('--count', type=int, default=2000)
    ap.add_argument('--systematic', action='store_true')
    ap.add_argument('--group', default='')
    ap.add_argument('--family', default='')
    a = ap.parse_args()
    rng = random.Random(a.seed)
    source = families.all_systematic() if a.systematic else families.random_cases(rng, a.family)
    seen, printed = set(), 0
    for c in source:
        if c is None or not re.search(a.group, c['group']) or c['id'] in seen:
            continue
        seen.add(c['id'])
        print(json.dumps(c, ensure_ascii=False))
        printed += 1
        if not a.systematic and printed >= a.count:
            break


if __name__ == '__main__':
    main()
