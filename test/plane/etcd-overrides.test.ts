import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test, {type ExecutionContext} from 'ava';
import {naming as namingOf} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import {serverOverrides} from '#src/apiserver/registry/server-overrides.js';
import {systemClock} from '#src/base/clock.js';
import {yieldToEventLoop} from '#src/base/turn.js';
import {startPlane, type Plane} from '#src/plane/plane.js';
import {EtcdClient} from '#src/storage/etcd/client.js';
import {GrpcChannel} from '#src/transport/grpc/channel.js';
import {wire} from '#test/apiserver/wire.js';
import {hasKubectl, Kubectl} from '#test/e2e/kubectl.js';
import {etcdMissing, EtcdServer, hasEtcd} from '#test/storage/etcd-server.js';

const naming = namingOf('kubernetes');

const routes = (...overrides: readonly string[]) =>
  serverOverrides(overrides, {servers: ['http://a:1', 'http://b:1'], prefix: '/registry', naming});

test('an override names the keys of a resource, of a group, or of the records of the servers', t => {
  t.deepEqual(routes('/events#http://c:1;http://d:1'), [{urls: ['http://c:1', 'http://d:1'], prefixes: ['/registry/events/']}]);
  t.deepEqual(routes('apps/*#http://c:1', 'apps/deployments#http://d:1'), [
    {
      urls: ['http://c:1'],
      prefixes: ['controllerrevisions', 'daemonsets', 'replicasets', 'statefulsets'].map(path => `/registry/${path}/`),
    },
    {urls: ['http://d:1'], prefixes: ['/registry/deployments/']},
  ]);
  t.deepEqual(routes('/services#http://c:1', '/apiServerIPInfo#http://c:1'), [
    {urls: ['http://c:1'], prefixes: ['/registry/services/specs/', '/registry/ranges/', '/registry/masterleases/']},
  ]);
  t.deepEqual(routes('apiregistration.k8s.io/apiservices#http://c:1'), [
    {urls: ['http://c:1'], prefixes: ['/registry/apiregistration.k8s.io/apiservices/']},
  ]);
});

test('a later override of a resource wins, and the servers of all others are none of their own', t => {
  t.deepEqual(routes('/pods#http://c:1', '/pods#http://d:1'), [{urls: ['http://d:1'], prefixes: ['/registry/pods/']}]);
  t.deepEqual(routes('/pods#http://b:1;http://a:1'), []);
  t.deepEqual(routes('/pods#http://c:1;http://d:1', '/events#http://d:1;http://c:1'), [
    {urls: ['http://d:1', 'http://c:1'], prefixes: ['/registry/pods/', '/registry/events/']},
  ]);
});

test('an override of what is not stored stops the start', t => {
  for (const entry of [
    '/nosuch#http://c:1',
    'example.com/widgets#http://c:1',
    'events.k8s.io/events#http://c:1',
    '/componentstatuses#http://c:1',
  ])
    t.throws(() => routes(entry), {
      message: `--kvstore-servers-overrides ${JSON.stringify(entry)} names no built-in resource that is stored`,
    });
});

const etcdTest = hasEtcd ? test.serial : test.skip;
if (!hasEtcd) console.log(`skipped: ${etcdMissing}`);

const directory = mkdtempSync(join(tmpdir(), 'plat-overrides-'));
process.on('exit', () => rmSync(directory, {recursive: true, force: true}));

const configMaps = '/api/v1/namespaces/default/configmaps';
const events = '/api/v1/namespaces/default/events';
const anEvent = (name: string) => ({
  metadata: {name, namespace: 'default'},
  involvedObject: {kind: 'ConfigMap', namespace: 'default', name: 'a'},
  reason: 'Tested',
  type: 'Normal',
});

interface TwoStores {
  readonly main: EtcdServer;
  readonly other: EtcdServer;
  start(overrides: string, ...args: readonly string[]): Promise<Plane>;
  keys(server: EtcdServer, start: string): Promise<readonly string[]>;
}

/** What a server holds below a key, as other clients of it see it. */
const records = async (server: EtcdServer, start: string) => {
  const channel = new GrpcChannel({servers: [server.url], clock: systemClock});
  try {
    return (await new EtcdClient({channel, clock: systemClock}).range({start, end: `${start}~`})).kvs;
  } finally {
    await channel[Symbol.asyncDispose]();
  }
};

const valueAt = async (server: EtcdServer, key: string): Promise<Buffer | undefined> => (await records(server, key))[0]?.value;

const twoStores = async (t: ExecutionContext): Promise<TwoStores> => {
  const [main, other] = await Promise.all([EtcdServer.start(), EtcdServer.start()]);
  const planes: Plane[] = [];
  t.teardown(async () => {
    for (const server of [main, other]) server.proceed();
    await Promise.all(planes.map(plane => plane.stop()));
    await Promise.all([main.stop(), other.stop()]);
  });
  return {
    main,
    other,
    async start(resource, ...args) {
      const plane = await startPlane({
        apiserverArgs: [`--kvstore-servers=${main.url}`, `--kvstore-servers-overrides=${resource}#${other.url}`, ...args],
        controllerManagerArgs: ['--controllers='],
        listen: false,
      });
      planes.push(plane);
      return plane;
    },
    async keys(server, start) {
      return (await records(server, start)).map(({key}) => key);
    },
  };
};

type Answer = KubeObject & {items: KubeObject[]};
const versionOf = ({metadata}: KubeObject): number => Number(metadata!.resourceVersion);

etcdTest('a resource with servers of its own is kept there, with their versions, also after a new start', async t => {
  const {main, other, start, keys} = await twoStores(t);
  const plane = await start('/events');
  const {get, post, put} = wire(plane.api.handler);
  // The stores count apart.
  for (let i = 0; i < 20; i++) await post(configMaps, {metadata: {name: `m${i}`}});
  const made = (await post(events, anEvent('one'))).json<KubeObject>();
  const listed = (await get(events)).json<Answer>();
  const maps = (await get(configMaps)).json<Answer>();

  t.deepEqual(await keys(other, '/registry/events/'), ['/registry/events/default/one']);
  t.deepEqual(await keys(main, '/registry/events/'), []);
  t.deepEqual(await keys(other, '/registry/configmaps/'), []);
  t.is(versionOf(listed), versionOf(made));
  t.true(versionOf(maps) > versionOf(listed) + 10);
  t.is((await get(`${events}?resourceVersion=${versionOf(listed)}&resourceVersionMatch=Exact`)).status, 200);
  t.is((await get(`${events}?resourceVersion=${versionOf(maps)}&resourceVersionMatch=Exact`)).status, 504);
  t.is((await put(`${events}/one`, {...made, count: 2})).status, 200);
  t.is((await put(`${events}/one`, {...made, count: 3})).status, 409);
  t.is((await get('/apis/events.k8s.io/v1/namespaces/default/events/one')).status, 200);

  await plane.stop();
  const again = wire((await start('/events')).api.handler);
  t.like((await again.get(`${events}/one`)).json(), {count: 2});
  t.is((await again.remove(`${events}/one`)).status, 200);
  t.is((await again.get(`${events}/one`)).status, 404);
  t.is((await again.get(`${configMaps}/m0`)).status, 200);
});

const until = async (holds: () => boolean): Promise<void> => {
  while (!holds()) await yieldToEventLoop();
};

etcdTest('a watch of a resource with servers of its own resumes at their versions, and ends with 410 when they were wiped', async t => {
  const {other, start} = await twoStores(t);
  const plane = await start('/events');
  const {get, post, watch} = wire(plane.api.handler);
  const first = (await post(events, anEvent('one'))).json<KubeObject>();
  await post(events, anEvent('two'));
  using ofEvents = await watch(`${events}?watch=true&resourceVersion=${versionOf(first)}`);
  using ofMaps = await watch(`${configMaps}?watch=true&resourceVersion=${versionOf((await get(configMaps)).json())}`);

  await until(() => ofEvents.events.length > 0);
  t.deepEqual(ofEvents.summaries, ['ADDED two']);
  await other.kill();
  other.restore();
  await other.resume();

  await until(() => ofEvents.ended);
  t.like(ofEvents.events.at(-1), {type: 'ERROR', object: {code: 410}});
  t.is((await get(`${events}/one`)).status, 404);
  t.is((await post(events, anEvent('one'))).status, 201);
  t.is((await post(configMaps, {metadata: {name: 'a'}})).status, 201);
  await until(() => ofMaps.events.length > 0);
  t.deepEqual(ofMaps.summaries, ['ADDED a']);
  t.false(ofMaps.ended);
});

etcdTest('health, metrics and component statuses cover every set of servers', async t => {
  const {other, start} = await twoStores(t);
  const plane = await start('/events', '--kvstore-readycheck-timeout=200ms', '--kvstore-healthcheck-timeout=200ms');
  const {get} = wire(plane.api.handler);
  const lines = async (path: string): Promise<readonly string[]> =>
    (await get(path)).text.split('\n').filter(line => line.includes(']etcd'));

  t.deepEqual(await lines('/readyz?verbose'), [
    '[+]etcd ok',
    '[+]etcd-readiness ok',
    '[+]etcd-override-0 ok',
    '[+]etcd-override-readiness-0 ok',
  ]);
  let metrics = '';
  while (!/storage_cluster_id="etcd-1"/.test(metrics)) {
    await yieldToEventLoop();
    metrics = (await get('/metrics')).text;
  }
  t.regex(metrics, /^apiserver_storage_size_bytes\{storage_cluster_id="etcd-0"\} [1-9]\d+$/m);
  other.pause();
  t.deepEqual(await lines('/readyz?verbose'), [
    '[+]etcd ok',
    '[+]etcd-readiness ok',
    '[-]etcd-override-0 failed: reason withheld',
    '[-]etcd-override-readiness-0 failed: reason withheld',
  ]);
  t.is((await get('/readyz?exclude=etcd&exclude=etcd-readiness')).status, 200);
  t.is((await get(`${configMaps}/none`)).status, 404);
  other.proceed();
  const {items} = (await get('/api/v1/componentstatuses')).json<Answer>();
  t.deepEqual(
    items.map(({metadata}) => metadata!.name!).filter(name => name.startsWith('etcd')),
    ['etcd-0', 'etcd-1'],
  );
});

etcdTest('addresses and ports of services are allocated where the services are kept', async t => {
  const {main, other, start, keys} = await twoStores(t);
  const plane = await start('/services');
  const {post, put, remove} = wire(plane.api.handler);
  const services = '/api/v1/namespaces/default/services';
  const aService = (name: string, nodePort?: number) => ({metadata: {name}, spec: {type: 'NodePort', ports: [{port: 80, nodePort}]}});

  const made = (await post(services, aService('a', 30_001))).json<KubeObject>();
  t.is((await post(services, aService('b', 30_001))).status, 422);
  t.is(
    (await put(`${services}/a`, {...made, spec: {...(made as {spec?: object}).spec, type: 'ClusterIP', ports: [{port: 80}]}})).status,
    200,
  );
  t.is((await post(services, aService('b', 30_001))).status, 201);

  t.deepEqual(
    await keys(other, '/registry/services/specs/default/'),
    ['a', 'b', 'kubernetes'].map(name => `/registry/services/specs/default/${name}`),
  );
  t.deepEqual(await keys(other, '/registry/ranges/'), ['/registry/ranges/servicenodeports']);
  t.deepEqual(await keys(main, '/registry/ranges/'), []);
  t.is((await remove(`${services}/b`)).status, 200);
});

etcdTest('encryption and large requests reach both stores', async t => {
  const {main, other, start} = await twoStores(t);
  const path = join(directory, 'encryption.yaml');
  writeFileSync(
    path,
    `apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [secrets, configmaps]
  providers:
  - aesgcm: {keys: [{name: one, secret: ${Buffer.alloc(32, 7).toString('base64')}}]}
`,
  );
  const plane = await start('/secrets', `--encryption-provider-config=${path}`);
  const {get, post} = wire(plane.api.handler);
  const data = Object.fromEntries(Array.from({length: 20_000}, (_, i) => [`key-${i}`, 'value']));

  t.is((await post('/api/v1/namespaces/default/secrets', {metadata: {name: 'a'}, stringData: data})).status, 201);
  t.is((await post(configMaps, {metadata: {name: 'a'}, data})).status, 201);

  for (const [server, key] of [
    [other, '/registry/secrets/default/a'],
    [main, '/registry/configmaps/default/a'],
  ] as const)
    t.is((await valueAt(server, key))?.toString('latin1', 0, 14), 'k8s:enc:aesgcm');
  t.is(Object.keys((await get('/api/v1/namespaces/default/secrets/a')).json<{data: object}>().data).length, 20_000);
});

(hasEtcd && hasKubectl() ? test.serial : test.serial.skip)('kubectl works on resources in both stores', async t => {
  const {main, other} = await twoStores(t);
  const plane = await startPlane({
    dataDir: join(directory, 'kubectl'),
    apiserverArgs: [`--kvstore-servers=${main.url}`, `--kvstore-servers-overrides=/events#${other.url},/secrets#${other.url}`],
    controllerManagerArgs: ['--controllers='],
  });
  t.teardown(() => plane.stop());
  using kubectl = new Kubectl(join(directory, 'kubectl', 'kubeconfig'));

  await kubectl.okay(['create', 'secret', 'generic', 's', '--from-literal=x=1']);
  await kubectl.okay(['create', 'configmap', 'c', '--from-literal=x=1']);
  await kubectl.okay(['label', 'secret/s', 'configmap/c', 'a=b']);
  t.is(await kubectl.okay(['get', 'secrets,configmaps', '-l', 'a=b', '-o', 'name']), 'secret/s\nconfigmap/c\n');
  await kubectl.okay(['delete', 'secret/s', 'configmap/c']);
  t.is(await kubectl.okay(['get', 'secrets,configmaps', '-l', 'a=b', '-o', 'name']), '');
});
