import {createServer} from 'node:http';
import {once} from 'node:events';
import {writeFileSync} from 'node:fs';
import type {AddressInfo} from 'node:net';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {parse} from 'yaml';
import {noLog} from '#src/base/log.js';
import {
  createClient,
  createManager,
  customKind,
  defineController,
  isAlreadyExists,
  isConflict,
  setCondition,
  StatusError,
  type ClientOptions,
  type KubeObject,
} from '#src/operator/index.js';
import {ConfigMap, Deployment, Pod, Secret, SelfSubjectReview, ServiceAccount} from '#src/operator/kinds.js';
import {startPlane} from '#src/plane/plane.js';
import {aDirectory} from '#test/cli/programs.js';
import {aPlane as aPlaneWith} from '#test/controllers/plane.js';

const aPlane = async (t: ExecutionContext) => {
  const plane = await aPlaneWith({naming: 'kubernetes', controllers: []});
  t.teardown(() => plane.stop());
  return plane;
};

const metadata = {name: 'a', namespace: 'default'};

test('an apply says what it did: created, unchanged, changed', async t => {
  const client = (await aPlane(t)).client();

  const made = await client.apply(ConfigMap, {metadata, data: {a: '1'}});
  const same = await client.apply(ConfigMap, {metadata, data: {a: '1'}});
  const other = await client.apply(ConfigMap, {metadata, data: {a: '2'}});

  t.deepEqual([made.outcome, same.outcome, other.outcome], ['created', 'unchanged', 'changed']);
  t.like(other.object, {apiVersion: 'v1', kind: 'ConfigMap', data: {a: '2'}});
  t.is(same.object.metadata.resourceVersion, made.object.metadata.resourceVersion);
  const dry = {dryRun: true};
  t.is((await client.apply(ConfigMap, {metadata, data: {a: '2'}}, dry)).outcome, 'unchanged');
  t.is((await client.apply(ConfigMap, {metadata, data: {a: '3'}}, dry)).outcome, 'changed');
  t.is((await client.apply(ConfigMap, {metadata: {...metadata, name: 'b'}}, dry)).outcome, 'created');
  t.is((await client.get(ConfigMap, metadata))?.data?.['a'], '2');
});

test('an apply gives parts of the fields at any depth, and says that it was changed where it must not read', async t => {
  const plane = await aPlane(t);
  const containers = [{name: 'a', image: 'a:1'}];
  const labels = {app: 'a'};
  const client = plane.client();
  await client.create(Deployment, {metadata, spec: {selector: {matchLabels: labels}, template: {metadata: {labels}, spec: {containers}}}});

  const scaled = await client.apply(Deployment, {metadata, spec: {replicas: 3}}, {fieldManager: 'scaler'});

  t.is(scaled.outcome, 'changed');
  t.is(scaled.object.spec?.replicas, 3);
  t.deepEqual(
    scaled.object.metadata.managedFields?.map(({manager, operation}) => `${manager} ${operation}`),
    ['scaler Apply', 'plat Update'],
  );
  await plane.apply([
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: {name: 'writer'},
      rules: [{apiGroups: [''], resources: ['configmaps'], verbs: ['patch', 'create']}],
    },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: {name: 'writer'},
      roleRef: {apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'writer'},
      subjects: [{kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'writer'}],
    },
  ]);
  const writer = plane.client({name: 'writer', groups: ['system:authenticated']});
  t.is((await writer.apply(ConfigMap, {metadata})).outcome, 'created');
  t.is((await writer.apply(ConfigMap, {metadata})).outcome, 'changed');
});

test('a body that says another kind or version is refused in words, and one that says its own is sent', async t => {
  const client = (await aPlane(t)).client();
  const secret = {apiVersion: 'v1', kind: 'Secret', metadata};

  for (const write of [
    () => client.apply(ConfigMap, secret),
    () => client.create(ConfigMap, secret),
    () => client.createOrPatch(ConfigMap, secret, () => {}),
    () => client.update(ConfigMap, secret),
  ])
    await t.throwsAsync(write(), {
      instanceOf: TypeError,
      message: 'the body of ConfigMap (v1) says kind Secret: leave it out, it is that of the handle',
    });
  const old = {apiVersion: 'apps/v1beta1', metadata};
  await t.throwsAsync(client.apply(Deployment, old), {message: /^the body of Deployment \(apps\/v1\) says apiVersion apps\/v1beta1/});
  t.is((await client.create(Secret, secret)).kind, 'Secret');
});

test('a client may be spread, and be the prototype of another, as wrappers in tests do', async t => {
  const client = (await aPlane(t)).client();
  for (const wrapped of [{...client}, Object.create(client) as typeof client]) {
    t.is(wrapped.naming, client.naming);
    t.truthy(wrapped.resource(ConfigMap).list);
  }
});

test('objects are created, replaced, patched and deleted, by key or by what was read', async t => {
  const client = (await aPlane(t)).client();

  const made = await client.create(ConfigMap, {metadata: {generateName: 'map-', namespace: 'default'}, data: {a: '1'}});
  t.regex(made.metadata.name, /^map-/);
  const patched = await client.patch(made, draft => {
    draft.data = {...draft.data, b: '2'};
  });
  t.is(await client.patch(patched, () => {}), patched);
  t.true(isConflict(await t.throwsAsync(client.patch(made, draft => void (draft.data = {})))));
  const replaced = await client.update(ConfigMap, {...patched, data: {c: '3'}}, {fieldManager: 'own'});
  t.deepEqual(replaced.data, {c: '3'});
  t.is(
    await client
      .addFinalizer(replaced, 'example.com/a')
      .then(each => client.addFinalizer(each, 'example.com/a'))
      .then(each => each.metadata.finalizers?.length),
    1,
  );
  await client.delete(ConfigMap, made.metadata, {dryRun: true});
  await client.delete(replaced);
  const going = await client.get(ConfigMap, made.metadata);
  t.truthy(going?.metadata.deletionTimestamp);
  await client.removeFinalizer(going!, 'example.com/a');
  t.is(await client.get(ConfigMap, made.metadata), undefined);
  await client.delete(ConfigMap, made.metadata);
  await client.delete(replaced);
  await client.removeFinalizer(going!, 'example.com/a');
  t.true(isAlreadyExists(await t.throwsAsync(Promise.all([client.create(Secret, {metadata}), client.create(Secret, {metadata})]))));
});

test('createOrPatch says what it did, and items of lists know their kind', async t => {
  const client = (await aPlane(t)).client();
  const ensure = (value: string) =>
    client.createOrPatch(ConfigMap, {metadata, data: {first: 'yes'}}, draft => {
      draft.data = {...draft.data, value};
    });

  const outcomes = [(await ensure('1')).outcome, (await ensure('1')).outcome, (await ensure('2')).outcome];
  const [map] = (await client.list(ConfigMap, {namespace: 'default', fieldSelector: 'metadata.name=a'})).items;

  t.deepEqual(outcomes, ['created', 'unchanged', 'changed']);
  t.like(map, {apiVersion: 'v1', kind: 'ConfigMap', data: {first: 'yes', value: '2'}});
  t.is((await client.patch(map!, draft => void (draft.immutable = true))).immutable, true);
  await client.delete(map!);
});

test('a write can be validated strictly, and go to a subresource', async t => {
  const client = (await aPlane(t)).client();
  const spec = {containers: [{name: 'a', image: 'a'}]};
  await client.create(ServiceAccount, {metadata: {name: 'default', namespace: 'default'}});
  const pod = await client.create(Pod, {metadata, spec: {...spec, schedulerName: 'none', automountServiceAccountToken: false}});

  const unknown = {metadata, dat: {}};
  for (const write of [
    () => client.apply(ConfigMap, unknown, {fieldValidation: 'Strict'}),
    () => client.create(ConfigMap, unknown, {fieldValidation: 'Strict'}),
    () => client.patch(pod, draft => Object.assign(draft, {dat: 1}), {fieldValidation: 'Strict'}),
  ])
    t.regex((await t.throwsAsync(write(), {instanceOf: StatusError})).message, /unknown field "dat"|\.dat: field not declared/);
  const ready = await client.status(
    pod,
    status => {
      status.phase = 'Running';
    },
    setCondition('Ready', 'True', 'Seen'),
  );
  t.like(ready.status, {phase: 'Running', conditions: [{type: 'Ready', status: 'True'}]});
  t.is((await client.status(ready, [() => ({phase: 'Failed'})], {dryRun: true})).status?.phase, 'Failed');
  const applied = await client.apply(Pod, {metadata, status: {message: 'applied'}}, {subresource: 'status'});
  t.like(applied.object.status, {phase: 'Running', message: 'applied'});
  t.is((await client.get(Pod, metadata, {subresource: 'status'}))?.status?.message, 'applied');
  await client.create(Pod, {apiVersion: 'policy/v1', kind: 'Eviction', metadata}, {subresource: 'eviction', of: metadata, dryRun: true});
  const labels = {app: 'a'};
  await client.create(Deployment, {metadata, spec: {selector: {matchLabels: labels}, template: {metadata: {labels}, spec}}});
  const scale = {apiVersion: 'autoscaling/v1', kind: 'Scale', metadata, spec: {replicas: 7}};
  t.is((await client.update(Deployment, scale, {subresource: 'scale', of: metadata})).spec.replicas, 7);
  t.like(await client.get(Deployment, metadata, {subresource: 'scale'}), {kind: 'Scale', spec: {replicas: 7}});
});

test('a client of any cluster is made from the path, the text or the content of a kubeconfig, and acts as another user', async t => {
  const plane = await startPlane({controllerManagerArgs: ['--controllers=']});
  t.teardown(() => plane.stop());
  const file = join(aDirectory(), 'kubeconfig');
  writeFileSync(file, plane.kubeconfig);
  const whoami = async (options: ClientOptions) => {
    await using client = await createClient(options);
    t.is(client.server, plane.url);
    t.is(client.namespace, 'default');
    return (await client.create(SelfSubjectReview, {metadata: {name: 'unused'}})).status?.userInfo;
  };
  const impersonate = {user: 'jane', groups: ['team-a'], uid: '7', extra: {scopes: ['view']}};

  const administrators = [file, plane.kubeconfig, parse(plane.kubeconfig) as object].map(kubeconfig => whoami({kubeconfig}));
  for (const info of await Promise.all(administrators)) t.true(info?.groups?.includes('system:masters'));
  t.like(await whoami({kubeconfig: file, impersonate}), {
    username: 'jane',
    uid: '7',
    groups: ['team-a', 'system:authenticated'],
    extra: {scopes: ['view']},
  });
  await t.throwsAsync(createClient({kubeconfig: file, context: 'absent'}), {message: /absent/});
  await t.throwsAsync(createClient({kubeconfig: {clusters: []}}), {message: 'kubeconfig: no current-context is set'});
  await t.throwsAsync(createClient({kubeconfig: file, qps: -1}), {instanceOf: TypeError});
});

test('a client keeps to its rate', async t => {
  const plane = await startPlane({controllerManagerArgs: ['--controllers=']});
  t.teardown(() => plane.stop());
  await using client = await createClient({kubeconfig: plane.kubeconfig, qps: 20, burst: 2});
  const started = performance.now();
  for (let request = 0; request < 7; request++) await client.list(ConfigMap, {namespace: 'default'});

  t.true(performance.now() - started >= 240, 'two at once, and five that wait 50 ms each');
});

interface Task extends KubeObject {
  spec: {text: string};
}
const Task = customKind<Task, 'Task'>({group: 'example.com', version: 'v1', kind: 'Task', plural: 'tasks'});

test('a manager runs inside of a server that is there already, and ends with its signal alone', async t => {
  const preserving = {type: 'object', 'x-kubernetes-preserve-unknown-fields': true};
  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {name: 'tasks.example.com'},
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: {kind: 'Task', plural: 'tasks'},
      versions: [{name: 'v1', served: true, storage: true, schema: {openAPIV3Schema: preserving}}],
    },
  };
  const plane = await startPlane({controllerManagerArgs: ['--controllers='], manifests: [definition]});
  t.teardown(() => plane.stop());
  await using client = await createClient({kubeconfig: plane.kubeconfig, userAgent: 'tasks/1.0'});
  const texts = defineController({
    name: 'texts',
    for: Task,
    async reconcile({object, client: own}) {
      if (object) await own.apply(ConfigMap, {metadata: {...metadata, name: object.metadata.name}, data: {text: object.spec.text}});
    },
  });
  const manager = createManager({controllers: [texts], client, log: noLog});
  const listeners = process.listenerCount('SIGTERM');
  const server = createServer((_, response) => {
    void manager.readiness().then(({status, body}) => response.writeHead(status).end(body));
  }).listen(0);
  await once(server, 'listening');
  t.teardown(() => server.close());
  const stop = new AbortController();
  const run = manager.run(stop.signal);
  await manager.ready;

  const {outcome} = await client.apply(Task, {metadata, spec: {text: 'hello'}});
  t.is(outcome, 'created');
  while (!(await client.get(ConfigMap, metadata))) await new Promise(resolve => setTimeout(resolve, 10));

  const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  t.deepEqual([answer.status, await answer.text()], [200, 'ok']);
  t.is(process.listenerCount('SIGTERM'), listeners);
  const managers = (await client.get(ConfigMap, metadata))?.metadata.managedFields?.map(({manager: name}) => name);
  t.deepEqual(managers, ['texts']);
  stop.abort();
  t.is(await run, 'stopped');
});
