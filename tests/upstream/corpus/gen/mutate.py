"""Changes of one place of a valid object: missing, doubled, of another type, at and over limits."""
import copy
import json

LIST_SIZES = (2, 4, 5, 8, 9, 16, 17, 32, 33, 64, 65, 128, 129, 256, 257)
STRING_SIZES = (1, 62, 63, 64, 97, 128, 129, 253, 254, 256, 257, 1024, 1025, 32768, 32769)
STRINGS = (
    '', ' ', 'a b', 'UPPER', 'a.b', 'a..b', '.a', 'a.', 'a/b', '/a', 'a/', 'a/b/c', '-a', 'a-', 'a_b', '_a', 'ü', '日本', '0', 'a\nb', '*',
    'example.com/x', 'Example.com/x', 'example.com/X_y', 'example.com/', '-x.com/y', 'kubernetes.io/x', 'x.k8s.io/y', 'a' * 64 + '/b', 'a/' + 'b' * 64,
    'a/' + 'b' * 63, 'a.b/' + 'c' * 32, 'a.b/' + 'c' * 33, 'true', 'null', '1.2.3', 'v1.2.3', '1.2', '01.2.3', 'pods', 'In', 'Exists', 'NoSchedule', 'All',
    'metadata.name', '10.0.0.1', '10.0.0.1/8', '010.0.0.1/8', '::ffff:1.2.3.4/96', '2001:DB8::1/64', 'fe80::1', '00000000-0000-0000-0000-000000000000',
    '6E2F4BA0-8D3E-4B4E-9D0C-5C1C7AD7E5D1', '6e2f4ba08d3e4b4e9d0c5c1c7ad7e5d1', '%s', '"', '\\', '\t', '\u200b')
QUANTITIES = (
    '0', '-1', '1', '0.5', '1.5Gi', '1500m', '1u', '1n', '1p', '1e3', '1E3', '1E', '1Ki', '1ki', '1K', '1k', '1 Gi', 'Gi', '', '+1', '0x10', '1e-1',
    '1.0000000001', '9223372036854775807', '9223372036854775808', '123456789012345678901234567890', '1e30', '-0', '.5', '5.', '1__0', '12345678901234567890Ei', '41Gi', '3', '1Gi', 7, 1.5, True)
TIMES = ('', '2024-01-01', '2024-01-01T00:00:00', '2024-01-01T00:00:00+01:00', '2024-13-01T00:00:00Z', '2024-01-01T00:00:00.5Z', '2024-01-01t00:00:00z',
         '0001-01-01T00:00:00Z', '10000-01-01T00:00:00Z', 'now', None, 0)
NUMBERS = (0, 1, -1, 2, 3, 8, 32, 33, 100, 127, 128, 255, 256, 1000, 1001, 65535, 65536, 2**31 - 1, 2**31, -2**31, 2**31 + 1, 2**53 + 1, 2**63 - 1, 2**63, -2**63, 1.5, 1e3, '1', '')
OTHER_TYPES = (None, True, False, 7, -7, 1.5, 'str', '', [], {}, [None], [1], ['a'], {'a': 1}, [[]], [{}])
MAP_KEYS = ('', 'UPPER', 'a b', 'a.b/c', 'a/b/c', '-a', 'a-b', 'a_b', '_a', 'a.b', 'x' * 32, 'x' * 33, 'x' * 63, 'x' * 64, 'd' * 63 + '/x', 'd' * 64 + '/x', 'gpu.example.com/model', 'Gpu.example.com/m',
            'example.com/' + 'x' * 32, 'example.com/' + 'x' * 33, '0a', 'ü', 'cpu', 'requests.cpu', 'kubernetes.io/x', 'hugepages-2Mi', 'ephemeral-storage', 'example.com/gpu', 'pods')


def walk(value, path=()):
    """All places below an object, the inner ones included."""
    if path:
        yield path
    if isinstance(value, dict):
        for k, v in value.items():
            yield from walk(v, path + (k,))
    elif isinstance(value, list):
        for i, v in enumerate(value[:3]):
            yield from walk(v, path + (i,))


def at(obj, path):
    for p in path:
        obj = obj[p]
    return obj


def put(obj, path, value):
    obj = copy.deepcopy(obj)
    at(obj, path[:-1])[path[-1]] = copy.deepcopy(value)
    return obj


def drop(obj, path):
    obj = copy.deepcopy(obj)
    del at(obj, path[:-1])[path[-1]]
    return obj


def numbered(item, i):
    """A copy of a list item whose identity differs from the others'."""
    item = copy.deepcopy(item)
    if isinstance(item, str):
        return item[:50] + '-%d' % i
    if isinstance(item, dict):
        for k in ('name', 'device', 'type', 'uid', 'key', 'counterSet'):
            if isinstance(item.get(k), str):
                item[k] = item[k][:50] + '-%d' % i
                break
    return item


def looks_like_time(v):
    return len(v) >= 20 and v[4:5] == '-' and v[10:11] == 'T'


def looks_like_quantity(path, v):
    return any(p in ('capacity', 'counters', 'requests', 'limits', 'hard', 'used', 'consumedCapacity', 'sizeLimit', 'allocatable', 'divisor', 'perPod', 'capacityMultiplier', 'deviceMultiplier')
               for p in path if isinstance(p, str)) and v[:1].isdigit()


def changes(obj, path):
    """(name, value) of what may stand at a place instead; `...` as the value removes it."""
    v = at(obj, path)
    yield 'missing', ...
    for i, o in enumerate(OTHER_TYPES):
        yield 'type-%d' % i, o
    if isinstance(v, bool):
        yield 'not', not v
    elif isinstance(v, (int, float)):
        for n in NUMBERS:
            yield 'number-%s' % n, n
    elif isinstance(v, str):
        if looks_like_time(v):
            for i, t in enumerate(TIMES):
                yield 'time-%d' % i, t
        if looks_like_quantity(path, v):
            for q in QUANTITIES:
                yield 'quantity-%s' % str(q)[:20].replace('/', '_'), q
        for i, s in enumerate(STRINGS):
            yield 'string-%d' % i, s
        for n in STRING_SIZES:
            yield 'length-%d' % n, 'a' * n
            if n > 64:
                yield 'dotted-%d' % n, ('a' * 62 + '.') * (n // 63) + 'b' * (n % 63)
        for suffix in ('x', '-', '/x', '.x', 'X'):
            yield 'suffix-' + suffix.replace('/', '_'), v + suffix
    elif isinstance(v, list) and v:
        for n in LIST_SIZES:
            yield 'size-%d' % n, [v[0]] + [numbered(v[0], i) for i in range(n - 1)]
        yield 'doubled', v + [v[0]]
        yield 'same-4', [v[0]] * 4
        yield 'null-item', v + [None]
        yield 'reversed', v[::-1]
        yield 'first-only', v[:1]
    elif isinstance(v, dict):
        if v:
            first = next(iter(v.values()))
            for k in MAP_KEYS:
                yield 'key-%s' % k[:40].replace('/', '_'), dict(v, **{k: first})
            for n in (16, 17, 32, 33, 64, 65, 128, 129):
                yield 'keys-%d' % n, dict(v, **{'k%d' % i: first for i in range(n - len(v))})
        yield 'unknown', dict(v, unknownField=1)
        yield 'unknown-two', dict(v, zUnknown={'a': 1}, aUnknown=None)
        yield 'case', {k.capitalize(): x for k, x in v.items()}


def apply_change(obj, path, value):
    return drop(obj, path) if value is ... else put(obj, path, value)


def raw_with_duplicate(obj, path):
    """The JSON text of an object with the key at `path` twice; None for list items."""
    if not isinstance(path[-1], str):
        return None
    mark = '\ue000'
    marked = copy.deepcopy(obj)
    parent = at(marked, path[:-1])
    parent[mark] = parent[path[-1]]
    return json.dumps(marked, ensure_ascii=False).replace(mark, path[-1])


def name_of(path):
    return '_'.join(str(p).replace('/', '~') for p in path)
