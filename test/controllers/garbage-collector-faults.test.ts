import test, {type ExecutionContext} from 'ava';
import garbageCollector from '#controllers/garbage-collector/controller.js';
import {KindMap} from '#controllers/garbage-collector/kind-map.js';
import {Live} from '#controllers/garbage-collector/live.js';
import {discover} from '#controllers/shared/discovery.js';
import {kinds} from '#src/api/kinds/index.js';
import {conflict, isConflict, isNotFound, serviceUnavailable, unsupportedMediaType} from '#src/api/status.js';
import type {ConfigMap, KubeObject, OwnerReference} from '#src/api/types.js';
import {seededRandom} from '#src/base/random.js';
import type {Client, ResourceClient} from '#src/client/client.js';
import type {DebugPages} from '#src/runtime/controller.js';
import type {ManagerOptions} from '#src/runtime/manager.js';
import {startServer} from '#test/fixtures/server.js';
import {FaultyClient} from '#test/runtime/faulty-client.js';
import {startManager} from '#test/runtime/environment.js';

const namespace = 'x';
const options = {enableGarbageCollector: true, concurrentGcSyncs: 20};
const ref = ({metadata}: KubeObject, rest: Partial<OwnerReference> = {}): OwnerReference => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  name: metadata!.name!,
  uid: metadata!.uid!,
  ...rest,
});

/** The collector alone over a real server, with a client of its own that can be made to fail. */
const collecting = async (
  t: ExecutionContext,
  managerOptions: Partial<ManagerOptions> = {},
  server = startServer({garbageCollector: true}),
) => {
  const env = startManager(t, [garbageCollector], {options, ...managerOptions}, server);
  const maps = env.client.resource(kinds.configMaps);
  const create = async (
    name: string,
    ownerReferences: OwnerReference[] = [],
    metadata: KubeObject['metadata'] = {},
  ): Promise<ConfigMap> => {
    const created = await maps.create({metadata: {namespace, name, ownerReferences, ...metadata}});
    await env.clock.drain();
    return created;
  };
  const remove = async (name: string, propagationPolicy: 'Background' | 'Foreground' | 'Orphan' = 'Background') => {
    await maps.delete(name, {namespace, propagationPolicy});
    await env.clock.drain();
  };
  const names = async () => (await maps.list({namespace})).items.map(({metadata}) => metadata!.name);
  await env.start();
  return {...env, maps, create, remove, names};
};

const taken = (times: number) => Array.from({length: times}, () => conflict({group: '', resource: 'configmaps'}, 'owner'));

for (const call of ['get configmaps', 'delete configmaps']) {
  test(`a ${call.split(' ')[0]} that fails is tried again soon`, async t => {
    const {clock, own, create, remove, names} = await collecting(t);
    await create('child', [ref(await create('owner'))]);
    own.fail(call, serviceUnavailable('away'), serviceUnavailable('away'));

    await remove('owner');
    t.deepEqual(await names(), ['child']);
    await clock.advance(5 + 10);

    t.deepEqual(await names(), []);
  });
}

test('a finalizer is taken off although others write to the object, up to four times in a row', async t => {
  const {clock, own, create, remove, names, lines} = await collecting(t);
  await create('owner');
  own.fail('patch configmaps', ...taken(4));

  await remove('owner', 'Foreground');
  t.deepEqual(await names(), ['owner']);
  await clock.advance(2000);

  t.deepEqual(await names(), []);
  t.deepEqual(
    lines.filter(line => line.startsWith('error')),
    [],
  );
});

test('after five conflicts the finalizer is tried to be taken off again, later', async t => {
  const {clock, own, create, remove, names, fields} = await collecting(t);
  await create('owner');
  own.fail('patch configmaps', ...taken(5));

  await remove('owner', 'Foreground');
  await clock.advance(10_000);

  t.deepEqual(await names(), []);
  t.true(
    fields.some(({err}) =>
      /updateMaxRetries\(5\) has reached\. The garbage collector will retry later for owner \[v1\/ConfigMap, namespace: x, name: owner, uid: .*\]/.test(
        String(err),
      ),
    ),
  );
});

for (const [what, policy] of [
  ['drops', 'Background'],
  ['is parted from', 'Orphan'],
] as const) {
  test(`a kind without strategic merge ${what} its owners nevertheless`, async t => {
    const {own, maps, create, remove} = await collecting(t);
    const [owner, other] = [await create('owner'), await create('other')];
    await create('child', [ref(owner), ref(other)]);
    own.fail('patch configmaps', unsupportedMediaType(['application/merge-patch+json']));

    await remove('owner', policy);

    t.deepEqual((await maps.get('child', {namespace})).metadata?.ownerReferences, [ref(other)]);
  });
}

test('a circle that includes a kind without strategic merge patches is broken too', async t => {
  const {own, clock, maps, create, remove, names} = await collecting(t);
  const [one, two] = [await create('one'), await create('two')];
  for (const [child, owner] of [
    [one, two],
    [two, one],
  ] as const) {
    await maps.patch(child.metadata!.name!, 'merge', {metadata: {ownerReferences: [ref(owner, {blockOwnerDeletion: true})]}}, {namespace});
  }
  await clock.drain();
  own.fail('patch configmaps', unsupportedMediaType(['application/merge-patch+json']));

  await remove('one', 'Foreground');
  await clock.advance(1000);

  t.deepEqual(await names(), []);
});

test('an owner keeps its finalizer until each of its dependents was parted from it', async t => {
  const {clock, own, maps, create, remove, names} = await collecting(t);
  const owner = await create('owner');
  for (const name of ['a', 'b']) await create(name, [ref(owner)]);
  own.fail('patch configmaps', serviceUnavailable('away'));

  await remove('owner', 'Orphan');
  t.deepEqual(await names(), ['a', 'b', 'owner']);
  await clock.advance(5);

  t.deepEqual(await names(), ['a', 'b']);
  for (const name of ['a', 'b']) t.is((await maps.get(name, {namespace})).metadata?.ownerReferences, undefined);
});

/** A client through which something else happens first at the first call of that verb. */
const interrupted = (client: Client, verb: 'delete' | 'patch', interrupt: () => Promise<unknown>): Client => {
  let isFirst = true;
  const first = async () => {
    if (isFirst) await interrupt();
    isFirst = false;
  };
  return {
    ...client,
    metadata(kind) {
      const of = client.metadata(kind);
      const methods: Partial<ResourceClient<KubeObject>> = {
        get: (...args) => of.get(...args),
        delete: async (...args) => (verb === 'delete' && (await first()), of.delete(...args)),
        patch: async (...args) => (verb === 'patch' && (await first()), of.patch(...args)),
      };
      return methods as ResourceClient<KubeObject>;
    },
  };
};

const hold = 'example.com/hold';

const live = async (interrupt: (maps: ResourceClient<ConfigMap>) => Promise<unknown>, finalizers: string[] = []) => {
  const {clientOf} = startServer();
  const client = clientOf();
  const maps = client.resource(kinds.configMaps);
  const created = await maps.create({
    metadata: {namespace, name: 'child', finalizers, ownerReferences: [ref({metadata: {name: 'owner', uid: 'u'}})]},
  });
  const map = new KindMap(interrupted(client, 'delete', () => interrupt(maps)));
  map.reset((await discover(client)).served);
  const server = new Live({kinds: map, random: seededRandom(1), pause: () => Promise.resolve()});
  const identity = {apiVersion: 'v1', kind: 'ConfigMap', namespace, name: 'child', uid: created.metadata!.uid!};
  const seen = await server.get(identity);
  return {
    server,
    identity,
    seen,
    exists: () =>
      maps.get('child', {namespace}).then(
        () => true,
        () => false,
      ),
  };
};

test('a deletion succeeds although the object changed, if its owners did not', async t => {
  const {server, identity, seen, exists} = await live(maps => maps.patch('child', 'merge', {data: {k: 'v'}}, {namespace}));

  await server.delete(identity, seen, 'Background');

  t.false(await exists());
});

test('an object that got another owner meanwhile is not deleted', async t => {
  const {server, identity, seen, exists} = await live(maps =>
    maps.patch('child', 'merge', {metadata: {ownerReferences: [ref({metadata: {name: 'next', uid: 'n'}})]}}, {namespace}),
  );

  await t.throwsAsync(server.delete(identity, seen, 'Background'), {message: /Operation cannot be fulfilled on ConfigMap "child"/});

  t.true(await exists());
});

test('an object that took the place of one that was to be deleted stays', async t => {
  const {server, identity, seen, exists} = await live(async maps => {
    await maps.delete('child', {namespace});
    await maps.create({metadata: {namespace, name: 'child'}});
  });

  const error = await t.throwsAsync(server.delete(identity, seen, 'Background'));

  t.true(isConflict(error));
  t.true(await exists());
});

test('an object that was deleted meanwhile is recorded as absent', async t => {
  const {server, identity, seen} = await live(maps => maps.delete('child', {namespace}));

  t.true(isNotFound(await t.throwsAsync(server.delete(identity, seen, 'Background'))));
});

test('of an object that took the place of another no finalizer is taken', async t => {
  const {server, identity, exists} = await live(() => Promise.resolve(), [hold]);
  await server.removeFinalizer({...identity, uid: 'other'}, hold);
  t.deepEqual((await server.get(identity)).metadata?.finalizers, [hold]);

  await server.removeFinalizer(identity, hold);
  t.is((await server.get(identity)).metadata?.finalizers, undefined);
  t.true(await exists());
});

test('an owner that came and went unseen does not keep its dependents', async t => {
  const server = startServer({garbageCollector: true});
  const following = new FaultyClient(server.clientOf());
  following.always(call => (call === 'list secrets' ? 'hang' : undefined));
  const {clock, client, create, names} = await collecting(t, {client: following}, server);
  const owner = await client.resource(kinds.secrets).create({metadata: {namespace, name: 'owner'}});
  await create('child', [ref(owner, {kind: 'Secret'})]);
  await clock.advance(31_000);
  t.deepEqual(await names(), ['child']);

  await client.resource(kinds.secrets).delete('owner', {namespace});
  await clock.advance(60_000);

  t.deepEqual(await names(), []);
});

test('garbage from before the start of the collector is found', async t => {
  const server = startServer({garbageCollector: true});
  const maps = server.clientOf().resource(kinds.configMaps);
  const owner = await maps.create({metadata: {namespace, name: 'owner'}});
  await maps.create({metadata: {namespace, name: 'child', ownerReferences: [ref(owner)]}});
  await maps.create({metadata: {namespace, name: 'waiting'}});
  await maps.create({metadata: {namespace, name: 'orphaning'}});
  const [waiting, orphaning] = [await maps.get('waiting', {namespace}), await maps.get('orphaning', {namespace})];
  await maps.create({metadata: {namespace, name: 'waited-for', ownerReferences: [ref(waiting, {blockOwnerDeletion: true})]}});
  await maps.create({metadata: {namespace, name: 'orphan', ownerReferences: [ref(orphaning)]}});
  await maps.delete('owner', {namespace});
  await maps.delete('waiting', {namespace, propagationPolicy: 'Foreground'});
  await maps.delete('orphaning', {namespace, propagationPolicy: 'Orphan'});

  const {names} = await collecting(t, {}, server);

  t.deepEqual(await names(), ['orphan']);
});

test('the collector begins after half a minute although a kind cannot be listed', async t => {
  const server = startServer({garbageCollector: true});
  const following = new FaultyClient(server.clientOf());
  following.always(call => (call === 'list secrets' ? 'hang' : undefined));
  const {clock, create, remove, names, meter} = await collecting(t, {client: following}, server);
  await create('child', [ref(await create('owner'))]);
  await remove('owner');
  await clock.advance(29_999);
  t.deepEqual(await names(), ['child']);

  await clock.advance(1);

  t.deepEqual(await names(), []);
  t.is(meter.value('garbagecollector_controller_resources_sync_error_total'), 1);
});

test('failing discovery is retried after half a minute', async t => {
  const {clock, own, start, names, create, remove} = await (async () => {
    const server = startServer({garbageCollector: true});
    const env = startManager(t, [garbageCollector], {options}, server);
    const maps = env.client.resource(kinds.configMaps);
    return {
      ...env,
      create: (name: string, ownerReferences: OwnerReference[] = []) => maps.create({metadata: {namespace, name, ownerReferences}}),
      remove: (name: string) => maps.delete(name, {namespace}),
      names: async () => (await maps.list({namespace})).items.map(({metadata}) => metadata!.name),
    };
  })();
  own.fail('GET /api', serviceUnavailable('away'));
  await start();
  await create('child', [ref(await create('owner'))]);
  await remove('owner');
  await clock.advance(29_999);
  t.deepEqual(await names(), ['child']);

  await clock.advance(1);

  t.deepEqual(await names(), []);
});

test('the graph can be looked at while the collector runs', async t => {
  const debugPages = new Map<string, DebugPages>();
  const {create, stop, clock} = await collecting(t, {debugPages});
  const owner = await create('owner');
  const child = await create('child', [ref(owner)]);
  await create('other', [ref(child), ref({metadata: {name: 'nobody', uid: 'n'}}, {apiVersion: 'example.com/v1', kind: 'Widget'})]);
  await create('loner');
  const page = (query = '') => debugPages.get('garbage-collector-controller')?.('/graph', new URLSearchParams(query));

  const {contentType, body = ''} = page() ?? {};
  t.is(contentType, 'text/vnd.graphviz');
  t.regex(body, /^strict digraph full \{\n {2}\/\/ Node definitions\.\n {2}0 \[\n/);
  t.true(body.includes(`label="uid=${owner.metadata!.uid}\nnamespace=x\nConfigMap.v1/owner\n"`));
  t.true(body.includes('label="uid=n\nnamespace=x\nWidget.v1.example.com/nobody\nvirtual\n"'));
  t.is(body.match(/\[$/gm)?.length, 4);
  t.is(body.match(/->/g)?.length, 3);
  t.false(body.includes('loner'));
  t.true(page(`uid=${child.metadata!.uid}`)?.body.includes('ConfigMap.v1/owner'));
  t.false(page('uid=unknown')?.body.includes('ConfigMap.v1/owner'));
  t.is(debugPages.get('garbage-collector-controller')?.('/', new URLSearchParams()), undefined);

  stop();
  await clock.drain();
  t.is(debugPages.size, 0);
});

test('the collector does not run where it is turned off', async t => {
  const {checks, lines} = await collecting(t, {options: {...options, enableGarbageCollector: false}});

  t.deepEqual(checks.names, []);
  t.true(lines.includes('info controller is not started'));
});
