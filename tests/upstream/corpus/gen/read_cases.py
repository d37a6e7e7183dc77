"""Reads: lists with selectors, limits and continue tokens, other forms, and deletes of collections."""
from .cases import case, get, post

LABELS = ('a=1', 'a==1', 'a!=1', 'a', '!a', 'a in (1,2)', 'a notin (1)', 'a in ()', 'a in (1', 'a=1,b=2', 'a=1,', ',', '=', 'a=', 'a>0', 'a<2', 'a>x', 'A B', 'example.com/x=y', '/x=y', 'a=-', 'a=' + 'x' * 64, 'a=1,a=2', 'x' * 64)
FIELDS = ('metadata.name=x', 'metadata.name={{u}}', 'metadata.namespace={{u}}', 'metadata.name!=x', 'metadata.uid=x', 'spec.nodeName=n1', 'spec.driver=gpu.example.com', 'status.phase=Running', 'spec.nodeName!=', 'metadata.name', 'metadata.name=', '=x', 'a=b,c=d',
          'metadata.name=x,metadata.name=y', 'spec.schedulerName=x', 'spec.restartPolicy=Always', 'involvedObject.name=p', 'reason=R', 'type=Opaque', 'spec.unschedulable=true', 'status.successful=0', 'metadata.labels.a=1', 'metadata.name=a\\,b', 'spec.podSelector=x', 'reportingComponent=c', 'status.podIP=', 'spec.hostNetwork=false')
LIMITS = ('limit=5', 'limit=0', 'limit=-1', 'limit=x', 'limit=1&continue=x', 'continue=x', 'limit=5&resourceVersion=0', 'resourceVersion=0', 'resourceVersion=1', 'resourceVersion=x', 'resourceVersion=0&resourceVersionMatch=Exact',
          'resourceVersionMatch=Exact', 'resourceVersion=1&resourceVersionMatch=NotOlderThan', 'resourceVersion=1&resourceVersionMatch=Foo', 'resourceVersionMatch=Foo', 'limit=5&resourceVersion=0&resourceVersionMatch=NotOlderThan', 'timeoutSeconds=x', 'timeout=x', 'sendInitialEvents=true', 'allowWatchBookmarks=x', 'pretty=true')
# Tables are compared elsewhere: the descriptions of their columns are our own.
FORMS = ('application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1', 'text/plain', 'application/json;as=Table;g=meta.k8s.io;v=v9')


def quoted(text):
    return ''.join(c if c.isalnum() or c in '=,!.-_{}' else ''.join('%%%02X' % b for b in c.encode()) for c in text)


def random_read(rng, kinds):
    kind = rng.choice(kinds)
    steps = [post(kind, kind.object(kind.minimal, metadata={'labels': {'a': '1', 'b': '2', 'case': '{{u}}'}}), setup=True)]
    own = 'labelSelector=case%3D{{u}}'  # other objects of the cluster stay out of the answers
    for _ in range(2):
        choice = rng.choice(['labels', 'fields', 'limits', 'forms', 'get', 'collection'])
        if choice == 'labels':
            steps.append(get(kind, query=own + '%2C' + quoted(rng.choice(LABELS)), name=False))
        elif choice == 'fields':
            steps.append(get(kind, query=own + '&fieldSelector=' + quoted(rng.choice(FIELDS)), name=False))
        elif choice == 'limits':
            steps.append(get(kind, query=own + '&' + rng.choice(LIMITS), name=False))
        elif choice == 'forms':
            steps.append(get(kind, query=own, name=False, headers={'Accept': rng.choice(FORMS)}))
        elif choice == 'get':
            steps.append(get(kind, query=rng.choice(['resourceVersion=0', 'resourceVersion=x', 'resourceVersion=1', 'foo=bar'])))
        else:
            steps.append({'method': 'DELETE', 'path': kind.path(query=own + rng.choice(['', '&dryRun=All', '&fieldSelector=' + quoted(rng.choice(FIELDS)), '&limit=1', '&gracePeriodSeconds=0', '&propagationPolicy=x', '&resourceVersion=x']))})
    return case('read/' + kind.key, '%06d' % rng.randrange(10**6), kind, steps)
