import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {controllerRefTo} from '#src/model/owners.js';
import {aTemplate, namespace} from './workloads.js';
import {type ReplicaSet, aSet, orphan, set, startEnvironment} from './replicasets.js';

const names = (pods: readonly Pod[]) => pods.map(({metadata}) => metadata?.name).sort();
test('a new set creates its pods, each with an event, and counts them in its status', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.replicaSets, aSet('web'));

  const pods = await at.podsOf('web');
  t.is(pods.length, 2);
  const {metadata} = await set(at);
  for (const pod of pods) {
    t.regex(pod.metadata!.name!, /^web-[a-z0-9]{5}$/);
    t.deepEqual(pod.metadata?.ownerReferences, [
      {apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: metadata!.uid!, controller: true, blockOwnerDeletion: true},
    ]);
  }
  t.deepEqual((await set(at)).status, {replicas: 2, fullyLabeledReplicas: 2, terminatingReplicas: 0, observedGeneration: 1});
  t.deepEqual(
    (await at.eventsOn('web')).sort(),
    names(pods).map(name => `Normal SuccessfulCreate Created pod: ${name}`),
  );
  const [event] = await at.list(kinds.coreEvents);
  t.deepEqual(
    [event?.source?.component, event?.involvedObject.kind, event?.involvedObject.apiVersion],
    ['replicaset-controller', 'ReplicaSet', 'apps/v1'],
  );
});

test('pods that become ready, and have other labels than the template, are counted', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.replicaSets, aSet('web', {replicas: 3, labels: {app: 'a', tier: 'x'}}));
  const [first, second] = await at.podsOf('web');
  await at.runs(first!);
  await at.runs(second!, {ready: false});
  await at.patch(kinds.pods, second!.metadata!.name!, {metadata: {labels: {tier: null}}});

  t.deepEqual((await set(at)).status, {
    replicas: 3,
    fullyLabeledReplicas: 2,
    readyReplicas: 1,
    availableReplicas: 1,
    terminatingReplicas: 0,
    observedGeneration: 1,
  });
});

test('a set that is scaled up and down gets and loses pods, those first that do least', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.replicaSets, aSet('web', {replicas: 2}));
  const [first, second] = await at.podsOf('web');
  await at.runs(first!);
  await at.patch(kinds.replicaSets, 'web', {spec: {replicas: 4}});
  t.is((await at.podsOf('web')).length, 4);
  await at.runs(second!);

  await at.patch(kinds.replicaSets, 'web', {spec: {replicas: 2}});

  t.deepEqual(names(await at.podsOf('web')), names([first!, second!]));
  t.is((await at.eventsOn('web')).filter(event => event.startsWith('Normal SuccessfulDelete Deleted pod: web-')).length, 2);
  await at.patch(kinds.replicaSets, 'web', {spec: {replicas: 0}});
  t.deepEqual((await set(at)).status, {replicas: 0, terminatingReplicas: 0, observedGeneration: 4});
});

test('the pod whose deletion costs least goes first, unless the gate is off', async t => {
  for (const [gate, goes] of [
    ['true', 'cheap'],
    ['false', 'young'],
  ] as const) {
    const at = await startEnvironment([`--feature-gates=PodDeletionCost=${gate}`]);
    await using _ = at.plane;
    await at.create(kinds.pods, {
      ...orphan('cheap'),
      metadata: {...orphan('cheap').metadata, annotations: {'controller.plat.io/pod-deletion-cost': '-1'}},
    });
    await at.clock.advance(100_000);
    await at.create(kinds.pods, orphan('young'));

    await at.create(kinds.replicaSets, aSet('web', {replicas: 1}));

    t.deepEqual(names(await at.podsOf('web')), [goes === 'cheap' ? 'young' : 'cheap']);
  }
});

test('of sets with the same owner, the pod goes that shares its node with most of their pods', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  const owner = await at.create(kinds.configMaps, {metadata: {name: 'owner'}});
  const owned = (name: string, tier: string, replicas: number): ReplicaSet => {
    const labels = {app: 'a', tier};
    const made = aSet(name, {replicas, selector: {matchLabels: labels}, labels});
    return {...made, metadata: {...made.metadata, ownerReferences: [controllerRefTo(owner, kinds.configMaps, at.client.naming)]}};
  };
  const placed = (name: string, tier: string, nodeName: string): Pod => ({
    ...orphan(name, {app: 'a', tier}),
    spec: {...orphan(name).spec!, nodeName},
  });
  for (const pod of [placed('alone', 'new', 'one'), placed('crowded', 'new', 'two'), placed('other', 'old', 'two')])
    await at.create(kinds.pods, pod);
  await at.create(kinds.replicaSets, owned('old', 'old', 1));
  await at.create(kinds.replicaSets, owned('new', 'new', 1));

  const going = (await at.list(kinds.pods)).filter(({metadata}) => metadata?.deletionTimestamp);
  t.deepEqual(names(going), ['crowded']);
});

test('a pod that fails, succeeds or is marked to be deleted is replaced', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(
    kinds.replicaSets,
    aSet('web', {replicas: 3, template: {...aTemplate(), spec: {...aTemplate().spec!, nodeName: 'node'}}}),
  );
  const [first, second, third] = await at.podsOf('web');
  await at.runs(first!, {phase: 'Failed', ready: false});
  await at.runs(second!, {phase: 'Succeeded', ready: false});
  await at.remove(kinds.pods, third!.metadata!.name!);

  const pods = await at.podsOf('web');
  t.is(pods.length, 6);
  t.deepEqual((await set(at)).status, {replicas: 3, fullyLabeledReplicas: 3, terminatingReplicas: 1, observedGeneration: 1});
  await at.remove(kinds.pods, third!.metadata!.name!, {gracePeriodSeconds: 0});
  t.is((await set(at)).status?.terminatingReplicas, 0);
  t.is((await at.podsOf('web')).length, 5);
});

test('terminating pods are not counted while the gate is off', async t => {
  const at = await startEnvironment(['--feature-gates=DeploymentReplicaSetTerminatingReplicas=false']);
  await using _ = at.plane;
  await at.create(kinds.replicaSets, aSet('web'));

  t.deepEqual((await set(at)).status, {replicas: 2, fullyLabeledReplicas: 2, observedGeneration: 1});
});

test('a matching orphan is adopted, and surplus pods are deleted', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  for (const name of ['a', 'b', 'c']) await at.create(kinds.pods, orphan(name));
  await at.create(kinds.pods, orphan('stranger', {app: 'b'}));
  await at.create(kinds.replicaSets, aSet('web'));
  t.is((await at.podsOf('web')).length, 2);
  t.true(names(await at.list(kinds.pods)).includes('stranger'));

  // One that turns up later is taken in, too, and leaves again as the youngest.
  await at.clock.advance(100_000);
  await at.create(kinds.pods, orphan('d'));
  const left = names(await at.podsOf('web'));
  t.is(left.length, 2);
  t.false(left.includes('d'));
});

test('a pod whose labels no longer match is released and replaced, and adopted again when they match', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.replicaSets, aSet('web'));
  const [first] = await at.podsOf('web');
  const name = first!.metadata!.name!;
  await at.patch(kinds.pods, name, {metadata: {labels: {app: 'debug'}}});
  t.deepEqual((await at.get(kinds.pods, name)).metadata?.ownerReferences, undefined);
  t.is((await at.podsOf('web')).length, 2);

  await at.patch(kinds.replicaSets, 'web', {spec: {replicas: 3}});
  await at.patch(kinds.replicaSets, 'web', {spec: {replicas: 4}});
  t.is((await at.podsOf('web')).length, 4);
  await at.runs(name);
  await at.patch(kinds.pods, name, {metadata: {labels: {app: 'a'}}});

  const after = await at.podsOf('web');
  t.is(after.length, 4);
  t.true(names(after).includes(name));
});

test('sets with the same selector never take pods from each other', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.replicaSets, aSet('one'));
  await at.create(kinds.replicaSets, aSet('two', {replicas: 3}));
  await at.clock.advance(60_000);

  t.deepEqual([(await at.podsOf('one')).length, (await at.podsOf('two')).length], [2, 3]);
});

test('a set that is being deleted makes no pods, but still counts them', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  const made = aSet('web');
  await at.create(kinds.replicaSets, {...made, metadata: {...made.metadata, finalizers: ['example.com/hold']}});
  await at.remove(kinds.replicaSets, 'web');
  const [first] = await at.podsOf('web');
  await at.remove(kinds.pods, first!.metadata!.name!);

  t.is((await at.podsOf('web')).length, 1);
  t.is((await set(at)).status?.replicas, 1);
});

test('a set that is made again under the same name starts clean', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.replicaSets, aSet('web'));
  await at.client.resource(kinds.replicaSets).delete('web', {namespace});
  await at.client
    .resource(kinds.replicaSets)
    .create({...aSet('web', {replicas: 1, selector: {matchLabels: {app: 'b'}}, labels: {app: 'b'}}), metadata: {namespace, name: 'web'}});
  await at.clock.drain();

  const {metadata} = await set(at);
  t.is((await at.podsOf('web')).filter(pod => pod.metadata?.ownerReferences?.[0]?.uid === metadata?.uid).length, 1);
});

test('a pod is available after minReadySeconds', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.replicaSets, aSet('web', {replicas: 1, minReadySeconds: 10}));
  const [pod] = await at.podsOf('web');
  await at.runs(pod!);
  await at.clock.advance(9_999);
  t.deepEqual([(await set(at)).status?.readyReplicas, (await set(at)).status?.availableReplicas], [1, undefined]);
  await at.clock.advance(1);

  t.is((await set(at)).status?.availableReplicas, 1);
});

test('refused pods give an event and a condition, and are retried one at a time with backoff, until they succeed', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(
    kinds.replicaSets,
    aSet('web', {replicas: 5, template: {...aTemplate(), spec: {...aTemplate().spec!, serviceAccountName: 'missing'}}}),
  );
  const refusal = /^pods "web-" is forbidden: error looking up service account default\/missing: serviceaccount "missing" not found$/;
  const [condition, ...others] = (await set(at)).status?.conditions ?? [];
  t.deepEqual([others.length, condition?.type, condition?.status, condition?.reason], [0, 'ReplicaFailure', 'True', 'FailedCreate']);
  t.regex(condition?.message ?? '', refusal);
  t.is((await set(at)).status?.replicas, 0);
  const events = await at.eventsOn('web');
  t.true(events.length < 4);
  for (const event of events) t.regex(event.replace('Warning FailedCreate Error creating: ', ''), refusal);

  await at.create(kinds.serviceAccounts, {metadata: {name: 'missing'}});
  await at.clock.advance(120_000);

  const {status} = await set(at);
  t.is(status?.replicas, 5);
  t.is(status?.conditions, undefined);
});

test('in a terminating namespace nothing is retried and nothing reported', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  const namespaces = at.client.resource(kinds.namespaces);
  await namespaces.create({metadata: {name: 'ending'}, spec: {finalizers: ['example.com/hold']}});
  await at.clock.drain();
  const sets = at.client.resource(kinds.replicaSets);
  await sets.create({...aSet('web'), metadata: {namespace: 'ending', name: 'web'}});
  await at.clock.drain();
  await namespaces.delete('ending');
  const pods = at.client.resource(kinds.pods);
  await pods.deleteCollection({namespace: 'ending'});
  await at.clock.advance(200_000);

  t.deepEqual((await pods.list({namespace: 'ending'})).items, []);
  const events = (await at.client.resource(kinds.coreEvents).list({namespace: 'ending'})).items;
  t.deepEqual(
    events.filter(({type}) => type === 'Warning'),
    [],
  );
  t.is((await sets.get('web', {namespace: 'ending'})).status?.conditions, undefined);
});

test('no more than five hundred pods are made or deleted before they are seen', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.replicaSets, aSet('web', {replicas: 502}));
  t.is((await at.podsOf('web')).length, 502);
  const versions = (await at.podsOf('web')).map(({metadata}) => Number(metadata?.resourceVersion)).sort((a, b) => a - b);
  // The status is written between the bursts, and takes a version of its own.
  t.is(
    versions.findIndex((version, index) => index > 400 && version > versions[index - 1]! + 1 && version > versions[499]!),
    500,
  );

  await at.patch(kinds.replicaSets, 'web', {spec: {replicas: 1}});

  t.is((await at.podsOf('web')).length, 1);
});

test('a set with more replicas than nodes can hold gets no more pods than may wait, and the rest once these are bound', async t => {
  const at = await startEnvironment(['--max-waiting-pods=8']);
  await using _ = at.plane;
  await at.create(kinds.replicaSets, aSet('web', {replicas: 2_147_483_647}));
  await at.clock.advance(60_000);

  const pods = await at.podsOf('web');
  // The pods of one batch are in the cache when it ends.
  t.true(pods.length >= 8 && pods.length < 16, String(pods.length));
  t.deepEqual(
    (await at.eventsOn('web')).filter(event => event.startsWith('Warning')),
    ['Warning FailedCreate Error creating: 8 pods wait for a node already, and --max-waiting-pods allows no more'],
  );
  const failed = (await set(at)).status?.conditions?.find(({type}) => type === 'ReplicaFailure');
  t.is(failed?.status, 'True');
  await at.clock.advance(3_600_000);
  t.is((await at.podsOf('web')).length, pods.length);

  for (const pod of pods) await at.runs(pod);
  await at.clock.advance(60_000);
  t.true((await at.podsOf('web')).length >= pods.length + 8);
});

test('the status of a set of which pods become ready all the time is written ten times a second after the first fifty, the last one in any case', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.replicaSets, aSet('web', {replicas: 70}));
  const readyOf = async () => (await set(at)).status?.readyReplicas;
  for (const pod of await at.podsOf('web')) await at.runs(pod);

  // Two were written when the pods were created.
  t.is(await readyOf(), 48);
  await at.clock.advance(100);
  t.is(await readyOf(), 70);
});
