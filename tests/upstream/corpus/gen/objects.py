"""Valid objects that use every field of their kind: what the generator starts from."""
import copy

RESOURCE = 'resource.k8s.io'
NS = '{{u}}'


class Kind:
    """How to address objects of one kind in one version, and examples of them.

    `full` uses as many fields as one valid object can; `minimal` only what is required. `status` is
    a valid status of `full`, written through the subresource.
    """

    def __init__(self, key, group, version, plural, kind, namespaced, name, minimal, full=None, status=None):
        self.key, self.group, self.version, self.plural, self.kind = key, group, version, plural, kind
        self.namespaced, self.name, self.status = namespaced, name, status
        self.minimal, self.full = minimal, full or minimal

    @property
    def api_version(self):
        return self.group + '/' + self.version if self.group else self.version

    def path(self, name=None, sub=None, query=''):
        p = '/apis/%s/%s' % (self.group, self.version) if self.group else '/api/' + self.version
        if self.namespaced:
            p += '/namespaces/' + NS
        p += '/' + self.plural
        if name:
            p += '/' + name
        if sub:
            p += '/' + sub
        return p + ('?' + query if query else '')

    def object(self, body, status=None, metadata=None):
        o = {'apiVersion': self.api_version, 'kind': self.kind, 'metadata': dict({'name': self.name}, **(metadata or {}))}
        o.update(copy.deepcopy(body))
        if status is not None:
            o['status'] = copy.deepcopy(status)
        return o


# --- resource.k8s.io in the shape of v1

# Empty parameters read the same with and without the spaces of the request's JSON, which the server keeps until a patch.
OPAQUE = {'driver': 'gpu.example.com', 'parameters': {}}
CEL = {'cel': {'expression': 'device.driver == "gpu.example.com"'}}
TOLERATIONS = [
    {'key': 'example.com/k', 'operator': 'Equal', 'value': 'v', 'effect': 'NoExecute', 'tolerationSeconds': 30},
    {'operator': 'Exists'}]
EXACT = {
    'deviceClassName': 'gpu.example.com', 'selectors': [CEL], 'allocationMode': 'ExactCount', 'count': 2,
    'tolerations': TOLERATIONS, 'capacity': {'requests': {'memory': '10Gi', 'gpu.example.com/slots': '3'}}}
SUB = {
    'name': 's0', 'deviceClassName': 'big.example.com', 'selectors': [CEL], 'allocationMode': 'All',
    'tolerations': TOLERATIONS, 'capacity': {'requests': {'memory': '1Gi'}}}
CLAIM_SPEC = {'devices': {
    'requests': [
        {'name': 'r0', 'exactly': EXACT},
        {'name': 'f', 'firstAvailable': [SUB, {'name': 's1', 'deviceClassName': 'small.example.com', 'count': 3}]}],
    'constraints': [
        {'requests': ['r0', 'f'], 'matchAttribute': 'gpu.example.com/model'},
        {'requests': ['f/s0'], 'distinctAttribute': 'gpu.example.com/serial'}],
    'config': [{'requests': ['r0'], 'opaque': OPAQUE}, {'opaque': OPAQUE}]}}
CLAIM_MIN = {'devices': {'requests': [{'name': 'r0', 'exactly': {'deviceClassName': 'gpu.example.com'}}]}}
UUID = '6e2f4ba0-8d3e-4b4e-9d0c-5c1c7ad7e5d1'
NODE_SELECTOR = {'nodeSelectorTerms': [{
    'matchExpressions': [{'key': 'zone', 'operator': 'In', 'values': ['a', 'b']}],
    'matchFields': [{'key': 'metadata.name', 'operator': 'In', 'values': ['n1']}]}]}
CONDITION = {'type': 'Ready', 'status': 'True', 'reason': 'Ok', 'message': 'm', 'lastTransitionTime': '2024-01-01T00:00:00Z',
             'observedGeneration': 1}
RESULT = {
    'request': 'r0', 'driver': 'gpu.example.com', 'pool': 'p/q', 'device': 'd0', 'tolerations': TOLERATIONS,
    'bindingConditions': ['example.com/attached'], 'bindingFailureConditions': ['example.com/failed'],
    'shareID': UUID, 'consumedCapacity': {'memory': '10Gi'}}
CLAIM_STATUS = {
    'allocation': {
        'devices': {
            'results': [RESULT, {'request': 'f/s1', 'driver': 'gpu.example.com', 'pool': 'p', 'device': 'd1'}],
            'config': [{'source': 'FromClass', 'requests': ['r0'], 'opaque': OPAQUE}, {'source': 'FromClaim', 'opaque': OPAQUE}]},
        'nodeSelector': NODE_SELECTOR, 'allocationTimestamp': '2024-01-01T00:00:00Z'},
    'reservedFor': [{'resource': 'pods', 'name': 'pod-1', 'uid': 'u-1'},
                    {'apiGroup': 'example.com', 'resource': 'things', 'name': 't', 'uid': 'u-2'}],
    'devices': [{
        'driver': 'gpu.example.com', 'pool': 'p/q', 'device': 'd0', 'shareID': UUID, 'conditions': [CONDITION],
        'data': {'a': 1},
        'networkData': {'interfaceName': 'eth0', 'ips': ['10.1.2.3/24', '2001:db8::1/64'], 'hardwareAddress': '00:11:22:33:44:55'}}]}
CLASS_SPEC = {'selectors': [CEL], 'config': [{'opaque': OPAQUE}], 'extendedResourceName': 'example.com/gpu'}
POOL = {'name': 'p', 'generation': 1, 'resourceSliceCount': 1}
TAINT = {'key': 'example.com/k', 'value': 'v', 'effect': 'NoSchedule', 'timeAdded': '2024-01-01T00:00:00Z'}
DEVICE = {
    'name': 'd0',
    'attributes': {
        'model': {'string': 'a100'}, 'gpu.example.com/index': {'int': 3}, 'ecc': {'bool': True},
        'dom.example.com/driverVersion': {'version': '1.2.3-beta.1+build'}},
    'capacity': {
        'memory': {'value': '40Gi', 'requestPolicy': {'default': '1Gi', 'validRange': {'min': '1Gi', 'max': '40Gi', 'step': '1Gi'}}},
        'slots': {'value': '8', 'requestPolicy': {'default': '1', 'validValues': ['1', '2', '4', '8']}}, 'plain': {'value': '5'}},
    'taints': [TAINT], 'bindsToNode': True, 'bindingConditions': ['example.com/attached'],
    'bindingFailureConditions': ['example.com/failed'], 'allowMultipleAllocations': True}
SLICE_SPEC = {'driver': 'gpu.example.com', 'pool': POOL, 'nodeName': 'n1', 'devices': [DEVICE, {'name': 'd1'}]}
SLICE_MIN = {'driver': 'gpu.example.com', 'pool': POOL, 'nodeName': 'n1', 'devices': [{'name': 'd0'}]}
SLICE_COUNTERS = {
    'driver': 'gpu.example.com', 'pool': dict(POOL, resourceSliceCount=2), 'allNodes': True,
    'sharedCounters': [{'name': 'set-1', 'counters': {'memory': {'value': '40Gi'}, 'slots': {'value': '7'}}},
                       {'name': 'set-2', 'counters': {'c': {'value': '1'}}}]}
SLICE_CONSUMES = {
    'driver': 'gpu.example.com', 'pool': dict(POOL, resourceSliceCount=2), 'perDeviceNodeSelection': True,
    'devices': [
        {'name': 'd0', 'nodeName': 'n1', 'consumesCounters': [{'counterSet': 'set-1', 'counters': {'memory': {'value': '10Gi'}, 'slots': {'value': '1'}}}]},
        {'name': 'd1', 'allNodes': True, 'consumesCounters': [{'counterSet': 'set-1', 'counters': {'slots': {'value': '2'}}},
                                                             {'counterSet': 'set-2', 'counters': {'c': {'value': '1'}}}]},
        {'name': 'd2', 'nodeSelector': {'nodeSelectorTerms': [{'matchExpressions': [{'key': 'zone', 'operator': 'In', 'values': ['a']}]}]}}]}
SLICE_SELECTOR = {
    'driver': 'gpu.example.com', 'pool': POOL,
    'nodeSelector': {'nodeSelectorTerms': [{'matchExpressions': [{'key': 'zone', 'operator': 'NotIn', 'values': ['a']}]}]},
    'devices': [{'name': 'd0'}]}
SLICE_ALPHA = {
    'driver': 'gpu.example.com', 'pool': POOL, 'nodeName': 'n1', 'partitionTypeAttribute': 'gpu.example.com/t',
    'skipNodeOperations': ['NodePrepareResources'],
    'devices': [{'name': 'd0', 'attributes': {'t': {'string': 'a', 'strings': ['a', 'b']}, 'i': {'int': 1, 'ints': [1, 2]}, 'b': {'bool': True, 'bools': [True]}, 'v': {'version': '1.0.0', 'versions': ['1.0.0']}},
                 'capacity': {'m': {'value': '4'}},
                 'nodeAllocatableResources': {'cpu': {'mapping': {'capacityKey': 'm', 'capacityMultiplier': '2'}},
                                              'memory': {'mapping': {'deviceMultiplier': '1Gi'}, 'overhead': {'perPod': '1Mi'}}}}]}
RULE_SPEC = {'taint': TAINT, 'deviceSelector': {'driver': 'gpu.example.com', 'pool': 'p', 'device': 'd0'}}
RULE_STATUS = {'conditions': [CONDITION]}
POOL_STATUS_SPEC = {'driver': 'gpu.example.com', 'poolName': 'p', 'limit': 10}


def flat_requests(spec):
    """A claim spec of v1 in the shape of v1beta1: the exact request's fields stand in the request."""
    spec = copy.deepcopy(spec)
    for r in spec['devices'].get('requests', []):
        r.update(r.pop('exactly', {}))
    return spec


def basic_devices(spec):
    """A slice spec of v1 in the shape of v1beta1: the fields of a device stand in `basic`."""
    spec = copy.deepcopy(spec)
    spec['devices'] = [{'name': d.pop('name'), 'basic': d} for d in spec.get('devices', [])]
    return spec


def template(spec):
    return {'spec': {'metadata': {'labels': {'l': 'v'}, 'annotations': {'a': 'b'}}, 'spec': spec}}


def dra_kinds():
    out = []
    for version in ('v1', 'v1beta2', 'v1beta1'):
        flat = flat_requests if version == 'v1beta1' else copy.deepcopy
        basic = basic_devices if version == 'v1beta1' else copy.deepcopy

        def add(key, plural, kind, namespaced, name, minimal, full, status=None):
            key = key if version == 'v1' else key + '-' + version
            out.append(Kind(key, RESOURCE, version, plural, kind, namespaced, name, minimal, full, status))

        add('claim', 'resourceclaims', 'ResourceClaim', True, 'c', {'spec': flat(CLAIM_MIN)}, {'spec': flat(CLAIM_SPEC)}, CLAIM_STATUS)
        add('template', 'resourceclaimtemplates', 'ResourceClaimTemplate', True, 't', {'spec': {'spec': flat(CLAIM_MIN)}}, template(flat(CLAIM_SPEC)))
        add('class', 'deviceclasses', 'DeviceClass', False, 'cl-{{u}}', {'spec': {}}, {'spec': CLASS_SPEC})
        add('slice', 'resourceslices', 'ResourceSlice', False, 'sl-{{u}}', {'spec': basic(SLICE_MIN)}, {'spec': basic(SLICE_SPEC)})
        for key, spec in (('counters', SLICE_COUNTERS), ('consumes', SLICE_CONSUMES), ('selector', SLICE_SELECTOR), ('alpha', SLICE_ALPHA)):
            add('slice-' + key, 'resourceslices', 'ResourceSlice', False, 'sl-{{u}}', {'spec': basic(SLICE_MIN)},
                {'spec': basic(spec) if 'devices' in spec else spec})
        if version != 'v1beta1':
            add('rule', 'devicetaintrules', 'DeviceTaintRule', False, 'tr-{{u}}', {'spec': {'taint': {'key': 'k', 'effect': 'None'}}},
                {'spec': RULE_SPEC}, RULE_STATUS)
    out.append(Kind('rule-v1alpha3', RESOURCE, 'v1alpha3', 'devicetaintrules', 'DeviceTaintRule', False, 'tr-{{u}}',
                    {'spec': {'taint': {'key': 'k', 'effect': 'None'}}}, {'spec': RULE_SPEC}, RULE_STATUS))
    out.append(Kind('poolstatus', RESOURCE, 'v1alpha3', 'resourcepoolstatusrequests', 'ResourcePoolStatusRequest', False, 'ps-{{u}}',
                    {'spec': {'driver': 'gpu.example.com'}}, {'spec': POOL_STATUS_SPEC}))
    return out


# --- What device allocation touches

CONTAINER = {
    'name': 'm', 'image': 'busybox', 'command': ['sh'], 'args': ['-c', 'true'], 'workingDir': '/w',
    'env': [{'name': 'A', 'value': 'b'}, {'name': 'N', 'valueFrom': {'fieldRef': {'fieldPath': 'metadata.name'}}},
            {'name': 'C', 'valueFrom': {'configMapKeyRef': {'name': 'cm', 'key': 'k', 'optional': True}}},
            {'name': 'R', 'valueFrom': {'resourceFieldRef': {'resource': 'limits.cpu', 'divisor': '1m'}}}],
    'envFrom': [{'prefix': 'P_', 'secretRef': {'name': 's'}}],
    'ports': [{'name': 'http', 'containerPort': 80, 'protocol': 'TCP'}],
    'resources': {'requests': {'cpu': '1', 'memory': '1Gi', 'example.com/gpu': '1'}, 'limits': {'cpu': '2', 'example.com/gpu': '1'},
                  'claims': [{'name': 'gpu', 'request': 'r0'}, {'name': 'tpl'}]},
    'volumeMounts': [{'name': 'tmp', 'mountPath': '/tmp', 'subPath': 'x', 'readOnly': True}],
    'livenessProbe': {'httpGet': {'path': '/', 'port': 80, 'scheme': 'HTTP'}, 'periodSeconds': 5, 'failureThreshold': 2},
    'readinessProbe': {'exec': {'command': ['true']}, 'initialDelaySeconds': 1},
    'lifecycle': {'preStop': {'exec': {'command': ['true']}}},
    'terminationMessagePath': '/dev/termination-log', 'terminationMessagePolicy': 'File', 'imagePullPolicy': 'IfNotPresent',
    'securityContext': {'runAsUser': 1000, 'runAsNonRoot': True, 'allowPrivilegeEscalation': False, 'readOnlyRootFilesystem': True,
                        'capabilities': {'drop': ['ALL'], 'add': ['NET_ADMIN']}, 'seccompProfile': {'type': 'RuntimeDefault'}}}
POD_SPEC = {
    'containers': [CONTAINER],
    'initContainers': [{'name': 'i', 'image': 'busybox', 'restartPolicy': 'Always', 'resources': {'claims': [{'name': 'gpu'}]}}],
    'resourceClaims': [{'name': 'gpu', 'resourceClaimName': 'c'}, {'name': 'tpl', 'resourceClaimTemplateName': 't'}],
    'volumes': [{'name': 'tmp', 'emptyDir': {'medium': 'Memory', 'sizeLimit': '1Gi'}}, {'name': 'cfg', 'configMap': {'name': 'cm', 'defaultMode': 420, 'items': [{'key': 'k', 'path': 'p', 'mode': 256}]}}],
    'nodeSelector': {'zone': 'a'}, 'serviceAccountName': 'default', 'automountServiceAccountToken': False, 'hostname': 'h', 'subdomain': 'sub',
    'schedulerName': 'default-scheduler', 'schedulingGates': [{'name': 'example.com/gate'}], 'restartPolicy': 'Always',
    'terminationGracePeriodSeconds': 5, 'activeDeadlineSeconds': 100, 'dnsPolicy': 'None', 'dnsConfig': {'nameservers': ['10.0.0.1'], 'searches': ['a.b'], 'options': [{'name': 'ndots', 'value': '2'}]},
    'hostAliases': [{'ip': '10.0.0.2', 'hostnames': ['foo']}], 'enableServiceLinks': True, 'shareProcessNamespace': True,
    'tolerations': [{'key': 'k', 'operator': 'Equal', 'value': 'v', 'effect': 'NoExecute', 'tolerationSeconds': 30}, {'operator': 'Exists'}],
    'affinity': {
        'nodeAffinity': {'requiredDuringSchedulingIgnoredDuringExecution': NODE_SELECTOR,
                         'preferredDuringSchedulingIgnoredDuringExecution': [{'weight': 5, 'preference': {'matchExpressions': [{'key': 'x', 'operator': 'Gt', 'values': ['3']}]}}]},
        'podAntiAffinity': {'requiredDuringSchedulingIgnoredDuringExecution': [{'topologyKey': 'zone', 'labelSelector': {'matchLabels': {'a': 'b'}}, 'namespaces': ['n']}]}},
    'topologySpreadConstraints': [{'maxSkew': 1, 'topologyKey': 'zone', 'whenUnsatisfiable': 'DoNotSchedule', 'labelSelector': {'matchLabels': {'a': 'b'}}, 'minDomains': 2, 'nodeAffinityPolicy': 'Honor'}],
    'securityContext': {'fsGroup': 1, 'runAsUser': 5, 'supplementalGroups': [1, 2], 'sysctls': [{'name': 'net.core.somaxconn', 'value': '1'}], 'seccompProfile': {'type': 'RuntimeDefault'}},
    'imagePullSecrets': [{'name': 's'}], 'readinessGates': [{'conditionType': 'example.com/ready'}], 'preemptionPolicy': 'PreemptLowerPriority',
    'os': {'name': 'linux'}, 'setHostnameAsFQDN': False}
POD_MIN = {'containers': [{'name': 'm', 'image': 'busybox'}]}
POD_STATUS = {
    'phase': 'Running', 'conditions': [{'type': 'Ready', 'status': 'True', 'lastTransitionTime': '2024-01-01T00:00:00Z'}],
    'resourceClaimStatuses': [{'name': 'gpu'}, {'name': 'tpl', 'resourceClaimName': 'made-1'}],
    'extendedResourceClaimStatus': {'resourceClaimName': 'ext-1', 'requestMappings': [{'containerName': 'm', 'resourceName': 'example.com/gpu', 'requestName': 'r0'}]},
    'podIP': '10.2.3.4', 'podIPs': [{'ip': '10.2.3.4'}], 'hostIP': '10.0.0.1', 'hostIPs': [{'ip': '10.0.0.1'}], 'qosClass': 'Burstable',
    'containerStatuses': [{'name': 'm', 'image': 'busybox', 'imageID': 'i', 'ready': True, 'restartCount': 0, 'containerID': 'c://1',
                           'state': {'running': {'startedAt': '2024-01-01T00:00:00Z'}}}], 'nominatedNodeName': 'n1', 'observedGeneration': 1}
WORKLOAD_POD = {'metadata': {'labels': {'app': 'a'}}, 'spec': dict(POD_MIN, resourceClaims=[{'name': 'gpu', 'resourceClaimTemplateName': 't'}],
                containers=[{'name': 'm', 'image': 'busybox', 'resources': {'claims': [{'name': 'gpu'}]}}])}
SELECTOR = {'matchLabels': {'app': 'a'}}
JOB_POD = {'metadata': {'labels': {'app': 'a'}}, 'spec': dict(WORKLOAD_POD['spec'], restartPolicy='Never')}
JOB_SPEC = {'template': JOB_POD, 'parallelism': 2, 'completions': 2, 'backoffLimit': 3, 'activeDeadlineSeconds': 100, 'ttlSecondsAfterFinished': 10,
            'completionMode': 'Indexed', 'suspend': True, 'podReplacementPolicy': 'Failed', 'maxFailedIndexes': 1, 'backoffLimitPerIndex': 1,
            'podFailurePolicy': {'rules': [{'action': 'Ignore', 'onPodConditions': [{'type': 'DisruptionTarget', 'status': 'True'}]},
                                           {'action': 'FailJob', 'onExitCodes': {'containerName': 'm', 'operator': 'In', 'values': [1, 2]}}]}}


def other_kinds():
    k = Kind
    apps, batch, rbac = 'apps', 'batch', 'rbac.authorization.k8s.io'
    return [
        k('pod', '', 'v1', 'pods', 'Pod', True, 'p', {'spec': POD_MIN}, {'spec': POD_SPEC}, POD_STATUS),
        k('podtemplate', '', 'v1', 'podtemplates', 'PodTemplate', True, 'pt', {'template': WORKLOAD_POD}),
        k('deployment', apps, 'v1', 'deployments', 'Deployment', True, 'd', {'spec': {'selector': SELECTOR, 'template': WORKLOAD_POD}},
          {'spec': {'selector': SELECTOR, 'template': WORKLOAD_POD, 'replicas': 2, 'minReadySeconds': 1, 'revisionHistoryLimit': 3, 'paused': True, 'progressDeadlineSeconds': 100,
                    'strategy': {'type': 'RollingUpdate', 'rollingUpdate': {'maxSurge': 1, 'maxUnavailable': '25%'}}}},
          {'replicas': 2, 'readyReplicas': 1, 'updatedReplicas': 2, 'availableReplicas': 1, 'unavailableReplicas': 1, 'observedGeneration': 1,
           'conditions': [{'type': 'Available', 'status': 'True', 'reason': 'r', 'message': 'm', 'lastUpdateTime': '2024-01-01T00:00:00Z', 'lastTransitionTime': '2024-01-01T00:00:00Z'}]}),
        k('replicaset', apps, 'v1', 'replicasets', 'ReplicaSet', True, 'rs', {'spec': {'selector': SELECTOR, 'template': WORKLOAD_POD}},
          {'spec': {'selector': SELECTOR, 'template': WORKLOAD_POD, 'replicas': 2, 'minReadySeconds': 1}},
          {'replicas': 2, 'fullyLabeledReplicas': 2, 'readyReplicas': 1, 'availableReplicas': 1, 'observedGeneration': 1}),
        k('statefulset', apps, 'v1', 'statefulsets', 'StatefulSet', True, 'ss', {'spec': {'selector': SELECTOR, 'template': WORKLOAD_POD}},
          {'spec': {'selector': SELECTOR, 'template': WORKLOAD_POD, 'replicas': 2, 'serviceName': 'svc', 'podManagementPolicy': 'Parallel', 'minReadySeconds': 1,
                    'updateStrategy': {'type': 'RollingUpdate', 'rollingUpdate': {'partition': 1}}, 'ordinals': {'start': 1}, 'revisionHistoryLimit': 2,
                    'persistentVolumeClaimRetentionPolicy': {'whenDeleted': 'Delete', 'whenScaled': 'Retain'},
                    'volumeClaimTemplates': [{'metadata': {'name': 'data'}, 'spec': {'accessModes': ['ReadWriteOnce'], 'resources': {'requests': {'storage': '1Gi'}}}}]}},
          {'replicas': 2, 'readyReplicas': 1, 'currentReplicas': 1, 'updatedReplicas': 1, 'availableReplicas': 1, 'observedGeneration': 1, 'currentRevision': 'a', 'updateRevision': 'b', 'collisionCount': 0}),
        k('daemonset', apps, 'v1', 'daemonsets', 'DaemonSet', True, 'ds', {'spec': {'selector': SELECTOR, 'template': WORKLOAD_POD}},
          {'spec': {'selector': SELECTOR, 'template': WORKLOAD_POD, 'minReadySeconds': 1, 'revisionHistoryLimit': 2, 'updateStrategy': {'type': 'RollingUpdate', 'rollingUpdate': {'maxUnavailable': 1}}}},
          {'currentNumberScheduled': 1, 'numberMisscheduled': 0, 'desiredNumberScheduled': 1, 'numberReady': 1, 'observedGeneration': 1, 'updatedNumberScheduled': 1, 'numberAvailable': 1}),
        k('job', batch, 'v1', 'jobs', 'Job', True, 'j', {'spec': {'template': JOB_POD}}, {'spec': JOB_SPEC},
          {'active': 1, 'ready': 1, 'startTime': '2024-01-01T00:00:00Z', 'succeeded': 0, 'failed': 0, 'uncountedTerminatedPods': {}}),
        k('cronjob', batch, 'v1', 'cronjobs', 'CronJob', True, 'cj', {'spec': {'schedule': '* * * * *', 'jobTemplate': {'spec': {'template': JOB_POD}}}},
          {'spec': {'schedule': '0 */2 * * 1-5', 'timeZone': 'Europe/Berlin', 'startingDeadlineSeconds': 10, 'concurrencyPolicy': 'Forbid', 'suspend': True, 'successfulJobsHistoryLimit': 1,
                    'failedJobsHistoryLimit': 2, 'jobTemplate': {'metadata': {'labels': {'a': 'b'}}, 'spec': {'template': JOB_POD}}}},
          {'lastScheduleTime': '2024-01-01T00:00:00Z', 'active': [{'kind': 'Job', 'namespace': 'x', 'name': 'j', 'apiVersion': 'batch/v1'}]}),
        k('node', '', 'v1', 'nodes', 'Node', False, 'n-{{u}}', {'spec': {}},
          {'spec': {'unschedulable': True, 'taints': [{'key': 'example.com/t', 'value': 'v', 'effect': 'NoSchedule'}], 'providerID': 'x://1', 'podCIDR': '10.5.0.0/24', 'podCIDRs': ['10.5.0.0/24']}},
          {'capacity': {'cpu': '8', 'memory': '16Gi', 'example.com/gpu': '2', 'pods': '110'}, 'allocatable': {'cpu': '7'},
           'addresses': [{'type': 'InternalIP', 'address': '10.0.0.1'}], 'conditions': [{'type': 'Ready', 'status': 'True', 'reason': 'r', 'message': 'm', 'lastHeartbeatTime': '2024-01-01T00:00:00Z', 'lastTransitionTime': '2024-01-01T00:00:00Z'}],
           'nodeInfo': {'machineID': 'a', 'systemUUID': 'b', 'bootID': 'c', 'kernelVersion': 'd', 'osImage': 'e', 'containerRuntimeVersion': 'f', 'kubeletVersion': 'v1.37.2', 'kubeProxyVersion': '', 'operatingSystem': 'linux', 'architecture': 'amd64'},
           'images': [{'names': ['a:b'], 'sizeBytes': 5}]}),
        k('namespace', '', 'v1', 'namespaces', 'Namespace', False, 'x-{{u}}', {}, {'spec': {'finalizers': ['kubernetes']}}),
        k('priorityclass', 'scheduling.k8s.io', 'v1', 'priorityclasses', 'PriorityClass', False, 'pc-{{u}}', {'value': 5},
          {'value': 1000, 'globalDefault': False, 'description': 'd', 'preemptionPolicy': 'Never'}),
        k('quota', '', 'v1', 'resourcequotas', 'ResourceQuota', True, 'q', {'spec': {'hard': {'pods': '3'}}},
          {'spec': {'hard': {'pods': '3', 'requests.cpu': '4', 'limits.memory': '1Gi', 'count/resourceclaims.resource.k8s.io': '2', 'gpu.example.com.deviceclass.resource.k8s.io/devices': '2', 'requests.example.com/gpu': '1'},
                    'scopeSelector': {'matchExpressions': [{'scopeName': 'PriorityClass', 'operator': 'In', 'values': ['high']}]}}},
          {'hard': {'pods': '3'}, 'used': {'pods': '1'}}),
        k('pdb', 'policy', 'v1', 'poddisruptionbudgets', 'PodDisruptionBudget', True, 'pdb', {'spec': {'minAvailable': 1}},
          {'spec': {'selector': SELECTOR, 'maxUnavailable': '50%', 'unhealthyPodEvictionPolicy': 'AlwaysAllow'}},
          {'currentHealthy': 1, 'desiredHealthy': 1, 'disruptionsAllowed': 0, 'expectedPods': 1, 'observedGeneration': 1}),
        k('serviceaccount', '', 'v1', 'serviceaccounts', 'ServiceAccount', True, 'sa', {}, {'automountServiceAccountToken': False, 'secrets': [{'name': 's'}], 'imagePullSecrets': [{'name': 'p'}]}),
        k('role', rbac, 'v1', 'roles', 'Role', True, 'r', {'rules': []}, {'rules': [{'apiGroups': ['resource.k8s.io', ''], 'resources': ['resourceclaims', 'pods/log'], 'verbs': ['get', 'list'], 'resourceNames': ['a']}]}),
        k('clusterrole', rbac, 'v1', 'clusterroles', 'ClusterRole', False, 'cr-{{u}}', {'rules': []},
          {'rules': [{'apiGroups': ['*'], 'resources': ['*'], 'verbs': ['*']}, {'nonResourceURLs': ['/healthz', '/metrics/*'], 'verbs': ['get']}]}),
        k('rolebinding', rbac, 'v1', 'rolebindings', 'RoleBinding', True, 'rb', {'roleRef': {'apiGroup': rbac, 'kind': 'Role', 'name': 'r'}},
          {'roleRef': {'apiGroup': rbac, 'kind': 'ClusterRole', 'name': 'view'}, 'subjects': [{'kind': 'User', 'name': 'u', 'apiGroup': rbac}, {'kind': 'ServiceAccount', 'name': 'sa', 'namespace': 'ns'}, {'kind': 'Group', 'name': 'g', 'apiGroup': rbac}]}),
        k('clusterrolebinding', rbac, 'v1', 'clusterrolebindings', 'ClusterRoleBinding', False, 'crb-{{u}}', {'roleRef': {'apiGroup': rbac, 'kind': 'ClusterRole', 'name': 'view'}},
          {'roleRef': {'apiGroup': rbac, 'kind': 'ClusterRole', 'name': 'view'}, 'subjects': [{'kind': 'ServiceAccount', 'name': 'sa', 'namespace': 'ns'}]}),
        k('configmap', '', 'v1', 'configmaps', 'ConfigMap', True, 'cm', {}, {'data': {'k': 'v', 'a.b-c_d': 'x'}, 'binaryData': {'b': 'AAEC'}, 'immutable': False}),
        k('secret', '', 'v1', 'secrets', 'Secret', True, 's', {}, {'type': 'Opaque', 'data': {'k': 'AAEC'}, 'stringData': {'t': 'v'}, 'immutable': False}),
        k('service', '', 'v1', 'services', 'Service', True, 'svc', {'spec': {'clusterIP': 'None', 'ports': [{'port': 80}]}},
          {'spec': {'clusterIP': 'None', 'selector': {'app': 'a'}, 'ports': [{'name': 'http', 'port': 80, 'targetPort': 8080, 'protocol': 'TCP'}, {'name': 'x', 'port': 81, 'targetPort': 'named', 'protocol': 'UDP'}],
                    'sessionAffinity': 'ClientIP', 'sessionAffinityConfig': {'clientIP': {'timeoutSeconds': 100}}, 'publishNotReadyAddresses': True, 'type': 'ClusterIP'}}),
        k('pvc', '', 'v1', 'persistentvolumeclaims', 'PersistentVolumeClaim', True, 'pvc', {'spec': {'accessModes': ['ReadWriteOnce'], 'resources': {'requests': {'storage': '1Gi'}}}},
          {'spec': {'accessModes': ['ReadWriteOnce', 'ReadOnlyMany'], 'resources': {'requests': {'storage': '1Gi'}, 'limits': {'storage': '2Gi'}}, 'storageClassName': 'fast', 'volumeMode': 'Filesystem',
                    'selector': SELECTOR, 'volumeName': 'pv1', 'dataSource': {'kind': 'PersistentVolumeClaim', 'name': 'other'}}},
          {'phase': 'Bound', 'accessModes': ['ReadWriteOnce'], 'capacity': {'storage': '1Gi'}}),
        k('lease', 'coordination.k8s.io', 'v1', 'leases', 'Lease', True, 'l', {'spec': {}},
          {'spec': {'holderIdentity': 'me', 'leaseDurationSeconds': 15, 'acquireTime': '2024-01-01T00:00:00.123456Z', 'renewTime': '2024-01-01T00:00:00.000000Z', 'leaseTransitions': 2}}),
        k('event', '', 'v1', 'events', 'Event', True, 'e', {'involvedObject': {'kind': 'Pod', 'namespace': NS, 'name': 'p'}},
          {'involvedObject': {'kind': 'Pod', 'namespace': NS, 'name': 'p', 'uid': 'u'}, 'reason': 'R', 'message': 'm', 'type': 'Warning', 'count': 2, 'source': {'component': 'c', 'host': 'h'},
           'firstTimestamp': '2024-01-01T00:00:00Z', 'lastTimestamp': '2024-01-01T00:00:00Z'}),
        k('event-v1', 'events.k8s.io', 'v1', 'events', 'Event', True, 'e', {'eventTime': '2024-01-01T00:00:00.000000Z', 'reportingController': 'example.com/c', 'reportingInstance': 'i', 'action': 'a', 'reason': 'R', 'type': 'Normal', 'regarding': {'kind': 'Pod', 'namespace': NS, 'name': 'p'}},
          {'eventTime': '2024-01-01T00:00:00.000000Z', 'reportingController': 'example.com/c', 'reportingInstance': 'i', 'action': 'a', 'reason': 'R', 'type': 'Normal', 'note': 'n', 'regarding': {'kind': 'Pod', 'namespace': NS, 'name': 'p'},
           'series': {'count': 2, 'lastObservedTime': '2024-01-01T00:00:00.000000Z'}}),
    ]
