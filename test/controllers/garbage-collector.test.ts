import test, {type ExecutionContext} from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {isNotFound} from '#src/api/status.js';
import type {ConfigMap, KubeObject, OwnerReference} from '#src/api/types.js';
import {aPlane} from './plane.js';

const plane = await aPlane({controllers: ['garbage-collector-controller']});
test.after.always(() => plane.stop());

const {clock} = plane;
const maps = plane.client().resource(kinds.configMaps);
const hold = 'example.com/hold';

/** How an object names its owner. */
const refTo = ({metadata}: KubeObject, rest: Partial<OwnerReference> = {}): OwnerReference => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  name: metadata!.name!,
  uid: metadata!.uid!,
  ...rest,
});
const blocking = {blockOwnerDeletion: true};

let count = 0;

/** A namespace of its own with objects that own each other. */
const aFamily = async () => {
  const namespace = `family-${++count}`;
  await plane
    .client()
    .resource(kinds.namespaces)
    .create({metadata: {name: namespace}});
  const create = async (
    name: string,
    ownerReferences: OwnerReference[] = [],
    metadata: KubeObject['metadata'] = {},
  ): Promise<ConfigMap> => {
    const created = await maps.create({metadata: {namespace, name, ownerReferences, ...metadata}});
    await clock.drain();
    return created;
  };
  const find = (name: string) =>
    maps.get(name, {namespace}).catch((error: unknown) => (isNotFound(error) ? undefined : Promise.reject(error as Error)));
  const remove = async (name: string, propagationPolicy: 'Background' | 'Foreground' | 'Orphan' = 'Background') => {
    await maps.delete(name, {namespace, propagationPolicy});
    await clock.drain();
  };
  const release = async (name: string) => {
    await maps.patch(name, 'json', [{op: 'remove', path: '/metadata/finalizers/0'}], {namespace});
    await clock.drain();
  };
  const names = async () => (await maps.list({namespace})).items.map(({metadata}) => metadata!.name);
  const ownersOf = async (name: string) => (await find(name))?.metadata?.ownerReferences?.map(owner => owner.name);
  const eventsOf = async (name: string) => {
    const {items} = await plane.client().resource(kinds.coreEvents).list({namespace});
    return items.filter(({involvedObject}) => involvedObject.name === name).map(({type, reason, message}) => [type, reason, message]);
  };
  return {namespace, create, find, remove, release, names, ownersOf, eventsOf};
};

test.serial('dependents go after an owner that was deleted, and theirs after them', async t => {
  const {create, remove, names} = await aFamily();
  const owner = await create('owner');
  const child = await create('child', [refTo(owner)]);
  await create('grandchild', [refTo(child)]);
  await create('stranger');
  t.deepEqual(await names(), ['child', 'grandchild', 'owner', 'stranger']);

  await remove('owner');

  t.deepEqual(await names(), ['stranger']);
});

test.serial('an owner that is deleted in the foreground goes after the dependents that hold it up', async t => {
  const {create, remove, release, names, find} = await aFamily();
  const owner = await create('owner');
  const child = await create('child', [refTo(owner, blocking)]);
  await create('grandchild', [refTo(child, blocking)], {finalizers: [hold]});
  await create('other', [refTo(owner)], {finalizers: [hold]});

  await remove('owner', 'Foreground');

  t.deepEqual(await names(), ['child', 'grandchild', 'other', 'owner']);
  t.deepEqual((await find('owner'))?.metadata?.finalizers, ['foregroundDeletion']);
  // A dependent with dependents of its own waits for them in the same way.
  t.deepEqual((await find('child'))?.metadata?.finalizers, ['foregroundDeletion']);
  for (const name of ['grandchild', 'other']) t.truthy((await find(name))?.metadata?.deletionTimestamp, name);

  await release('grandchild');

  t.deepEqual(await names(), ['other']);
});

test.serial('an owner that is deleted without its dependents is parted from them first', async t => {
  const {create, remove, names, find} = await aFamily();
  const [owner, other] = [await create('owner'), await create('another')];
  await create('child', [refTo(owner, blocking), refTo(other)]);
  await create('only', [refTo(owner)]);

  await remove('owner', 'Orphan');

  t.deepEqual(await names(), ['another', 'child', 'only']);
  t.deepEqual((await find('child'))?.metadata?.ownerReferences, [refTo(other)]);
  t.is((await find('only'))?.metadata?.ownerReferences, undefined);
});

test.serial('an orphan that found a new owner goes with that one', async t => {
  const {namespace, create, remove, names, ownersOf} = await aFamily();
  const owner = await create('owner');
  await create('child', [refTo(owner)]);
  await remove('owner', 'Orphan');
  const next = await create('owner');
  await maps.patch('child', 'merge', {metadata: {ownerReferences: [refTo(next)]}}, {namespace});
  await clock.advance(120_000);
  t.deepEqual(await ownersOf('child'), ['owner']);

  await remove('owner');

  t.deepEqual(await names(), []);
});

test.serial('of two owners one is enough to stay, and the one that has gone is no longer named', async t => {
  const {create, remove, names, ownersOf} = await aFamily();
  const [one, two] = [await create('one'), await create('two')];
  await create('child', [refTo(one, blocking), refTo(two, blocking)]);

  await remove('one');
  t.deepEqual([await names(), await ownersOf('child')], [['child', 'two'], ['two']]);
  await remove('two');

  t.deepEqual(await names(), []);
});

test.serial('an owner that waits for a dependent with another owner does not wait in vain', async t => {
  const {create, remove, names, ownersOf} = await aFamily();
  const [one, two] = [await create('one'), await create('two')];
  await create('child', [refTo(one, blocking), refTo(two, blocking)]);

  await remove('one', 'Foreground');

  t.deepEqual([await names(), await ownersOf('child')], [['child', 'two'], ['two']]);
});

test.serial('dependents of an owner that was made again go with the one they name', async t => {
  const {create, remove, names} = await aFamily();
  const first = await create('owner', [], {finalizers: [hold]});
  await create('old', [refTo(first)]);
  await maps.patch('owner', 'merge', {metadata: {finalizers: null}}, {namespace: first.metadata!.namespace!});
  await remove('owner');
  const second = await create('owner');
  await create('new', [refTo(second)]);
  await create('late', [refTo(first)]); // Names the uid of the first, which has gone.
  await clock.advance(60_000);

  t.deepEqual(await names(), ['new', 'owner']);
});

test.serial('an object whose owner never existed is deleted', async t => {
  const {create, names} = await aFamily();
  await create('child', [{apiVersion: 'v1', kind: 'ConfigMap', name: 'nobody', uid: 'e0a46e6c-0000-4000-8000-000000000000'}]);

  t.deepEqual(await names(), []);
});

test.serial('owners that own each other do not wait for each other', async t => {
  const {namespace, create, remove, names} = await aFamily();
  const [one, two, three] = [await create('one'), await create('two'), await create('three')];
  const owns = (child: KubeObject, owner: KubeObject) =>
    maps.patch(child.metadata!.name!, 'merge', {metadata: {ownerReferences: [refTo(owner, blocking)]}}, {namespace});
  await owns(two, one);
  await owns(three, two);
  await owns(one, three);
  await clock.drain();
  t.deepEqual(await names(), ['one', 'three', 'two']);

  await remove('one', 'Foreground');
  await clock.advance(60_000);

  t.deepEqual(await names(), []);
});

test.serial('an owner in another namespace counts as absent, with an Event', async t => {
  const [here, there] = [await aFamily(), await aFamily()];
  const [owner, near] = [await there.create('owner'), await here.create('near')];
  await here.create('child', [refTo(owner)]);
  await here.create('kept', [refTo(owner), refTo(near)]);
  await clock.advance(1000);

  t.deepEqual(await here.names(), ['kept', 'near']);
  t.deepEqual(await here.ownersOf('kept'), ['near']);
  t.deepEqual(await there.names(), ['owner']);
  const {uid} = owner.metadata!;
  const message = `ownerRef [v1/ConfigMap, namespace: ${here.namespace}, name: owner, uid: ${uid}] does not exist in namespace "${here.namespace}"`;
  for (const name of ['child', 'kept']) t.deepEqual(await here.eventsOf(name), [['Warning', 'OwnerRefInvalidNamespace', message]]);
});

const roles = plane.client().resource(kinds.clusterRoles);
const roleRef = (role: KubeObject, rest: Partial<OwnerReference> = {}) =>
  refTo(role, {apiVersion: 'rbac.authorization.plat.io/v1', kind: 'ClusterRole', ...rest});

test.serial('a cluster-scoped object owns objects of any namespace', async t => {
  const {create, names} = await aFamily();
  const role = await roles.create({metadata: {name: 'owner'}, rules: []});
  const small = await roles.create({metadata: {name: 'small', ownerReferences: [roleRef(role)]}, rules: []});
  await create('child', [roleRef(role)]);
  await create('grandchild', [roleRef(small)]);
  t.deepEqual(await names(), ['child', 'grandchild']);

  await roles.delete('owner', {propagationPolicy: 'Foreground'});
  await clock.drain();

  t.deepEqual(await names(), []);
  await t.throwsAsync(roles.get('small'), {message: /not found/});
});

test.serial('a cluster-scoped object cannot be owned by a namespaced one, and is left alone', async t => {
  const {create} = await aFamily();
  const owner = await create('owner');
  const missing = {...owner, metadata: {...owner.metadata, name: 'nobody', uid: 'e0a46e6c-0000-4000-8000-000000000001'}};
  await roles.create({metadata: {name: 'wrong', ownerReferences: [refTo(owner), refTo(missing)]}, rules: []});
  await clock.advance(600_000);

  t.is((await roles.get('wrong')).metadata?.ownerReferences?.length, 2);
  await roles.delete('wrong');
  await clock.drain();
});

test.serial('a cluster-scoped dependent of an absent owner does not keep namespaced ones', async t => {
  for (const [round, wrongFirst] of [true, false].entries()) {
    const {create, names} = await aFamily();
    const gone = refTo({metadata: {name: 'gone', uid: `e0a46e6c-0000-4000-8000-00000000001${round}`}});
    const wrong = () => roles.create({metadata: {name: `wrong-${round}`, ownerReferences: [gone]}, rules: []});
    if (wrongFirst) await wrong();
    await clock.drain();
    await create('child', [gone]);
    if (!wrongFirst) await wrong();
    await clock.advance(60_000);

    t.deepEqual(await names(), []);
    t.is((await roles.get(`wrong-${round}`)).metadata?.ownerReferences?.length, 1);
  }
});

test.serial('nothing is decided about an owner of a kind that is not served', async t => {
  const {create, remove, names, ownersOf} = await aFamily();
  const owner = await create('owner');
  await create('child', [
    refTo(owner),
    {apiVersion: 'example.com/v1', kind: 'Widget', name: 'w', uid: 'e0a46e6c-0000-4000-8000-000000000002'},
  ]);
  await remove('owner');
  await clock.advance(60_000);

  t.deepEqual([await names(), await ownersOf('child')], [['child'], ['owner', 'w']]);
});

const definitions = plane.client().resource(kinds.customResourceDefinitions);

/** Defines a kind that is served when this resolves, and makes an object of it. */
const anObjectOf = async (kind: string, namespace: string): Promise<{readonly object: KubeObject; readonly path: string}> => {
  const plural = `${kind.toLowerCase()}s`;
  const versions = [{name: 'v1', served: true, storage: true, schema: {openAPIV3Schema: {type: 'object'}}}];
  await definitions.create({
    metadata: {name: `${plural}.example.com`},
    spec: {group: 'example.com', scope: 'Namespaced', names: {plural, kind}, versions},
  } as never);
  await clock.drain();
  const path = `/apis/example.com/v1/namespaces/${namespace}/${plural}`;
  const object = {apiVersion: 'example.com/v1', kind, metadata: {name: 'owner'}};
  return {object: (await plane.client().request('POST', path, {body: object})) as KubeObject, path};
};

test.serial(
  'dependents of an object of a new kind are deleted within a second of it, and so are objects of that kind whose owner is gone',
  async t => {
    const {namespace, create, remove, names} = await aFamily();
    const {object, path} = await anObjectOf('Gadget', namespace);
    const gadget = refTo(object, {apiVersion: 'example.com/v1', kind: 'Gadget'});
    await create('child', [gadget]);
    const owner = await create('owner-of-gadget');
    await plane.client().request('POST', path, {
      body: {apiVersion: 'example.com/v1', kind: 'Gadget', metadata: {name: 'owned', ownerReferences: [refTo(owner)]}},
    });
    // The collector does not monitor the kind yet.
    await plane.client().request('DELETE', `${path}/owner`);
    await remove('owner-of-gadget');
    t.deepEqual(await names(), ['child']);

    await clock.advance(1000);

    t.deepEqual(await names(), []);
    t.deepEqual(((await plane.client().request('GET', path)) as {items: unknown[]}).items, []);
  },
);

test.serial('an owner of a kind that comes to be served late is looked for as soon as the kind is known', async t => {
  const {namespace, create, names} = await aFamily();
  await create('child', [{apiVersion: 'example.com/v1', kind: 'Gizmo', name: 'nobody', uid: 'e0a46e6c-0000-4000-8000-000000000003'}]);
  // Long enough that the next try on its own would be minutes away.
  await clock.advance(600_000);
  t.deepEqual(await names(), ['child']);

  await anObjectOf('Gizmo', namespace);
  await clock.advance(1000);

  t.deepEqual(await names(), []);
});

test.serial('an owner may be named by any version of its kind that is served', async t => {
  const {create, names} = await aFamily();
  const role = await plane
    .client()
    .resource(kinds.priorityClasses)
    .create({metadata: {name: 'named'}, value: 5});
  const named = (apiVersion: string) => refTo(role, {apiVersion, kind: 'PriorityClass'});
  await create('right', [named('scheduling.plat.io/v1')]);
  await create('wrong', [named('scheduling.plat.io/v1beta7')]);
  await clock.advance(60_000);

  t.deepEqual(await names(), ['right', 'wrong']);
  await plane.client().resource(kinds.priorityClasses).delete('named');
  await clock.drain();
  t.deepEqual(await names(), ['wrong']);
});

test.serial('of dependents that disagree on the identity of a uid, the right ones stay', async t => {
  for (const order of [
    ['right', 'kind', 'name'],
    ['name', 'kind', 'right'],
    ['kind', 'right', 'name'],
  ]) {
    const {namespace, create, names} = await aFamily();
    const owner = await create('owner', [], {finalizers: [hold]});
    const references: Record<string, OwnerReference> = {
      right: refTo(owner),
      kind: refTo(owner, {kind: 'Secret'}),
      name: refTo(owner, {name: 'wrong'}),
    };
    for (const name of order) await create(name, [references[name]!]);
    await clock.advance(60_000);

    t.deepEqual(await names(), ['owner', 'right']);
    await maps.patch('owner', 'merge', {metadata: {finalizers: null}}, {namespace});
  }
});

test.serial('dependents that come while their owner waits for others go before it', async t => {
  const {create, remove, release, names, find} = await aFamily();
  const owner = await create('owner');
  await create('slow', [refTo(owner, blocking)], {finalizers: [hold]});
  await remove('owner', 'Foreground');
  await create('late', [refTo(owner, blocking)], {finalizers: [hold]});

  await release('slow');
  t.deepEqual(await names(), ['late', 'owner']);
  t.truthy((await find('late'))?.metadata?.deletionTimestamp);
  await release('late');

  t.deepEqual(await names(), []);
});

test.serial('an owner need not wait for a dependent that names it no longer, or no longer holds it up', async t => {
  for (const ownerReferences of [null, 'not blocking'] as const) {
    const {namespace, create, remove, names} = await aFamily();
    const owner = await create('owner');
    await create('slow', [refTo(owner, blocking)], {finalizers: [hold]});
    await remove('owner', 'Foreground');
    t.deepEqual(await names(), ['owner', 'slow']);

    await maps.patch('slow', 'merge', {metadata: {ownerReferences: ownerReferences && [refTo(owner)]}}, {namespace});
    await clock.drain();

    t.deepEqual(await names(), ['slow']);
  }
});

test.serial('a dependent deleted with Orphan keeps its own dependents', async t => {
  const {create, remove, names, ownersOf} = await aFamily();
  const owner = await create('owner');
  const child = await create('child', [refTo(owner)], {finalizers: ['orphan']});
  await create('grandchild', [refTo(child)]);

  await remove('owner');

  t.deepEqual([await names(), await ownersOf('grandchild')], [['grandchild'], undefined]);
});

test.serial('a dependent deleted with Foreground waits for its own dependents', async t => {
  const {create, remove, names} = await aFamily();
  const owner = await create('owner');
  const child = await create('child', [refTo(owner)], {finalizers: ['foregroundDeletion']});
  await create('grandchild', [refTo(child, blocking)], {finalizers: [hold]});

  await remove('owner');

  t.deepEqual(await names(), ['child', 'grandchild']);
});

test.serial('an owner that waits lets itself be deleted without its dependents after all', async t => {
  const {create, remove, names} = await aFamily();
  const owner = await create('owner');
  await create('slow', [refTo(owner, blocking)], {finalizers: [hold]});
  await remove('owner', 'Foreground');
  t.deepEqual(await names(), ['owner', 'slow']);

  await remove('owner', 'Background');

  t.deepEqual(await names(), ['slow']);
});

const inTime = async (t: ExecutionContext, dependents: number) => {
  const {namespace, create, remove, names} = await aFamily();
  const owner = await create('owner');
  await Promise.all(
    Array.from({length: dependents}, (_, index) =>
      maps.create({metadata: {namespace, name: `child-${index}`, ownerReferences: [refTo(owner, blocking)]}}),
    ),
  );
  await clock.drain();
  const before = clock.now();
  await remove('owner', 'Foreground');

  t.deepEqual(await names(), []);
  t.is(clock.now(), before, 'nothing had to be tried again');
};

test.serial('many dependents go at once', t => inTime(t, 500));

const spec = {
  replicas: 2,
  selector: {matchLabels: {app: 'web'}},
  template: {metadata: {labels: {app: 'web'}}, spec: {containers: [{name: 'c', image: 'i'}]}},
};

test.serial('a deployment takes its pods along, before it or after it, or leaves them to the next of its kind', async t => {
  await using whole = await aPlane({
    controllers: ['garbage-collector-controller', 'deployment-controller', 'replicaset-controller', 'serviceaccount-controller'],
  });
  const [deployments, replicaSets, pods] = [
    whole.client().resource(kinds.deployments),
    whole.client().resource(kinds.replicaSets),
    whole.client().resource(kinds.pods),
  ];
  const within = {namespace: 'default'};
  const settle = () => whole.clock.advance(1000);
  const create = async () => {
    const created = await deployments.create({metadata: {namespace: 'default', name: 'web'}, spec});
    await settle();
    return created;
  };
  const counted = async () =>
    (await Promise.all([deployments, replicaSets, pods].map(async kind => (await kind.list(within)).items.length))).join(' ');
  const uids = async () => (await pods.list(within)).items.map(({metadata}) => metadata!.uid).sort();

  await create();
  t.is(await counted(), '1 1 2');
  await deployments.delete('web', {...within, propagationPolicy: 'Background'});
  await settle();
  t.is(await counted(), '0 0 0');

  await create();
  const before = await uids();
  await pods.patch((await pods.list(within)).items[0]!.metadata!.name!, 'merge', {metadata: {finalizers: [hold]}}, within);
  await deployments.delete('web', {...within, propagationPolicy: 'Orphan'});
  await settle();
  t.is(await counted(), '0 1 2');
  const again = await create();
  t.is(await counted(), '1 1 2');
  t.deepEqual(await uids(), before);
  t.is((await replicaSets.list(within)).items[0]?.metadata?.ownerReferences?.[0]?.uid, again.metadata?.uid);

  await deployments.delete('web', {...within, propagationPolicy: 'Foreground'});
  await settle();
  // One pod is held; no other is created in its place meanwhile.
  t.is(await counted(), '1 1 1');
  await whole.clock.advance(60_000);
  t.is(await counted(), '1 1 1');
  await pods.patch((await pods.list(within)).items[0]!.metadata!.name!, 'merge', {metadata: {finalizers: null}}, within);
  await settle();
  t.is(await counted(), '0 0 0');
});
