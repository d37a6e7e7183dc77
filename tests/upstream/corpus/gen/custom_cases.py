"""Custom resources: definitions and objects of them, with rules in CEL, defaults, lists that are maps, subresources."""
import copy

from . import mutate
from .cases import NAMESPACE, PATCHES

STRING, INTEGER, BOOLEAN = {'type': 'string'}, {'type': 'integer'}, {'type': 'boolean'}
SCHEMA = {
    'type': 'object',
    'x-kubernetes-validations': [
        {'rule': 'self.metadata.name != "bad"', 'message': 'the name is bad'},
        {'rule': '!has(self.spec) || !has(self.spec.size) || !has(self.spec.max) || self.spec.size <= self.spec.max', 'fieldPath': '.spec.size', 'reason': 'FieldValueForbidden',
         'messageExpression': '"size is above " + "max"'}],
    'properties': {
        'spec': {
            'type': 'object', 'required': ['name'],
            'x-kubernetes-validations': [{'rule': 'self.name == oldSelf.name', 'message': 'name is immutable'},
                                         {'rule': 'has(self.mode) == has(self.level)', 'message': 'mode and level go together'}],
            'properties': {
                'name': {'type': 'string', 'maxLength': 10, 'pattern': '^[a-z]*$', 'x-kubernetes-validations': [{'rule': 'self != "taken"'}, {'rule': 'self.startsWith("a") || self.size() < 5', 'message': ' long names start with a '}]},
                'size': {'type': 'integer', 'minimum': 0, 'maximum': 100, 'default': 1, 'x-kubernetes-validations': [{'rule': 'self % 2 == 1 || 10 / self > 0'}]},
                'max': INTEGER, 'mode': {'type': 'string', 'enum': ['fast', 'slow']}, 'level': {'type': 'number', 'multipleOf': 0.5, 'exclusiveMaximum': True, 'maximum': 10},
                'port': {'x-kubernetes-int-or-string': True}, 'flag': {'type': 'boolean', 'default': True}, 'none': {'type': 'string', 'nullable': True},
                'free': {'type': 'object', 'x-kubernetes-preserve-unknown-fields': True},
                'tags': {'type': 'array', 'items': STRING, 'maxItems': 3, 'x-kubernetes-list-type': 'set', 'x-kubernetes-validations': [{'rule': 'self.all(t, t != "")', 'reason': 'FieldValueRequired'}]},
                'parts': {'type': 'array', 'maxItems': 10, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'],
                          'items': {'type': 'object', 'required': ['name'], 'properties': {'name': STRING, 'count': {'type': 'integer', 'default': 2}},
                                    'x-kubernetes-validations': [{'rule': 'self.count >= oldSelf.count', 'message': 'counts only grow'}]}},
                'labels': {'type': 'object', 'additionalProperties': {'type': 'string', 'minLength': 1}, 'maxProperties': 2},
                'when': {'type': 'string', 'format': 'date-time'}, 'one': {'oneOf': [{'required': ['a']}, {'required': ['b']}], 'type': 'object', 'properties': {'a': STRING, 'b': STRING}}}},
        'status': {'type': 'object', 'properties': {'replicas': INTEGER, 'phase': STRING}}}}
OBJECT = {
    'spec': {'name': 'abc', 'size': 3, 'max': 50, 'mode': 'fast', 'level': 1.5, 'port': 80, 'flag': False, 'none': None, 'free': {'x': {'y': 1}}, 'tags': ['a', 'b'],
             'parts': [{'name': 'p', 'count': 1}, {'name': 'q'}], 'labels': {'k': 'v'}, 'when': '2024-01-01T00:00:00Z', 'one': {'a': 'x'}}}
GROUP = '{{u}}.example.com'


def definition(schema=None):
    version = {'name': 'v1', 'served': True, 'storage': True, 'schema': {'openAPIV3Schema': schema or SCHEMA},
               'subresources': {'status': {}, 'scale': {'specReplicasPath': '.spec.size', 'statusReplicasPath': '.status.replicas'}},
               'additionalPrinterColumns': [{'name': 'Size', 'type': 'integer', 'jsonPath': '.spec.size'}], 'selectableFields': [{'jsonPath': '.spec.name'}]}
    return {'apiVersion': 'apiextensions.k8s.io/v1', 'kind': 'CustomResourceDefinition', 'metadata': {'name': 'widgets.' + GROUP},
            'spec': {'group': GROUP, 'scope': 'Namespaced', 'names': {'plural': 'widgets', 'singular': 'widget', 'kind': 'Widget', 'listKind': 'WidgetList', 'shortNames': ['wd']}, 'versions': [version]}}


def random_custom(rng, kinds):
    """Some writes of changed objects of one definition."""
    del kinds
    path = '/apis/%s/v1/namespaces/{{u}}/widgets' % GROUP
    steps = [NAMESPACE, {'method': 'POST', 'path': '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', 'body': definition(), 'setup': True, 'wait': 1.5}]

    def widget(name, change=True):
        body = {'apiVersion': GROUP + '/v1', 'kind': 'Widget', 'metadata': {'name': name}, **copy.deepcopy(OBJECT)}
        if change:
            place = rng.choice([p for p in mutate.walk(body) if p[0] == 'spec' and len(p) > 1])
            body = mutate.apply_change(body, place, rng.choice(list(mutate.changes(body, place)))[1])
        return body

    for i in range(8):
        validation = rng.choice(['', '', '?fieldValidation=Strict', '?fieldValidation=Ignore'])
        steps.append({'method': 'POST', 'path': path + validation, 'body': widget('w%d' % i)})
    steps.append({'method': 'POST', 'path': path, 'body': widget('x', False)})
    for _ in range(6):
        how = rng.choice(['put', 'merge', 'json', 'apply', 'strategic', 'status', 'scale'])
        if how == 'put':
            steps.append({'method': 'PUT', 'path': path + '/x', 'body': dict(widget('x'), metadata={'name': 'x', 'resourceVersion': '{{10.metadata.resourceVersion}}'})})
        elif how == 'status':
            steps.append({'method': 'PATCH', 'path': path + '/x/status', 'contentType': PATCHES['merge'], 'body': {'status': {'replicas': rng.choice([1, -1, 'x', 1.5]), 'phase': 'p', 'zz': 1}, 'spec': {'size': 5}}})
        elif how == 'scale':
            steps.append({'method': 'PATCH', 'path': path + '/x/scale', 'contentType': PATCHES['merge'], 'body': {'spec': {'replicas': rng.choice([1, 3, 50, 51, 101, -1])}}})
        elif how == 'json':
            steps.append({'method': 'PATCH', 'path': path + '/x', 'contentType': PATCHES['json'], 'body': [{'op': 'replace', 'path': '/spec/' + rng.choice(['size', 'max', 'name', 'parts/0/count']), 'value': rng.choice([0, 2, 4, 60, 'b'])}]})
        elif how == 'apply':
            body = widget('x')
            steps.append({'method': 'PATCH', 'path': path + '/x?fieldManager=m%s&force=true' % rng.choice('12'), 'contentType': PATCHES['apply'], 'body': body})
        else:
            steps.append({'method': 'PATCH', 'path': path + '/x', 'contentType': PATCHES[how], 'body': {'spec': rng.choice([{'name': 'other'}, {'size': 4}, {'size': None}, {'mode': None}, {'tags': ['']}, {'parts': [{'name': 'p', 'count': 0}]}, {'unknown': 1}])}})
    steps.append({'method': 'GET', 'path': path + '/x'})
    return {'group': 'custom/objects', 'id': 'custom/objects/%06d' % rng.randrange(10**6), 'steps': steps}


def random_definition(rng, kinds):
    """A changed definition."""
    del kinds
    body = definition()
    names = []
    for _ in range(rng.choice([1, 1, 2])):
        place = rng.choice([p for p in mutate.walk(body) if p[0] == 'spec' and len(p) > 1])
        name, value = rng.choice(list(mutate.changes(body, place)))
        body = mutate.apply_change(body, place, value)
        names.append('%s-%s' % (mutate.name_of(place), name))
    return {'group': 'custom/definition', 'id': 'custom/definition/' + '+'.join(names),
            'steps': [{'method': 'POST', 'path': '/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All', 'body': body}]}
