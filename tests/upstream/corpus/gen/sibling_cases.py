"""Siblings of the handed cases: one of them with one thing changed, or filled from others of them."""
import copy
import gzip
import json
import os
import re

from . import mutate
from .cases import PATCHES

HANDED = os.path.join(os.path.dirname(__file__), '..', 'handed.jsonl.gz')
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|[A-Za-z_][A-Za-z_0-9]*|[0-9]+(?:\.[0-9]+)?|&&|\|\||[=!<>]=|\S')
VERSIONS = ('v1', 'v1beta2', 'v1beta1', 'v1alpha3')
QUERIES = ('fieldValidation=Strict', 'fieldValidation=Warn', 'fieldValidation=Ignore', 'dryRun=All', 'dryRun=All&fieldValidation=Strict', 'fieldManager=m', 'fieldManager=m&force=true', 'pretty=true')
_loaded = {}


def handed():
    """The cases, the values that stand under each key, and the tokens of the selectors."""
    if not _loaded:
        with gzip.open(HANDED, 'rt', encoding='utf-8') as f:
            cases = [{k: v for k, v in json.loads(line).items() if k != 'expect'} for line in f]
        values, tokens, last = {}, set(), {}
        for c in cases:
            for s in c['steps']:
                body = s.get('body')
                if isinstance(body, (dict, list)):
                    for path in mutate.walk(body):
                        v = mutate.at(body, path)
                        values.setdefault(path[-1] if isinstance(path[-1], str) else '[]', {})[json.dumps(v)[:4000]] = v
                        if path[-1] == 'expression' and isinstance(v, str) and len(v) < 300:
                            tokens.update(TOKEN.findall(v))
            end = c['steps'][-1]
            last.setdefault((re.sub(r'/v1(alpha|beta)?\d?/', '/', end['path'].split('?')[0]), end['method']), []).append(c)
        _loaded.update(cases=cases, values={k: list(v.values()) for k, v in values.items()}, tokens=sorted(tokens), last=last)
    return _loaded


def changed_expression(rng, text):
    tokens = TOKEN.findall(text)
    if not tokens:
        return 'true'
    for _ in range(rng.choice([1, 1, 2])):
        i = rng.randrange(len(tokens))
        how = rng.choice(['swap', 'swap', 'swap', 'drop', 'double', 'insert'])
        if how == 'drop' and len(tokens) > 1:
            del tokens[i]
        elif how == 'double':
            tokens.insert(i, tokens[i])
        elif how == 'insert':
            tokens.insert(i, rng.choice(handed()['tokens']))
        else:
            alike = [t for t in handed()['tokens'] if t[:1].isalpha() == tokens[i][:1].isalpha() and t[:1].isdigit() == tokens[i][:1].isdigit() and (t[:1] in '"\'') == (tokens[i][:1] in '"\'')]
            tokens[i] = rng.choice(alike or [tokens[i]])
    out = ''
    for t in tokens:
        out += (' ' if out[-1:].isalnum() and t[:1].isalnum() else '') + t
    return out


def changed_text(rng, text):
    i = rng.randrange(len(text)) if text else 0
    return rng.choice([text[:i] + text[i + 1:], text[:i] + text[i:i + 1] + text[i:], text[:i], text[:i] + rng.choice('{}[],:" \n\t0ax\\') + text[i:]])


def changed_body(rng, body):
    """A body with another value at one place: from a list of odd ones, or from another case."""
    places = list(mutate.walk(body))
    if not places:
        return body
    path = rng.choice(places)
    v = mutate.at(body, path)
    expressions = [p for p in places if p[-1] == 'expression' and isinstance(mutate.at(body, p), str)]
    if expressions and rng.random() < 0.8:
        path = rng.choice(expressions)
        text = mutate.at(body, path)
        if len(text) < 400:
            return mutate.put(body, path, changed_expression(rng, text))
    how = rng.choice(['odd', 'other', 'other', 'add', 'step'])
    if how == 'step' and isinstance(v, int) and not isinstance(v, bool):
        return mutate.put(body, path, v + rng.choice([-1, 1]))
    if how == 'add' and isinstance(v, dict) and v:
        key = rng.choice([k for k in handed()['values'] if k != '[]'])
        return mutate.put(body, path, dict(v, **{key: rng.choice(handed()['values'][key])}))
    if how == 'odd':
        return mutate.apply_change(body, path, rng.choice(list(mutate.changes(body, path)))[1])
    return mutate.put(body, path, rng.choice(handed()['values'].get(path[-1] if isinstance(path[-1], str) else '[]', [v])))


def random_sibling(rng, kinds):
    del kinds
    c = copy.deepcopy(rng.choice(handed()['cases']))
    how = rng.choice(['body'] * 12 + ['two'] * 4 + ['version', 'version', 'query', 'query', 'method', 'type', 'graft', 'graft', 'graft', 'raw'])
    s = rng.choice([s for s in c['steps'] if not s.get('setup')] or c['steps'])
    if 'raw' in s and how in ('body', 'two'):
        how = 'raw'
    if how in ('body', 'two') and isinstance(s.get('body'), (dict, list)):
        for _ in range(1 if how == 'body' else 2):
            s['body'] = changed_body(rng, s['body'])
    elif how == 'raw':
        s['raw'] = changed_text(rng, s['raw'] if 'raw' in s else json.dumps(s.pop('body', ''), ensure_ascii=False))
    elif how == 'version':
        new = rng.choice(VERSIONS)
        s['path'] = re.sub(r'/resource\.k8s\.io/[a-z0-9]+/', '/resource.k8s.io/%s/' % new, s['path'])
        if isinstance(s.get('body'), dict) and 'apiVersion' in s['body'] and rng.random() < 0.8:
            s['body']['apiVersion'] = 'resource.k8s.io/' + new
    elif how == 'query':
        s['path'] = s['path'].split('?')[0] + '?' + rng.choice(QUERIES)
    elif how == 'method':
        s['method'] = rng.choice(['POST', 'PUT', 'PATCH', 'DELETE', 'GET'])
    elif how == 'type' and 'body' in s:
        s['contentType'] = rng.choice(sorted(PATCHES.values()) + ['application/json', 'application/yaml', 'text/plain'])
    elif how == 'graft':  # the end of another case that goes to the same place
        key = (re.sub(r'/v1(alpha|beta)?\d?/', '/', c['steps'][-1]['path'].split('?')[0]), c['steps'][-1]['method'])
        c['steps'][-1] = dict(rng.choice(handed()['last'][key])['steps'][-1])
    else:
        return None
    c['id'] = 'sibling/%s/%06d' % (c['id'], rng.randrange(10**6))
    c['group'] = 'sibling/' + c['group']
    return c
