"""Server-side apply: several managers with parts of one object; managed fields are compared, too."""
import copy

from . import mutate
from .cases import case, get, patch, post, put

KEYS = ('name', 'type', 'uid', 'key', 'driver', 'pool', 'device', 'shareID', 'containerPort', 'protocol', 'port', 'ip', 'mountPath', 'topologyKey', 'whenUnsatisfiable', 'conditionType', 'operator', 'resource', 'apiGroup', 'kind', 'counterSet',
        'deviceClassName', 'image', 'expression', 'cel', 'exactly', 'request')


def part(rng, value, share):
    """A random part of a value; list items keep what identifies them."""
    if isinstance(value, dict):
        return {k: part(rng, v, share) for k, v in value.items() if k in KEYS or rng.random() < share}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [part(rng, v, share) for v in value if rng.random() < 0.8]
    return copy.deepcopy(value)


def tweak(rng, body, roots):
    """Changes one leaf to another valid-looking value of its type."""
    leaves = [p for p in mutate.walk(body) if p[0] in roots and len(p) > 1 and isinstance(mutate.at(body, p), (str, int, bool)) and p[-1] not in KEYS]
    if not leaves:
        return body
    path = rng.choice(leaves)
    v = mutate.at(body, path)
    return mutate.put(body, path, not v if isinstance(v, bool) else v + 1 if isinstance(v, int) else v + rng.choice(['1', 'x']))


def random_apply(rng, kinds):
    kind = rng.choice(kinds)
    whole = kind.object(kind.full, metadata={'labels': {'a': '1', 'b': '2'}, 'annotations': {'x': 'y'}, 'finalizers': ['example.com/f', 'example.com/g'],
                                             'ownerReferences': [{'apiVersion': 'v1', 'kind': 'Pod', 'name': 'o', 'uid': 'u'}]})
    roots = [r for r in whole if r not in ('apiVersion', 'kind')]

    def piece(share):
        body = {k: part(rng, v, share) if k in roots else v for k, v in whole.items()}
        body['metadata'] = dict(part(rng, whole['metadata'], 0.5), name=kind.name)
        return body

    steps = []
    first = rng.choice(['apply', 'create', 'create-part'])
    if first == 'apply':
        steps.append(patch(kind, 'apply', whole, query='fieldManager=m1'))
    else:
        steps.append(post(kind, whole if first == 'create' else piece(0.9), 'fieldManager=creator'))
    for _ in range(rng.choice([2, 3, 4])):
        manager = rng.choice(['m1', 'm2', 'm3'])
        force = rng.choice(['', '', '&force=true'])
        how = rng.choice(['apply', 'apply', 'apply', 'tweaked', 'tweaked', 'merge', 'strategic', 'put', 'same', 'status'])
        if how == 'status' and not kind.status:
            how = 'apply'
        if how == 'apply':
            steps.append(patch(kind, 'apply', piece(rng.choice([0.3, 0.6, 0.95])), query='fieldManager=' + manager + force))
        elif how == 'tweaked':
            steps.append(patch(kind, 'apply', tweak(rng, piece(0.8), roots), query='fieldManager=' + manager + force))
        elif how == 'same':
            steps.append(patch(kind, 'apply', whole, query='fieldManager=' + manager + force))
        elif how == 'status':
            body = {'apiVersion': kind.api_version, 'kind': kind.kind, 'metadata': {'name': kind.name}, 'status': part(rng, kind.status, 0.9)}
            steps.append(patch(kind, 'apply', body, 'status', 'fieldManager=' + manager + force))
        elif how == 'put':
            steps.append(put(kind, tweak(rng, whole, roots), query='fieldManager=' + manager))
        else:
            labels = {'labels': {rng.choice('abc'): rng.choice(['1', '9', None])}}
            steps.append(patch(kind, how, {'metadata': labels}, query='fieldManager=' + manager))
    steps.append(get(kind))
    return case('apply/' + kind.key, '%06d' % rng.randrange(10**6), kind, steps)
