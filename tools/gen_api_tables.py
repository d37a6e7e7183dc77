#!/usr/bin/env python3
"""Makes src/api/type_table.cc: the fields of all API structs of Kubernetes 1.37.

usage: gen_api_tables.py api_types_1.37.json zz_generated.openapi.go fieldtypes.tsv > type_table.cc

The first input is a reflection of the Go structs (JSON names, Protobuf numbers, pointers, omitempty, merge keys). The
second is kubernetes@v1.37.2/pkg/generated/openapi/zz_generated.openapi.go, of which only facts are taken: list and map
types, defaults, enums, required. The third is the output of tests/upstream/api/fieldtypes.
"""
import json
import re
import sys

META = 'k8s.io/apimachinery/pkg/apis/meta/v1.'
AGGREGATOR = 'k8s.io/kube-aggregator/pkg/apis/apiregistration/v1.'
APIEXT = 'k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.'

# Types with a JSON form of their own.
SPECIAL = {
    'string': 'kString', 'bool': 'kBool', 'int32': 'kInt32', 'int64': 'kInt64', 'float64': 'kDouble',
    'bytes': 'kBytes', 'any': 'kAny',
    META + 'Time': 'kTime', META + 'MicroTime': 'kMicroTime',
    'k8s.io/apimachinery/pkg/api/resource.Quantity': 'kQuantity',
    'k8s.io/apimachinery/pkg/util/intstr.IntOrString': 'kIntOrString',
    'k8s.io/apimachinery/pkg/runtime.RawExtension': 'kAny',
    META + 'FieldsV1': 'kAny', APIEXT + 'JSON': 'kAny',
    APIEXT + 'JSONSchemaPropsOrBool': 'kSchemaOrAny', APIEXT + 'JSONSchemaPropsOrArray': 'kSchemaOrAny',
    APIEXT + 'JSONSchemaPropsOrStringArray': 'kSchemaOrAny',
}
# Structs that only exist behind a special codec, and Go's own.
SKIPPED = {t for t in SPECIAL if '.' in t} | {'time.Time'}


def field(name, type_name, number, **more):
    return {'n': name, 't': type_name, 'p': 'bytes,%d' % number, 'g': name[0].upper() + name[1:], **more}


def add_aggregator(kinds, types):
    """kube-aggregator's APIService, which is not in the reflected set."""
    type_meta = {'n': '', 't': META + 'TypeMeta', 'Inline': True, 'g': 'TypeMeta'}
    types[AGGREGATOR + 'ServiceReference'] = [
        field('namespace', 'string', 1, Omit=True), field('name', 'string', 2, Omit=True),
        field('port', 'int32', 3, Omit=True, Ptr=True)]
    types[AGGREGATOR + 'APIServiceSpec'] = [
        field('service', AGGREGATOR + 'ServiceReference', 1, Omit=True, Ptr=True),
        field('group', 'string', 2, Omit=True), field('version', 'string', 3, Omit=True),
        field('insecureSkipTLSVerify', 'bool', 4, Omit=True), field('caBundle', 'bytes', 5, Omit=True),
        field('groupPriorityMinimum', 'int32', 7), field('versionPriority', 'int32', 8)]
    types[AGGREGATOR + 'APIServiceCondition'] = [
        field('type', 'string', 1), field('status', 'string', 2),
        field('lastTransitionTime', META + 'Time', 3, Omit=True), field('reason', 'string', 4, Omit=True),
        field('message', 'string', 5, Omit=True)]
    types[AGGREGATOR + 'APIServiceStatus'] = [
        field('conditions', '[]' + AGGREGATOR + 'APIServiceCondition', 1, Omit=True, ps='merge', mk='type')]
    types[AGGREGATOR + 'APIService'] = [
        type_meta, field('metadata', META + 'ObjectMeta', 1, Omit=True),
        field('spec', AGGREGATOR + 'APIServiceSpec', 2, Omit=True),
        field('status', AGGREGATOR + 'APIServiceStatus', 3, Omit=True)]
    types[AGGREGATOR + 'APIServiceList'] = [
        type_meta, field('metadata', META + 'ListMeta', 1, Omit=True),
        field('items', '[]' + AGGREGATOR + 'APIService', 2)]
    for kind in ('APIService', 'APIServiceList'):
        kinds['apiregistration.k8s.io/v1/' + kind] = AGGREGATOR + kind


def openapi_function(go_name):
    """The name of upstream's generated function for a Go type."""
    package, bare = go_name.rsplit('.', 1)
    parts = package.split('/')
    if package.startswith('k8s.io/api/'):
        return 'schema_k8sio_api_%s_%s' % ('_'.join(parts[2:]), bare)
    return 'schema_pkg_apis_%s_%s' % ('_'.join(parts[parts.index('apis') + 1:]), bare) if 'apis' in parts else None


def go_literal_to_json(text):
    text = text.strip().rstrip(',')
    text = re.sub(r'^[a-z0-9]+\.[A-Za-z]+\((.*)\)$', r'\1', text)
    if text == 'map[string]interface{}{}':
        return '{}'
    if re.fullmatch(r'-?[0-9.]+|true|false', text) or re.fullmatch(r'"[^"\\]*"', text):
        return text
    return ''


def read_openapi(path):
    """function name -> {'map_type', 'required', 'fields': {json name: facts}}"""
    facts = {}
    current = prop = None
    pending_list = None
    for line in open(path):
        line = line.rstrip('\n')
        m = re.match(r'func (schema_\w+)\(ref', line)
        if m:
            current = facts[m[1]] = {'map_type': '', 'required': [], 'fields': {}}
            prop = pending_list = None
            continue
        if current is None:
            continue
        tabs = len(line) - len(line.lstrip('\t'))
        text = line.strip()
        m = re.match(r'"([^"]+)": \{$', text)
        if m and tabs == 5:
            prop = current['fields'][m[1]] = {}
            continue
        if tabs <= 4 and prop is not None:
            prop = None
        if prop is None:
            m = re.match(r'Required: \[\]string\{(.*)\},', text)
            if m and tabs == 4:
                current['required'] = re.findall(r'"([^"]+)"', m[1])
            m = re.match(r'"x-kubernetes-map-type": *"(\w+)"', text)
            if m and tabs <= 6:
                current['map_type'] = m[1]
            continue
        if pending_list is not None:
            m = re.match(r'"([^"]+)",$', text)
            if m:
                pending_list.append(m[1])
                continue
            pending_list = None
        if text.startswith('"x-kubernetes-list-map-keys"') and tabs == 8:
            pending_list = prop.setdefault('keys', [])
        m = re.match(r'"x-kubernetes-(list|map)-type": *"(\w+)"', text)
        if m and tabs == 8:
            prop[m[1]] = m[2]
        m = re.match(r'Default: *(.*)$', text)
        if m and tabs == 7:
            prop['default'] = go_literal_to_json(m[1])
        m = re.match(r'Enum: *\[\]interface\{\}\{(.*)\},', text)
        if m and tabs == 7:
            prop['enum'] = re.findall(r'"([^"]*)"', m[1])
    return facts


def default_go_type(f):
    t = f['t'].replace('bytes', '[]uint8')
    return re.sub(r'[\w.\-/]*/', '', t)


def quote(text):
    return json.dumps(text)


def main():
    data = json.load(open(sys.argv[1]))
    kinds, types = data['kinds'], data['types']
    add_aggregator(kinds, types)
    openapi = read_openapi(sys.argv[2])
    go_types = {}
    for line in open(sys.argv[3]):
        struct, name, go_type = line.rstrip('\n').split('\t')
        go_types[struct, name] = go_type
    names = sorted(t for t in types if t not in SKIPPED)
    index = {name: i for i, name in enumerate(names)}
    extras = {('',) * 7: 0}
    rows, type_rows = [], []
    for name in names:
        facts = openapi.get(openapi_function(name) or '', {'map_type': '', 'required': [], 'fields': {}})
        first = len(rows)
        for f in types[name]:
            json_name, inlined = f['n'], bool(f.get('Inline'))
            if json_name == '-' or (json_name == '' and not inlined):
                continue
            t, shape = f['t'], 'kOne'
            for prefix, s in (('map[string][]', 'kMapOfLists'), ('map[string]', 'kMap'), ('[]', 'kList')):
                if t.startswith(prefix):
                    t, shape = t[len(prefix):], s
                    break
            scalar = SPECIAL.get(t, 'kStruct')
            p = facts['fields'].get(json_name, {})
            extra = (f.get('ps', ''), f.get('mk', ''), p.get('list', ''), ','.join(p.get('keys', [])),
                     p.get('map', ''), p.get('default', ''), ','.join(p.get('enum', [])))
            e = extras.setdefault(extra, len(extras))
            number = int(f['p'].split(',')[1]) if 'p' in f else 0
            pointer = '&kTypes[%d]' % index[t] if scalar == 'kStruct' else 'nullptr'
            flags = [f.get('Ptr'), f.get('Omit'), f.get('OmitZero'), inlined, json_name in facts['required']]
            rows.append('{%s, %s, %s, %s, &kExtras[%d], %d, %s, %s, %s},' % (
                quote(json_name), quote(f['g']), quote(go_types.get((name, f['g'])) or default_go_type(f)), pointer, e, number, scalar, shape,
                ', '.join('true' if x else 'false' for x in flags)))
        type_rows.append('{%s, %s, {kFields + %d, %d}},' % (quote(name), quote(facts['map_type']), first,
                                                         len(rows) - first))
    kind_rows = ['{%s, &kTypes[%d]},' % (quote(k), index[kinds[k]])
                 for k in sorted(kinds) if '__internal' not in k and kinds[k] in index]
    out = sys.stdout
    out.write('// Made by tools/gen_api_tables.py; do not edit.\n// clang-format off\n')
    out.write('#include "api/type_table.h"\n\nnamespace drachma::api {\nnamespace {\n')
    out.write('using enum Scalar;\nusing enum Shape;\n\n')
    out.write('constexpr FieldExtras kExtras[] = {\n')
    for extra in extras:
        out.write('{%s},\n' % ', '.join(quote(x) for x in extra))
    out.write('};\n\n}  // namespace\n\nextern const TypeInfo kTypes[%d];\n\nnamespace {\n\n' % len(names))
    out.write('constexpr FieldInfo kFields[] = {\n%s\n};\n\n' % '\n'.join(rows))
    out.write('constexpr KindRow kKindRows[] = {\n%s\n};\n\n}  // namespace\n\n' % '\n'.join(kind_rows))
    out.write('constexpr TypeInfo kTypes[%d] = {\n%s\n};\n\n' % (len(names), '\n'.join(type_rows)))
    out.write('std::span<const TypeInfo> TypeRows() { return kTypes; }\n')
    out.write('std::span<const KindRow> KindRows() { return kKindRows; }\n\n')
    out.write('}  // namespace drachma::api\n')


main()
