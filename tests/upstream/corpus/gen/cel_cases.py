"""Device selectors put together from a grammar, valid and not."""
from .cases import case, post
from .objects import dra_kinds

ATOMS = {
    'bool': ['true', 'false', 'device.allowMultipleAllocations', '"ecc" in device.attributes["gpu.example.com"]', 'device.attributes["gpu.example.com"].ecc', 'has(device.driver)', 'has(device.attributes["gpu.example.com"].model)',
             'device.attributes["gpu.example.com"].?ecc.orValue(false)', 'device.capacity["gpu.example.com"].memory.isGreaterThan(quantity("1Gi"))', 'device.attributes["d"].model.matches("^a.*[0-9]$")'],
    'int': ['0', '1', '-3', '9223372036854775807', '9223372036854775808', '0x1F', 'size(device.driver)', 'device.attributes["gpu.example.com"].index', 'int("3")', 'size(device.attributes)', '[1, 2, 3].sum()', 'duration("1h").getHours()', 'uint(3)', '3u', 'device.capacity["d"].m.compareTo(quantity("1"))'],
    'string': ['"a"', "'b'", 'r"\\d+"', 'device.driver', 'device.attributes["gpu.example.com"].model', 'string(3)', '"a".upperAscii()', '"x,y".split(",")[0]', '"""m"""', '"\\u00fc"', 'b"x"', '"abc".substring(1)', '"%d".format([3])', 'type(1)'],
    'double': ['1.5', '-2e3', 'double(3)', '1.0 / 0.0', 'math.greatest(1.0, 2.5)'],
    'list': ['[]', '[1, 2]', '["a", "b"]', 'device.attributes["d"].tags', '[1, "a"]', '"a b".split(" ")', '[[1]]', 'lists.range(5)', '[3,1,2].sort()', '[1].distinct()'],
    'quantity': ['quantity("1Gi")', 'quantity("x")', 'device.capacity["gpu.example.com"].memory', 'quantity("1").add(quantity("2"))'],
    'semver': ['semver("1.2.3")', 'semver("v1.2.3", true)', 'semver("1")', 'device.attributes["gpu.example.com"].driverVersion'],
    'wrong': ['device.foo', 'foo', 'device.driver.foo', '1 +', '(', '"open', 'device[', 'a.b.c()', 'size()', 'size(1, 2)', 'device.attributes.x', 'has(1)', '[1,2', '{"a":}', 'x ? y', 'device.all(d, true)', '@', '1..2', 'true &', '/* c */ true', '// c', 'if', 'null', 'package.x', 'in', '0b1', "'a", '"\\q"', '1 == "a"', '!1', '-true', '{1: 2, 1: 3}', 'optional.of(1)', 'cel.bind(x, 1, x == 1)', 'ip("1.2.3.4")', 'url("http://a/")', 'authorizer', 'now', 'device.driver[0]', 'dyn(1) == "a"', '[1,2].map(x, x)', 'timestamp("2024-01-01T00:00:00Z")', 'sets.contains([1],[1])', 'strings.quote("x")', 'base64.encode(b"x")'],
}


def expression(rng, kind, depth):
    if depth <= 0 or rng.random() < 0.2:
        if rng.random() < 0.12:
            return rng.choice(ATOMS['wrong'])
        return rng.choice(ATOMS[kind])
    e = lambda k: expression(rng, k, depth - 1)
    forms = {
        'bool': [lambda: '%s && %s' % (e('bool'), e('bool')), lambda: '%s || %s' % (e('bool'), e('bool')), lambda: '!(%s)' % e('bool'), lambda: '%s == %s' % (e('int'), e('int')), lambda: '%s != %s' % (e('string'), e('string')),
                 lambda: '%s < %s' % (e('int'), e(rng.choice(['int', 'double']))), lambda: '%s in %s' % (e(rng.choice(['int', 'string'])), e('list')), lambda: '%s.startsWith(%s)' % (e('string'), e('string')), lambda: '%s.contains(%s)' % (e('string'), e('string')),
                 lambda: '%s.all(x, x %s %s)' % (e('list'), rng.choice(['>', '==', '!=']), e('int')), lambda: '%s.exists(x, %s)' % (e('list'), e('bool')), lambda: '%s.exists_one(x, x == %s)' % (e('list'), e('string')), lambda: '%s.all(x, %s.exists(y, x == y))' % (e('list'), e('list')),
                 lambda: '%s ? %s : %s' % (e('bool'), e('bool'), e('bool')), lambda: '%s.compareTo(%s) %s 0' % (e('quantity'), e('quantity'), rng.choice(['>', '>=', '=='])), lambda: '%s.isLessThan(%s)' % (e('semver'), e('semver')), lambda: 'cel.bind(v, %s, v == %s)' % (e('int'), e('int')),
                 lambda: '%s.matches(%s)' % (e('string'), e('string')), lambda: '%s == %s' % (e(rng.choice(sorted(ATOMS))), e(rng.choice(sorted(ATOMS)))), lambda: 'has(device.attributes[%s].x)' % e('string'), lambda: 'device.attributes[%s].?x.orValue(%s) == %s' % (e('string'), e('int'), e('int'))],
        'int': [lambda: '%s %s %s' % (e('int'), rng.choice('+-*/%'), e('int')), lambda: '-%s' % e('int'), lambda: 'size(%s)' % e(rng.choice(['list', 'string'])), lambda: '%s[%s]' % (e('list'), e('int')), lambda: '%s.indexOf(%s)' % (e('string'), e('string')), lambda: 'int(%s)' % e('double'), lambda: '(%s ? %s : %s)' % (e('bool'), e('int'), e('int'))],
        'string': [lambda: '%s + %s' % (e('string'), e('string')), lambda: '%s.%s()' % (e('string'), rng.choice(['lowerAscii', 'trim', 'reverse', 'upper'])), lambda: 'string(%s)' % e('int'), lambda: '%s.replace(%s, %s)' % (e('string'), e('string'), e('string')), lambda: '%s.join(%s)' % (e('list'), e('string'))],
        'double': [lambda: '%s %s %s' % (e('double'), rng.choice('+-*/%'), e('double')), lambda: 'double(%s)' % e('int')],
        'list': [lambda: '%s + %s' % (e('list'), e('list')), lambda: '%s.map(x, %s)' % (e('list'), e('int')), lambda: '%s.filter(x, %s)' % (e('list'), e('bool')), lambda: '[%s, %s]' % (e('int'), e('int'))],
        'quantity': [lambda: '%s.%s(%s)' % (e('quantity'), rng.choice(['add', 'sub']), e(rng.choice(['quantity', 'int']))), lambda: 'quantity(%s)' % e('string')],
        'semver': [lambda: 'semver(%s)' % e('string')],
    }
    return rng.choice(forms[kind])()


def random_selector(rng, kinds):
    del kinds
    by_key = {k.key: k for k in dra_kinds()}
    text = expression(rng, rng.choice(['bool'] * 6 + ['int', 'string', 'list']), rng.choice([1, 2, 2, 3, 4]))
    selector = {'cel': {'expression': text}}
    if rng.random() < 0.8:
        kind = by_key['class']
        body = {'spec': {'selectors': [selector]}}
    else:
        kind = by_key['claim']
        body = {'spec': {'devices': {'requests': [{'name': 'r', 'exactly': {'deviceClassName': 'x', 'selectors': [selector]}}]}}}
    return case('selector/' + kind.key, '%06d' % rng.randrange(10**6), kind, [post(kind, kind.object(body))])
