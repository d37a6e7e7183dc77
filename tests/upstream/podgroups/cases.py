#!/usr/bin/env python3
"""Prints cases of writes to PodGroups, Workloads and pods that name a group, in the format of
../corpus/README.md without answers: cases.py

A group of cases that begins with "validation/" needs no more than the rules of the kinds; the
others need a server (admission, deletion, tables, permissions).
"""
import copy
import json

NS = '/api/v1/namespaces'
SCHEDULING = '/apis/scheduling.k8s.io'


def place(version, plural, name='', subresource=''):
    path = '%s/%s/namespaces/default/%s' % (SCHEDULING, version, plural)
    return path + ('/' + name if name else '') + ('/' + subresource if subresource else '')


def group(version='v1beta1', name='g-{{u}}', **spec):
    spec = {'schedulingPolicy': {'gang': {'minCount': 2}}, **spec}
    return {'apiVersion': 'scheduling.k8s.io/' + version, 'kind': 'PodGroup', 'metadata': {'name': name},
            'spec': {k: v for k, v in spec.items() if v is not OMIT}}


def template(name='t', **fields):
    t = {'name': name, 'schedulingPolicy': {'gang': {'minCount': 2}}, **fields}
    return {k: v for k, v in t.items() if v is not OMIT}


def workload(version='v1beta1', **spec):
    spec = {'podGroupTemplates': [template()], **spec}
    return {'apiVersion': 'scheduling.k8s.io/' + version, 'kind': 'Workload', 'metadata': {'name': 'w-{{u}}'},
            'spec': {k: v for k, v in spec.items() if v is not OMIT}}


def pod(**spec):
    return {'apiVersion': 'v1', 'kind': 'Pod', 'metadata': {'name': 'p-{{u}}'},
            'spec': {'containers': [{'name': 'c', 'image': 'i'}], **spec}}


OMIT = object()
CLAIM = {'name': 'gpu', 'resourceClaimTemplateName': 'tpl'}
REF = {'workloadName': 'w', 'templateName': 't'}


def create(body):
    version = body['apiVersion'].split('/')[-1]
    path = NS + '/default/pods' if body['kind'] == 'Pod' else place(version, body['kind'].lower() + 's')
    return {'method': 'POST', 'path': path, 'body': body}


def update(step, body, subresource=''):
    """Replaces what `step` answered."""
    body = copy.deepcopy(body)
    body['metadata']['resourceVersion'] = '{{%d.metadata.resourceVersion}}' % step
    version = body['apiVersion'].split('/')[-1]
    base = NS + '/default/pods' if body['kind'] == 'Pod' else place(version, body['kind'].lower() + 's')
    path = base + '/' + body['metadata']['name'] + ('/' + subresource if subresource else '')
    return {'method': 'PUT', 'path': path, 'body': body}


def get(plural, name):
    return {'method': 'GET', 'path': place('v1beta1', plural, name)}


def table(plural, name):
    return {**get(plural, name), 'path': place('v1beta1', plural, name) + '?includeObject=None',
            'headers': {'Accept': 'application/json;as=Table;v=v1;g=meta.k8s.io'}}


# What is put at the place of a field of a spec.
GROUP_FIELDS = {
    'schedulingPolicy': [OMIT, None, {}, {'gang': {}}, {'gang': {'minCount': 0}}, {'gang': {'minCount': -1}}, {'gang': {'minCount': 2147483647}},
                         {'gang': {'minCount': 2147483648}}, {'basic': {}}, {'basic': {}, 'gang': {'minCount': 1}}, {'basic': None, 'gang': None}, 'gang'],
    'workloadRef': [REF, {}, {'workloadName': 'w'}, {'templateName': 't'}, {'workloadName': 'W_', 'templateName': 'T_'}, {'workloadName': 'a' * 254, 'templateName': 'a' * 64}],
    'resourceClaims': [[CLAIM], [], [{}], [{'name': 'gpu'}], [{'name': 'gpu', 'resourceClaimName': 'c'}], [{**CLAIM, 'resourceClaimName': 'c'}],
                       [{'name': 'GPU_', 'resourceClaimName': 'C_'}], [{'name': 'gpu', 'resourceClaimTemplateName': 'T_'}], [{'name': 'gpu', 'resourceClaimTemplateName': ''}],
                       [CLAIM, CLAIM], [dict(CLAIM, name='c%d' % i) for i in range(4)], [dict(CLAIM, name='c%d' % i) for i in range(5)], [{'name': '', 'resourceClaimName': 'c'}]],
    'disruptionMode': [None, {}, {'single': {}}, {'all': {}}, {'single': {}, 'all': {}}, 'all'],
    'schedulingConstraints': [{}, {'topology': []}, {'topology': [{'key': 'zone'}]}, {'topology': [{'key': ''}]}, {'topology': [{'key': 'not a key'}]},
                              {'topology': [{'key': 'a'}, {'key': 'b'}]}],
    'priorityClassName': ['', 'Not_', 'a' * 254],
    'priority': [0, -5, 1000000000, 1000000001],
    'preemptionPolicy': ['Never', 'PreemptLowerPriority', 'Sometimes', ''],
    'parentCompositePodGroupName': ['parent', 'Not_', ''],
}
TEMPLATE_FIELDS = {k: v for k, v in GROUP_FIELDS.items() if k not in ('workloadRef', 'parentCompositePodGroupName')}
CONDITION = {'type': 'PodGroupInitiallyScheduled', 'status': 'True', 'reason': 'Scheduled', 'message': '', 'lastTransitionTime': '2026-01-02T03:04:05Z'}
STATUSES = [{}, {'conditions': [CONDITION]}, {'conditions': [dict(CONDITION, reason='')]}, {'conditions': [dict(CONDITION, type='')]},
            {'conditions': [dict(CONDITION, status='Maybe')]}, {'conditions': [CONDITION, CONDITION]}, {'conditions': [dict(CONDITION, reason='not a reason')]},
            {'conditions': [dict(CONDITION, observedGeneration=-1)]}, {'conditions': [{k: v for k, v in CONDITION.items() if k != 'lastTransitionTime'}]},
            {'resourceClaimStatuses': [{'name': 'gpu', 'resourceClaimName': 'c'}]}, {'resourceClaimStatuses': [{'name': 'gpu'}]},
            {'resourceClaimStatuses': [{'name': 'other', 'resourceClaimName': 'c'}]}, {'resourceClaimStatuses': [{'name': 'gpu', 'resourceClaimName': 'C_'}]},
            {'resourceClaimStatuses': [{'name': 'gpu'}, {'name': 'gpu'}]}, {'resourceClaimStatuses': [{'resourceClaimName': 'c'}]},
            {'resourceClaimStatuses': [{'name': 'c%d' % i} for i in range(5)]}]


def fields_of_groups():
    for version in ('v1beta1', 'v1alpha3'):
        for field, values in GROUP_FIELDS.items():
            for i, value in enumerate(values):
                yield 'validation/group/%s/%s/%d' % (version, field, i), [create(group(version, **{field: value}))]
    yield 'validation/group/parent/with-ref', [create(group(parentCompositePodGroupName='parent', workloadRef=REF))]
    yield 'validation/group/spec-missing', [create({k: v for k, v in group().items() if k != 'spec'})]
    for i, name in enumerate(['', 'Not_', 'a' * 254, 'a.b']):
        yield 'validation/group/name/%d' % i, [create(group(name=name))]
    for i, status in enumerate(STATUSES):
        yield 'validation/group/status-on-create/%d' % i, [create({**group(), 'status': status})]


def updates_of_groups():
    for field, values in GROUP_FIELDS.items():
        for i, value in enumerate(values):
            full = group(workloadRef=REF, resourceClaims=[CLAIM], priority=0)
            changed = copy.deepcopy(full)
            if value is OMIT:
                changed['spec'].pop(field, None)
            else:
                changed['spec'][field] = value
            yield 'validation/group-update/%s/%d' % (field, i), [create(full), update(0, changed)]
            before = copy.deepcopy(changed)
            yield 'validation/group-update/%s/%d-back' % (field, i), [create(before), update(0, full)]
    gangs = [({'gang': {'minCount': 2}}, {'gang': {'minCount': 3}}), ({'gang': {'minCount': 3}}, {'gang': {'minCount': 1}}),
             ({'gang': {'minCount': 2}}, {'basic': {}}), ({'basic': {}}, {'gang': {'minCount': 2}}), ({'gang': {'minCount': 2}}, {'gang': {'minCount': 0}})]
    for i, (a, b) in enumerate(gangs):
        yield 'validation/group-update/policy/%d' % i, [create(group(schedulingPolicy=a)), update(0, group(schedulingPolicy=b))]
    yield 'validation/group-update/labels', [create(group()), update(0, {**group(), 'metadata': {'name': 'g-{{u}}', 'labels': {'a': 'b'}}})]
    yield 'validation/group-update/no-version', [create(group()), {**update(0, group()), 'body': group()}]
    yield 'validation/group-update/status-ignored', [create(group()), update(0, {**group(), 'status': {'conditions': [CONDITION]}})]


def statuses_of_groups():
    for claims in ([], [CLAIM]):
        for i, status in enumerate(STATUSES):
            base = group(resourceClaims=claims) if claims else group()
            yield 'validation/group-status/%s/%d' % ('claims' if claims else 'plain', i), [create(base), update(0, {**base, 'status': status}, 'status')]
    yield 'validation/group-status/spec-ignored', [create(group()), update(0, {**group(schedulingPolicy={'basic': {}}), 'status': {'conditions': [CONDITION]}}, 'status')]


def workloads():
    for version in ('v1beta1', 'v1alpha3'):
        for field, values in TEMPLATE_FIELDS.items():
            for i, value in enumerate(values):
                yield 'validation/workload/%s/%s/%d' % (version, field, i), [create(workload(version, podGroupTemplates=[template(**{field: value})]))]
    lists = [OMIT, None, [], [template('a'), template('a')], [template('t%d' % i) for i in range(8)], [template('t%d' % i) for i in range(9)], [template('')],
             [template('T_')], [template(OMIT)], [template('a', priorityClassName='system-node-critical'), template('b')], [template('a', priority=1), template('b', priority=2)],
             [template('a', priority=1), template('b')], [template('a' * 64)]]
    for i, value in enumerate(lists):
        yield 'validation/workload/templates/%d' % i, [create(workload(podGroupTemplates=value))]
    references = [{}, {'kind': 'Job', 'name': 'j'}, {'apiGroup': 'batch', 'kind': 'Job', 'name': 'j'}, {'apiGroup': 'Not_', 'kind': 'a/b', 'name': 'a/b'}, {'apiGroup': 'batch', 'kind': 'Job'}]
    for i, value in enumerate(references):
        yield 'validation/workload/controllerRef/%d' % i, [create(workload(controllerRef=value))]
        yield 'validation/workload-update/controllerRef/%d' % i, [create(workload()), update(0, workload(controllerRef=value))]
        yield 'validation/workload-update/controllerRef/%d-back' % i, [create(workload(controllerRef=value)), update(0, workload())]
    for field, values in TEMPLATE_FIELDS.items():
        for i, value in enumerate(values):
            yield 'validation/workload-update/%s/%d' % (field, i), [create(workload()), update(0, workload(podGroupTemplates=[template(**{field: value})]))]
    for i, value in enumerate([[template('t'), template('u')], [template('u')], [], OMIT]):
        yield 'validation/workload-update/templates/%d' % i, [create(workload()), update(0, workload(podGroupTemplates=value))]
    composite = {'name': 'c', 'schedulingPolicy': {'gang': {'minGroupCount': 1}}, 'podGroupTemplates': [template('leaf')]}
    nested = composite
    for i in range(4):
        nested = {'name': 'n%d' % i, 'schedulingPolicy': {'basic': {}}, 'compositePodGroupTemplates': [nested]}
    composites = [[composite], [dict(composite, podGroupTemplates=[])], [composite, dict(composite, name='d')], [nested], [composite, composite],
                  [dict(composite, schedulingPolicy={'gang': {'minGroupCount': 0}})], [dict(composite, priority=3)], [dict(composite, podGroupTemplates=[template('c')])]]
    for i, value in enumerate(composites):
        yield 'validation/workload/composite/%d' % i, [create(workload(podGroupTemplates=OMIT, compositePodGroupTemplates=value))]
        yield 'validation/workload/composite/%d-both' % i, [create(workload(compositePodGroupTemplates=value))]


def pods():
    groups = [{'podGroupName': 'g'}, {}, {'podGroupName': ''}, {'podGroupName': 'Not_'}, {'podGroupName': None}, {'podGroupName': 'a' * 254}]
    for i, value in enumerate(groups):
        yield 'validation/pod/group/%d' % i, [create(pod(schedulingGroup=value))]
    yield 'server/pod/group-change', [create(pod(schedulingGroup={'podGroupName': 'g'})), {
        'method': 'PATCH', 'path': NS + '/default/pods/p-{{u}}', 'contentType': 'application/merge-patch+json', 'body': {'spec': {'schedulingGroup': {'podGroupName': 'h'}}}}]
    yield 'server/pod/group-add', [create(pod()), {
        'method': 'PATCH', 'path': NS + '/default/pods/p-{{u}}', 'contentType': 'application/merge-patch+json', 'body': {'spec': {'schedulingGroup': {'podGroupName': 'h'}}}}]
    yield 'server/pod/group-remove', [create(pod(schedulingGroup={'podGroupName': 'g'})), {
        'method': 'PATCH', 'path': NS + '/default/pods/p-{{u}}', 'contentType': 'application/merge-patch+json', 'body': {'spec': {'schedulingGroup': None}}}]


def of_the_server():
    for plural, kind in (('podgroups', group), ('workloads', workload)):
        name = kind()['metadata']['name']
        yield 'server/%s/defaults' % plural, [create(kind()), get(plural, name), {'method': 'GET', 'path': place('v1alpha3', plural, name)}]
        yield 'server/%s/table' % plural, [create(kind()), table(plural, name)]
        yield 'server/%s/apply' % plural, [{'method': 'PATCH', 'path': place('v1beta1', plural, name) + '?fieldManager=m', 'contentType': 'application/apply-patch+yaml', 'body': kind()}]
        yield 'server/%s/delete' % plural, [create(kind()), {'method': 'DELETE', 'path': place('v1beta1', plural, name)}, get(plural, name)]
    for i, (a, b) in enumerate([({'gang': {'minCount': 1}}, REF), ({'basic': {}}, OMIT)]):
        for j, condition in enumerate([CONDITION, dict(CONDITION, status='False', reason='Unschedulable'), dict(CONDITION, type='DisruptionTarget', reason='PreemptionByScheduler')]):
            base = group(schedulingPolicy=a, workloadRef=b)
            yield 'server/table/%d-%d' % (i, j), [create(base), update(0, {**base, 'status': {'conditions': [condition]}}, 'status'), table('podgroups', 'g-{{u}}')]
    classes = {'method': 'POST', 'path': SCHEDULING + '/v1/priorityclasses', 'setup': True,
               'body': {'apiVersion': 'scheduling.k8s.io/v1', 'kind': 'PriorityClass', 'metadata': {'name': 'pc-{{u}}'}, 'value': 7, 'preemptionPolicy': 'Never'}}
    for i, spec in enumerate([{}, {'priority': 7}, {'priority': 8}, {'preemptionPolicy': 'Never'}, {'preemptionPolicy': 'PreemptLowerPriority'}]):
        yield 'server/priority/%d' % i, [classes, create(group(priorityClassName='pc-{{u}}', **spec))]
    yield 'server/priority/missing-class', [create(group(priorityClassName='nobody-{{u}}'))]
    yield 'server/priority/system-class', [create(group(priorityClassName='system-node-critical'))]
    yield 'server/priority/given', [create(group(priority=3))]
    yield 'server/priority/kept', [create(group()), update(0, group())]
    yield 'server/finalizer/given', [create({**group(), 'metadata': {'name': 'g-{{u}}', 'finalizers': ['scheduling.k8s.io/podgroup-protection', 'example.com/x']}})]
    yield 'server/finalizer/other', [create({**group(), 'metadata': {'name': 'g-{{u}}', 'finalizers': ['example.com/x']}})]
    yield 'server/finalizer/removed', [create(group()), {'method': 'DELETE', 'path': place('v1beta1', 'podgroups', 'g-{{u}}')}, {
        'method': 'PATCH', 'path': place('v1beta1', 'podgroups', 'g-{{u}}'), 'contentType': 'application/merge-patch+json', 'body': {'metadata': {'finalizers': None}}}, get('podgroups', 'g-{{u}}')]
    for user in ('system:kube-scheduler', 'system:serviceaccount:kube-system:resource-claim-controller', 'system:serviceaccount:kube-system:podgroup-protection-controller',
                 'system:serviceaccount:kube-system:job-controller', 'system:serviceaccount:default:default'):
        for resource, subresource in (('podgroups', ''), ('podgroups', 'status'), ('workloads', '')):
            for verb in ('list', 'update', 'patch', 'create', 'delete'):
                yield 'server/rights/%s/%s-%s/%s' % (user.split(':')[-1], resource, subresource, verb), [{
                    'method': 'POST', 'path': '/apis/authorization.k8s.io/v1/subjectaccessreviews', 'body': {
                        'apiVersion': 'authorization.k8s.io/v1', 'kind': 'SubjectAccessReview', 'spec': {'user': user, 'resourceAttributes': {
                            'namespace': 'default', 'group': 'scheduling.k8s.io', 'resource': resource, 'subresource': subresource, 'verb': verb}}}}]
    for role in ('system:aggregate-to-view', 'system:aggregate-to-edit', 'system:kube-scheduler', 'system:controller:podgroup-protection-controller',
                 'system:controller:resource-claim-controller', 'system:controller:job-controller'):
        yield 'server/roles/' + role.replace(':', '-'), [{'method': 'GET', 'path': '/apis/rbac.authorization.k8s.io/v1/clusterroles/' + role}]


def main():
    for source in (fields_of_groups, updates_of_groups, statuses_of_groups, workloads, pods, of_the_server):
        for name, steps in source():
            print(json.dumps({'id': name, 'group': '/'.join(name.split('/')[:2]), 'steps': steps}))


if __name__ == '__main__':
    main()
