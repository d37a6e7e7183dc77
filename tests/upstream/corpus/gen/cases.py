"""Families of cases. Each is a function of (random, kinds) that yields cases without end or once."""
import copy
import json

from . import mutate
from .objects import NS

NAMESPACE = {'method': 'POST', 'path': '/api/v1/namespaces', 'body': {'metadata': {'name': NS}}, 'setup': True}
PATCHES = {'merge': 'application/merge-patch+json', 'strategic': 'application/strategic-merge-patch+json',
           'json': 'application/json-patch+json', 'apply': 'application/apply-patch+yaml'}


def case(group, name, kind, steps):
    first = [NAMESPACE] if kind is None or kind.namespaced else []
    return {'group': group, 'id': '%s/%s' % (group, name), 'steps': first + steps}


def post(kind, body, query='', **more):
    return dict({'method': 'POST', 'path': kind.path(query=query)}, **dict(content(body), **more))


def put(kind, body, sub=None, query='', **more):
    return dict({'method': 'PUT', 'path': kind.path(kind.name, sub, query)}, **dict(content(body), **more))


def patch(kind, form, body, sub=None, query='', **more):
    return dict({'method': 'PATCH', 'path': kind.path(kind.name, sub, query), 'contentType': PATCHES[form]}, **dict(content(body), **more))


def get(kind, sub=None, query='', name=True, **more):
    return dict({'method': 'GET', 'path': kind.path(kind.name if name else None, sub, query)}, **more)


def delete(kind, body=None, query='', **more):
    return dict({'method': 'DELETE', 'path': kind.path(kind.name, None, query)}, **dict(content(body) if body is not None else {}, **more))


def content(body):
    return {'raw': body} if isinstance(body, str) else {'body': body}


def nested(path, value):
    """{a: {b: value}} for a path of map keys."""
    for p in reversed(path):
        value = {p: value}
    return value


# --- One changed place

def places(kind, root):
    """The places of `root` ('spec', 'status', 'metadata', or a top-level field) in the full object."""
    return [p for p in mutate.walk(kind.object(kind.full, kind.status)) if p[0] == root]


def roots(kind):
    return [r for r in kind.full if r not in ('apiVersion', 'kind')]


def mutated_create(kind, path, name, value, validation):
    body = mutate.apply_change(kind.object(kind.full), path, value)
    query = 'fieldValidation=' + validation if validation else ''
    return case('create/' + kind.key, '%s-%s%s' % (mutate.name_of(path), name, '-' + validation if validation else ''), kind, [post(kind, body, query)])


def mutated_status(kind, path, name, value, form):
    whole = kind.object(kind.full, kind.status)
    setup = post(kind, kind.object(kind.full), setup=True)
    body = mutate.apply_change(whole, path, value)
    if form == 'merge':
        body = {'status': body.get('status')}
        step = patch(kind, 'merge', body, 'status')
    elif form == 'after':  # a change of a status that is there
        step = put(kind, body, 'status')
        return case('status/' + kind.key, '%s-%s-after' % (mutate.name_of(path), name), kind, [setup, put(kind, whole, 'status'), step])
    else:
        step = put(kind, body, 'status')
    return case('status/' + kind.key, '%s-%s-%s' % (mutate.name_of(path), name, form), kind, [setup, step])


def mutated_update(kind, path, name, value, form):
    old = kind.object(kind.full)
    new = mutate.apply_change(old, path, value)
    setup = post(kind, old, setup=True)
    if form == 'put':
        new['metadata']['resourceVersion'] = '{{%d.metadata.resourceVersion}}' % (1 if kind.namespaced else 0)
        step = put(kind, new)
    elif form == 'put-blind':
        step = put(kind, new)
    elif form == 'json':
        pointer = '/' + '/'.join(str(p).replace('~', '~0').replace('/', '~1') for p in path)
        op = {'op': 'remove', 'path': pointer} if value is ... else {'op': 'replace', 'path': pointer, 'value': value}
        step = patch(kind, 'json', [op])
    else:
        keys = path
        while keys and not all(isinstance(k, str) for k in keys):
            keys = keys[:-1]
        if not keys:
            return None
        try:
            inner = mutate.at(new, keys)
        except (KeyError, IndexError, TypeError):
            inner = None
        body = nested(keys, inner)
        if form == 'apply':
            body = dict({'apiVersion': kind.api_version, 'kind': kind.kind}, **body)
        step = patch(kind, form, body, query='fieldManager=m1&force=true' if form == 'apply' else '')
    return case('update/' + kind.key, '%s-%s-%s' % (mutate.name_of(path), name, form), kind, [setup, step])


def duplicate_key(kind, path, validation):
    raw = mutate.raw_with_duplicate(kind.object(kind.full), path)
    if raw is None:
        return None
    return case('duplicate/' + kind.key, '%s-%s' % (mutate.name_of(path), validation or 'none'), kind,
                [post(kind, raw, 'fieldValidation=' + validation if validation else '')])


def dry(c):
    """The create of a case without its effect, in a namespace that is always there: one request."""
    step = copy.deepcopy(c['steps'][-1])
    step['path'] = step['path'].replace('/namespaces/' + NS, '/namespaces/default') + '?dryRun=All'
    return dict(c, steps=[step])


def systematic(kinds):
    """Every change of every place: creates without effect, and writes of the status."""
    for kind in kinds:
        for root in roots(kind):
            for path in places(kind, root):
                for name, value in mutate.changes(kind.object(kind.full), path):
                    yield dry(mutated_create(kind, path, name, value, None))
        if kind.status:
            for path in places(kind, 'status'):
                for name, value in mutate.changes(kind.object(kind.full, kind.status), path):
                    yield mutated_status(kind, path, name, value, 'put')


def random_create(rng, kinds):
    kind = rng.choice(kinds)
    path = rng.choice(places(kind, rng.choice(roots(kind))) or [('metadata', 'name')])
    name, value = rng.choice(list(mutate.changes(kind.object(kind.full), path)))
    validation = rng.choice([None, None, None, 'Strict', 'Warn', 'Ignore'])
    return mutated_create(kind, path, name, value, validation)


def random_two(rng, kinds):
    """Two changes at once: order of faults, and which of them hide others."""
    kind = rng.choice(kinds)
    body, names = kind.object(kind.full), []
    for _ in range(rng.choice([2, 2, 3])):
        path = rng.choice([p for p in mutate.walk(body) if len(p) > 1] or [('metadata', 'name')])
        name, value = rng.choice(list(mutate.changes(body, path)))
        body = mutate.apply_change(body, path, value)
        names.append('%s-%s' % (mutate.name_of(path), name))
    return case('several/' + kind.key, '+'.join(names), kind, [post(kind, body)])


def random_status(rng, kinds):
    kind = rng.choice([k for k in kinds if k.status])
    path = rng.choice(places(kind, 'status'))
    name, value = rng.choice(list(mutate.changes(kind.object(kind.full, kind.status), path)))
    return mutated_status(kind, path, name, value, rng.choice(['put', 'put', 'merge', 'after']))


def random_update(rng, kinds):
    kind = rng.choice(kinds)
    path = rng.choice(places(kind, rng.choice(roots(kind) + ['metadata'])) or [('metadata', 'name')])
    name, value = rng.choice(list(mutate.changes(kind.object(kind.full), path)))
    return mutated_update(kind, path, name, value, rng.choice(['put', 'put', 'put-blind', 'json', 'merge', 'strategic', 'apply']))


def random_duplicate(rng, kinds):
    kind = rng.choice(kinds)
    path = rng.choice([p for p in mutate.walk(kind.object(kind.full)) if isinstance(p[-1], str)])
    return duplicate_key(kind, path, rng.choice([None, 'Strict', 'Warn', 'Ignore']))


# --- Metadata

METADATA = {
    'labels': {'app': 'a', 'example.com/l': 'V_1.x'}, 'annotations': {'example.com/a': 'any \u00fc'}, 'finalizers': ['example.com/f'],
    'ownerReferences': [{'apiVersion': 'v1', 'kind': 'Pod', 'name': 'o', 'uid': 'u', 'controller': True, 'blockOwnerDeletion': True}],
    'generateName': 'gen-', 'namespace': NS, 'resourceVersion': '', 'uid': 'x-1', 'generation': 3, 'creationTimestamp': '2020-01-01T00:00:00Z',
    'deletionTimestamp': '2020-01-01T00:00:00Z', 'deletionGracePeriodSeconds': 5, 'selfLink': '/x', 'managedFields': []}


def random_metadata(rng, kinds):
    kind = rng.choice(kinds)
    metadata = {k: copy.deepcopy(METADATA[k]) for k in rng.sample(sorted(METADATA), rng.choice([1, 2, 3]))}
    body = kind.object(kind.minimal, metadata=metadata)
    path = rng.choice([p for p in mutate.walk(body) if p[0] == 'metadata' and len(p) > 1])
    name, value = rng.choice(list(mutate.changes(body, path)) + [('as-is', mutate.at(body, path))] * 5)
    changed = mutate.apply_change(body, path, value)
    label = '%s-%s-%s' % ('+'.join(sorted(metadata)), mutate.name_of(path[1:]), name)
    if rng.random() < 0.6:
        return case('metadata/' + kind.key, label, kind, [post(kind, changed)])
    changed['metadata'].setdefault('name', kind.name)
    form = rng.choice(['put', 'merge', 'strategic'])
    first = post(kind, kind.object(kind.minimal, metadata={k: v for k, v in metadata.items() if k in ('labels', 'annotations', 'finalizers', 'ownerReferences')}), setup=True)
    step = put(kind, changed) if form == 'put' else patch(kind, form, {'metadata': changed['metadata']})
    return case('metadata/' + kind.key, label + '-' + form, kind, [first, step])


# --- Bodies, types, options

def random_request(rng, kinds):
    kind = rng.choice(kinds)
    body = kind.object(kind.minimal)
    text = json.dumps(body)
    choices = {
        'api-version': lambda: [post(kind, dict(body, apiVersion=rng.choice(['v1', 'v2', 'resource.k8s.io/v1', 'resource.k8s.io/v1beta1', 'resource.k8s.io/v9', 'apps/v1', '', 'a/b/c', 'x.y/v1'])))],
        'kind': lambda: [post(kind, dict(body, kind=rng.choice(['Pod', 'ResourceClaim', 'DeviceClass', 'Nothing', '', 'List', kind.kind + 'List', kind.kind.lower()])))],
        'no-type': lambda: [post(kind, {k: v for k, v in body.items() if k not in rng.choice([('apiVersion',), ('kind',), ('apiVersion', 'kind')])})],
        'list': lambda: [post(kind, {'apiVersion': kind.api_version, 'kind': kind.kind + 'List', 'items': [body]})],
        'broken': lambda: [post(kind, rng.choice([text[:-1], text + '}', text + text, text.replace(':', ';', 1), text.replace('"', "'"), '[' + text + ']', '"x"', '1', 'null', '{}', ' ', text[:len(text) // 2], text.replace('{', '{,', 1), '\ufeff' + text]))],
        'yaml': lambda: [post(kind, rng.choice(['apiVersion: %s\nkind: %s\nmetadata:\n  name: %s\n' % (kind.api_version, kind.kind, kind.name), 'a: b: c\n', '- a\n', 'a: [1\n', '\tx: 1\n', text]), contentType='application/yaml')],
        'content-type': lambda: [post(kind, body, contentType=rng.choice(['text/plain', 'application/xml', 'application/json; charset=utf-8', 'application/json;foo=bar', 'application/cbor', 'application/vnd.kubernetes.protobuf', 'application/merge-patch+json', 'json', '*/*', 'application/']))],
        'accept': lambda: [post(kind, body, headers={'Accept': rng.choice(['text/plain', 'application/xml', 'application/json;as=Table;g=meta.k8s.io;v=v1', 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1', '*/*', 'application/*', 'application/json;q=0', 'text/html,application/json'])})],
        'dry-run': lambda: [post(kind, body, 'dryRun=' + rng.choice(['All', 'all', '', 'None', 'All&dryRun=All'])), get(kind)],
        'field-manager': lambda: [post(kind, body, 'fieldManager=' + rng.choice(['', 'm', 'x' * 128, 'x' * 129, '%0a', 'a%00b', '%C3%BC']))],
        'field-validation': lambda: [post(kind, dict(body, zz=1), 'fieldValidation=' + rng.choice(['strict', 'Strict', 'Warn', 'Ignore', '', 'Foo', 'Strict,Warn']))],
        'query': lambda: [post(kind, body, rng.choice(['pretty=true', 'pretty=x', 'timeout=1s', 'timeout=x', 'timeout=-1s', 'timeout=100s', 'foo=bar', 'dryRun=All&pretty=false', 'force=true', 'resourceVersion=5', 'limit=x']))],
        'method': lambda: [{'method': rng.choice(['POST', 'PUT', 'PATCH', 'DELETE']), 'path': rng.choice([kind.path(), kind.path(kind.name), kind.path(kind.name, 'status'), kind.path(kind.name, 'scale'), kind.path(kind.name, 'foo')]), 'body': body}],
        'exists': lambda: [post(kind, body, setup=True), post(kind, body)],
        'put-new': lambda: [put(kind, rng.choice([body, dict(body, metadata={'name': 'other'}), dict(body, metadata={}), dict(body, metadata=dict(body['metadata'], uid='u-9')), dict(body, metadata=dict(body['metadata'], resourceVersion='5'))]))],
        'put-old': lambda: [post(kind, body, setup=True), put(kind, dict(body, metadata=dict(body['metadata'], **rng.choice([{'resourceVersion': '1'}, {'resourceVersion': 'x'}, {'resourceVersion': '0'}, {'uid': 'u-9'}, {'namespace': 'other'}, {'name': 'other'}, {'resourceVersion': '-1'}, {'generateName': 'x-'}]))))],
        'patch-missing': lambda: [patch(kind, rng.choice(['json', 'merge', 'strategic']), rng.choice([{}, [], {'metadata': {'labels': {'a': 'b'}}}]))],
        'patch-body': lambda: [post(kind, body, setup=True), patch(kind, rng.choice(['json', 'merge', 'strategic', 'apply']), rng.choice(['', '{', '[]', '{}', 'null', '1', '"a"', '[{}]', '[{"op":"x","path":"/a"}]', 'a: b', '{"metadata":null}', '{"apiVersion":"v9"}', '{"kind":"Other"}', '{"metadata":{"name":"z"}}', '{"metadata":{"namespace":"z"}}', '{"metadata":{"resourceVersion":"1"}}', '{"metadata":{"uid":"z"}}', '{"$patch":"delete"}', '{"$patch":"replace"}', '{"metadata":{"labels":{"$patch":"replace","a":"b"}}}']),
                                                                              query=rng.choice(['', 'fieldManager=m', 'fieldManager=m&force=true', 'fieldManager=m&fieldValidation=Strict', 'dryRun=All']))],
    }
    name = rng.choice(sorted(choices))
    return case('request/' + name, '%s-%06d' % (kind.key, rng.randrange(10**6)), kind, choices[name]())


def random_delete(rng, kinds):
    kind = rng.choice(kinds)
    n = 1 if kind.namespaced else 0
    metadata = rng.choice([{}, {'finalizers': ['example.com/f']}])
    options = rng.choice([
        None, {}, {'gracePeriodSeconds': 0}, {'gracePeriodSeconds': 30}, {'gracePeriodSeconds': -1}, {'propagationPolicy': 'Foreground'}, {'propagationPolicy': 'Orphan'}, {'propagationPolicy': 'Background'},
        {'propagationPolicy': 'x'}, {'orphanDependents': True}, {'orphanDependents': True, 'propagationPolicy': 'Orphan'}, {'preconditions': {'uid': 'u'}}, {'preconditions': {'resourceVersion': '1'}},
        {'preconditions': {'uid': '{{%d.metadata.uid}}' % n}}, {'preconditions': {'resourceVersion': '{{%d.metadata.resourceVersion}}' % n}}, {'dryRun': ['All']}, {'dryRun': ['x']}, {'unknown': 1},
        {'kind': 'DeleteOptions', 'apiVersion': 'v1'}, {'kind': 'DeleteOptions', 'apiVersion': 'resource.k8s.io/v1'}, {'kind': 'Pod', 'apiVersion': 'v1'}, {'gracePeriodSeconds': '1'}, {'ignoreStoreReadErrorWithClusterBreakingPotential': True}])
    query = rng.choice(['', '', '', 'gracePeriodSeconds=0', 'propagationPolicy=Foreground', 'dryRun=All', 'propagationPolicy=x', 'gracePeriodSeconds=x', 'orphanDependents=true'])
    steps = [post(kind, kind.object(kind.minimal, metadata=metadata), setup=True), delete(kind, options, query), get(kind)]
    steps.append(rng.choice([delete(kind, {}), put(kind, kind.object(kind.minimal, metadata=metadata)), patch(kind, 'merge', {'metadata': {'labels': {'a': 'b'}}}),
                             patch(kind, 'merge', {'metadata': {'finalizers': ['example.com/f', 'example.com/g']}}), patch(kind, 'merge', {'metadata': {'finalizers': None}})]))
    return case('delete/' + kind.key, '%06d' % rng.randrange(10**6), kind, steps)
