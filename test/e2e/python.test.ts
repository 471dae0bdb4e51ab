import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {startPlane} from '#src/plane/plane.js';
import {hasPython, runPython} from './python.js';

/** The beginning of each program. `report` prints a fact for the test to check. */
const head = `
import json, sys, threading, time
from kubernetes import client, config, dynamic, watch
from kubernetes.client.rest import ApiException
from kubernetes.dynamic.exceptions import ConflictError, NotFoundError
config.load_kube_config(sys.argv[1])
facts = {}
def report(name, value): facts[name] = value
def refused(call, *args, **more):
    try:
        call(*args, **more)
    except ApiException as error:
        return [error.status, json.loads(error.body)['reason']]
core = client.CoreV1Api()
`;

const builtIn = `
made = core.create_namespaced_config_map('default', client.V1ConfigMap(metadata=client.V1ObjectMeta(name='a', labels={'app': 'x'}), data={'k': 'v'}))
report('made', [made.metadata.name, made.metadata.creation_timestamp.tzinfo is not None])
report('again', refused(core.create_namespaced_config_map, 'default', client.V1ConfigMap(metadata=client.V1ObjectMeta(name='a'))))
core.create_namespaced_config_map('default', {'metadata': {'name': 'b', 'labels': {'app': 'x'}}, 'data': {}})
first = core.list_namespaced_config_map('default', label_selector='app=x', limit=1)
rest = core.list_namespaced_config_map('default', label_selector='app=x', limit=1, _continue=first.metadata._continue)
report('pages', [[item.metadata.name for item in page.items] for page in (first, rest)])
report('patched', core.patch_namespaced_config_map('a', 'default', {'data': {'k': 'w', 'gone': None}}).data)
stale = core.read_namespaced_config_map('a', 'default')
stale.metadata.resource_version = made.metadata.resource_version
report('stale', refused(core.replace_namespaced_config_map, 'a', 'default', stale))

seen = []
watcher = watch.Watch()
for event in watcher.stream(core.list_namespaced_config_map, 'default', label_selector='app=x', resource_version=made.metadata.resource_version, timeout_seconds=30):
    seen.append(event['type'] + ' ' + event['object'].metadata.name)
    if len(seen) == 2: core.delete_namespaced_config_map('a', 'default', body=client.V1DeleteOptions(preconditions=client.V1Preconditions(uid=made.metadata.uid)))
    if event['type'] == 'DELETED': watcher.stop()
report('seen', seen)
report('resumed', [event['object'].metadata.name for event in watch.Watch().stream(core.list_namespaced_config_map, 'default', label_selector='app=x', timeout_seconds=1)])

apps = client.AppsV1Api()
labels = {'app': 'web'}
template = client.V1PodTemplateSpec(metadata=client.V1ObjectMeta(labels=labels), spec=client.V1PodSpec(containers=[client.V1Container(name='c', image='i', ports=[client.V1ContainerPort(container_port=80)])]))
apps.create_namespaced_deployment('default', client.V1Deployment(metadata=client.V1ObjectMeta(name='web'), spec=client.V1DeploymentSpec(replicas=1, selector=client.V1LabelSelector(match_labels=labels), template=template)))
apps.patch_namespaced_deployment_scale('web', 'default', {'spec': {'replicas': 3}})
report('scale', apps.read_namespaced_deployment_scale('web', 'default').spec.replicas)
changed = apps.patch_namespaced_deployment('web', 'default', {'spec': {'template': {'spec': {'containers': [{'name': 'c', 'image': 'j'}]}}}})
report('merged', [[c.image, c.ports[0].container_port] for c in changed.spec.template.spec.containers])
report('gone', apps.delete_namespaced_deployment('web', 'default', propagation_policy='Background').status)
report('missing', refused(core.read_namespaced_secret, 'none', 'default'))
report('version', client.VersionApi().get_code().major)
`;

const definitions = `
extensions = client.ApiextensionsV1Api()
schema = client.V1JSONSchemaProps(type='object', properties={'spec': client.V1JSONSchemaProps(type='object', required=['size'], properties={'size': client.V1JSONSchemaProps(type='integer', minimum=1), 'color': client.V1JSONSchemaProps(type='string', default='red')}), 'status': client.V1JSONSchemaProps(type='object', x_kubernetes_preserve_unknown_fields=True)})
version = client.V1CustomResourceDefinitionVersion(name='v1', served=True, storage=True, schema=client.V1CustomResourceValidation(open_apiv3_schema=schema), subresources=client.V1CustomResourceSubresources(status={}))
names = client.V1CustomResourceDefinitionNames(plural='gadgets', kind='Gadget', short_names=['gd'])
extensions.create_custom_resource_definition(client.V1CustomResourceDefinition(metadata=client.V1ObjectMeta(name='gadgets.example.com'), spec=client.V1CustomResourceDefinitionSpec(group='example.com', scope='Namespaced', names=names, versions=[version])))
watcher = watch.Watch()
for event in watcher.stream(extensions.list_custom_resource_definition, field_selector='metadata.name=gadgets.example.com', timeout_seconds=30):
    if any(c.type == 'Established' and c.status == 'True' for c in (event['object'].status.conditions or [])): watcher.stop()
report('definitions', [[item.metadata.name, item.status.accepted_names.list_kind] for item in extensions.list_custom_resource_definition().items])

custom = client.CustomObjectsApi()
place = ('example.com', 'v1', 'default', 'gadgets')
gadget = lambda name, **spec: {'apiVersion': 'example.com/v1', 'kind': 'Gadget', 'metadata': {'name': name}, 'spec': spec}
report('gadget', custom.create_namespaced_custom_object(*place, gadget('g', size=1))['spec'])
report('wrong', refused(custom.create_namespaced_custom_object, *place, gadget('w', size=0)))
version_before = custom.list_namespaced_custom_object(*place)['metadata']['resourceVersion']
report('gadgetPatched', custom.patch_namespaced_custom_object(*place, 'g', {'spec': {'size': 2}})['spec']['size'])
report('status', custom.patch_namespaced_custom_object_status(*place, 'g', {'status': {'done': True}})['status'])
whole = custom.get_namespaced_custom_object(*place, 'g')
whole['spec']['color'] = 'blue'
report('replaced', custom.replace_namespaced_custom_object(*place, 'g', whole)['spec'])
report('conflict', refused(custom.replace_namespaced_custom_object, *place, 'g', whole))
report('everywhere', [item['metadata']['name'] for item in custom.list_cluster_custom_object('example.com', 'v1', 'gadgets')['items']])
custom.delete_namespaced_custom_object(*place, 'g')
seen = []
watcher = watch.Watch()
for event in watcher.stream(custom.list_namespaced_custom_object, *place, resource_version=version_before, timeout_seconds=30):
    seen.append(event['type'])
    if event['type'] == 'DELETED': watcher.stop()
report('gadgetSeen', seen)
`;

const dynamics = `
api = dynamic.DynamicClient(client.ApiClient(), cache_file=sys.argv[2])
gadgets = api.resources.get(api_version='example.com/v1', kind='Gadget')
report('found', [gadgets.name, gadgets.namespaced, sorted(gadgets.verbs), sorted(gadgets.subresources), api.resources.get(short_names=['gd']).kind])
gadgets.create(body=gadget('d', size=3), namespace='default')
report('applied', gadgets.patch(body={'metadata': {'labels': {'a': 'b'}}}, name='d', namespace='default', content_type='application/merge-patch+json').metadata.labels.a)
report('items', [item.metadata.name for item in gadgets.get(namespace='default', label_selector='a=b').items])
seen = []
for event in gadgets.watch(namespace='default', timeout=10):
    seen.append(event['type'])
    if len(seen) == 1: gadgets.delete(name='d', namespace='default')
    else: break
report('dynamicSeen', seen)
try: gadgets.get(name='d', namespace='default')
except NotFoundError as error: report('dynamicMissing', error.summary().split('\\n')[0])
report('podKind', api.resources.get(api_version='v1', kind='Pod').path('p', 'default'))
leases = client.CoordinationV1Api()
from datetime import datetime, timezone
now = datetime(2024, 1, 2, 3, 4, 5, 678901, timezone.utc)
lease = leases.create_namespaced_lease('default', client.V1Lease(metadata=client.V1ObjectMeta(name='leader'), spec=client.V1LeaseSpec(holder_identity='me', lease_duration_seconds=15, acquire_time=now, renew_time=now)))
report('lease', lease.spec.renew_time == now)
extensions.delete_custom_resource_definition('gadgets.example.com')
until = time.time() + 20
while refused(extensions.read_custom_resource_definition, 'gadgets.example.com') is None and time.time() < until: pass
report('afterwards', refused(extensions.read_custom_resource_definition, 'gadgets.example.com'))
`;

(hasPython() ? test : test.skip)(
  'the Python client works with built-in kinds, definitions, custom objects, watches, and discovered kinds',
  async t => {
    const directory = mkdtempSync(join(tmpdir(), 'plat-python-'));
    const settings = join(directory, 'settings.yaml');
    await using _ = await startPlane({naming: 'kubernetes', kubeconfig: settings, controllerManagerArgs: ['--controllers=']});
    const facts = JSON.parse(
      await runPython(
        [head, builtIn, definitions, dynamics, 'print(json.dumps(facts))'].join('\n'),
        settings,
        join(directory, 'discovered.json'),
      ),
    ) as Record<string, unknown>;
    rmSync(directory, {recursive: true, force: true});

    t.deepEqual(facts, {
      made: ['a', true],
      again: [409, 'AlreadyExists'],
      pages: [['a'], ['b']],
      patched: {k: 'w'},
      stale: [409, 'Conflict'],
      seen: ['ADDED b', 'MODIFIED a', 'DELETED a'],
      resumed: ['b'],
      scale: 3,
      merged: [['j', 80]],
      gone: 'Success',
      missing: [404, 'NotFound'],
      version: '1',
      definitions: [['gadgets.example.com', 'GadgetList']],
      gadget: {size: 1, color: 'red'},
      wrong: [422, 'Invalid'],
      gadgetPatched: 2,
      status: {done: true},
      replaced: {size: 2, color: 'blue'},
      conflict: [409, 'Conflict'],
      everywhere: ['g'],
      gadgetSeen: ['MODIFIED', 'MODIFIED', 'MODIFIED', 'DELETED'],
      found: ['gadgets', true, ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'], ['status'], 'Gadget'],
      applied: 'b',
      items: ['d'],
      dynamicSeen: ['ADDED', 'DELETED'],
      dynamicMissing: 'gadgets.example.com "d" not found',
      podKind: '/api/v1/namespaces/default/pods/p',
      lease: true,
      afterwards: [404, 'NotFound'],
    });
  },
);
