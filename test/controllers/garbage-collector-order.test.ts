import test, {type ExecutionContext} from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {OwnerReference} from '#src/api/types.js';
import {aPlane} from './plane.js';
import {aFamily, blocking, clock, hold, maps, plane, refTo} from './garbage-collection.js';

test.after.always(() => plane.stop());

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
