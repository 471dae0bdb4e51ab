import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {KubeObject, OwnerReference} from '#src/api/types.js';
import {aFamily, blocking, clock, hold, maps, plane, refTo} from './garbage-collection.js';

test.after.always(() => plane.stop());

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

test.serial('an owner that is deleted in the foreground is removed after the dependents that block its deletion', async t => {
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

test.serial('an orphan that got a new owner is deleted with that one', async t => {
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

test.serial('an owner of a kind that is served later is looked up as soon as the kind is discovered', async t => {
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
