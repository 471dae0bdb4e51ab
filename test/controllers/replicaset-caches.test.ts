import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {controllerRefTo} from '#src/model/owners.js';
import {selecting} from '#informers/selecting.js';
import type {WaitingPodsOptions} from '#controllers/shared/pods/waiting-pods.js';
import {replicaReconciler} from '#controllers/shared/replicas/replicas.js';
import type {Change} from '#informers/change.js';
import {settled, type KeyedContext} from '#src/runtime/controller.js';
import {attempt, contextOver} from './context.js';
import {aPlaneWith, actionsOn, namespace} from './workloads.js';
import {type ReplicaSet, aSet, orphan, set, startEnvironment} from './replicasets.js';

/** The keeper over caches that stay as they are while the server goes on. */
const overStaleCaches = (
  at: Awaited<ReturnType<typeof startEnvironment>>,
  cached: Parameters<typeof contextOver>[1],
  changes: Partial<KeyedContext<WaitingPodsOptions>> = {},
) => {
  const context = {...contextOver(at.plane, cached, {maxWaitingPods: 0}), ...changes};
  const keeper = replicaReconciler(
    {kind: kinds.replicaSets, selecting: selecting<ReplicaSet>(({spec}) => spec?.selector), reportsTerminating: true},
    context,
  );
  return (name = 'web') => keeper({namespace, name}, attempt);
};

/** A plane on which nothing keeps sets but the test. */
const still = async () => {
  const plane = await aPlaneWith(['root-ca-certificate-publisher-controller']);
  return {plane, ...actionsOn(plane)};
};

test('a created pod that is missing from the cache is not created again, for five minutes', async t => {
  const at = await still();
  await using _ = at.plane;
  const look = overStaleCaches(at, [await at.create(kinds.replicaSets, aSet('web'))]);
  await look();
  await look();
  t.is((await at.podsOf('web')).length, 2);
  await at.clock.advance(300_001);

  await look();

  t.is((await at.podsOf('web')).length, 4);
});

test('a deleted pod that is still in the cache is not deleted again', async t => {
  const at = await still();
  await using _ = at.plane;
  const parent = await at.create(kinds.replicaSets, aSet('web', {replicas: 1}));
  const owned = (name: string): Pod => ({
    ...orphan(name),
    metadata: {...orphan(name).metadata, ownerReferences: [controllerRefTo(parent, kinds.replicaSets, at.client.naming)]},
  });
  const pods = [];
  for (const name of ['a', 'b', 'c']) pods.push(await at.create(kinds.pods, owned(name)));
  let deletions = 0;
  const {writer} = contextOver(at.plane, [], {maxWaitingPods: 0});
  const look = overStaleCaches(at, [parent, ...pods], {
    writer: kind => ({...writer(kind), delete: (...args) => (deletions++, writer(kind).delete(...args))}),
  });
  await look();
  await look();

  t.is((await at.podsOf('web')).length, 1);
  t.is(deletions, 2);
});

test('a pod that becomes ready enqueues its set for the time at which it is available', async t => {
  const at = await still();
  await using _ = at.plane;
  const parent = await at.create(kinds.replicaSets, aSet('web', {minReadySeconds: 10}));
  const pod = {
    ...orphan('a'),
    metadata: {...orphan('a').metadata, namespace, ownerReferences: [controllerRefTo(parent, kinds.replicaSets, at.client.naming)]},
  };
  const ready = {...pod, metadata: {...pod.metadata, resourceVersion: '2'}, status: {conditions: [{type: 'Ready', status: 'True'}]}};
  const listeners: ((change: Change) => void)[] = [];
  const requested: unknown[] = [];
  overStaleCaches(at, [parent], {
    listen: (_source, listener) => void listeners.push(listener as (change: Change) => void),
    enqueue: ({name}, {afterMs} = {}) => void requested.push([name, afterMs]),
  });
  for (const listener of listeners) listener({type: 'updated', old: pod, object: ready});

  t.deepEqual(requested, [
    ['web', undefined],
    ['web', 11_000],
  ]);
});

test('a set that takes the name of one that is deleted expects nothing of it', async t => {
  const at = await still();
  await using _ = at.plane;
  const listeners: ((change: Change) => void)[] = [];
  const parent = await at.create(kinds.replicaSets, aSet('web'));
  const look = overStaleCaches(at, [parent], {listen: (_source, listener) => void listeners.push(listener as (change: Change) => void)});
  await look();
  for (const listener of listeners) listener({type: 'deleted', object: parent, tombstone: false});

  await look();

  t.is((await at.podsOf('web')).length, 4);
});

test('an unchanged status is not written again', async t => {
  const at = await still();
  await using _ = at.plane;
  await at.create(kinds.replicaSets, aSet('web', {replicas: 0}));
  let writes = 0;
  const counting = (context: KeyedContext<WaitingPodsOptions>): Partial<KeyedContext<WaitingPodsOptions>> => ({
    writer: kind => ({...context.writer(kind), updateStatus: (...args) => (writes++, context.writer(kind).updateStatus(...args))}),
  });
  await overStaleCaches(at, [await set(at)], counting(contextOver(at.plane, [], {maxWaitingPods: 0})))();
  t.is(writes, 1);

  t.is(await overStaleCaches(at, [await set(at)], counting(contextOver(at.plane, [], {maxWaitingPods: 0})))(), settled);
  t.is(writes, 1);
});

test('a status whose write conflicts is written to the newer version of its set', async t => {
  const at = await still();
  await using _ = at.plane;
  const parent = await at.create(kinds.replicaSets, aSet('web', {replicas: 0}));
  await at.patch(kinds.replicaSets, 'web', {metadata: {annotations: {note: 'x'}}});

  await overStaleCaches(at, [parent])();

  const {metadata, status} = await set(at);
  t.deepEqual([metadata?.annotations, status?.observedGeneration], [{note: 'x'}, 1]);
});
