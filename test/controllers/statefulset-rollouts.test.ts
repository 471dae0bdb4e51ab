import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {aSet, changed, image, labels, startEnvironment} from './statefulsets.js';

test('a changed template replaces pods from the last on, one at a time, and the set is at it at the end', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.statefulSets, aSet());
  await at.play();
  const first = (await at.set()).status?.currentRevision;
  await at.change(changed(2));
  t.deepEqual(await at.images(), ['web-0 1', 'web-1 1', 'web-2 2']);
  const {status: between} = await at.set();
  t.deepEqual([between?.currentRevision, between?.currentReplicas, between?.updatedReplicas, between?.readyReplicas], [first, 2, 1, 2]);
  t.not(between?.updateRevision, first);
  t.deepEqual(await at.play(), ['web-2', 'web-1', 'web-0']);

  t.deepEqual(await at.images(), ['web-0 2', 'web-1 2', 'web-2 2']);
  const {status} = await at.set();
  t.deepEqual([status?.currentRevision, status?.currentReplicas, status?.updatedReplicas], [between?.updateRevision, 3, 3]);
  t.deepEqual(
    (await at.revisions()).map(({revision}) => revision),
    [1, 2],
  );
});

test('a return to an earlier template takes up its revision again', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.statefulSets, aSet());
  await at.play();
  const {status: first} = await at.set();
  await at.change(changed(2));
  await at.play();
  await at.change(changed(1));
  await at.play();

  const {status} = await at.set();
  t.is(status?.currentRevision, first?.currentRevision);
  t.deepEqual(
    (await at.revisions()).map(({metadata, revision}) => [revision, metadata?.name === first?.currentRevision]),
    [
      [2, false],
      [3, true],
    ],
  );
});

test('a revision with the same content in other bytes is kept, unless the gate is off', async t => {
  for (const [gate, expected] of [
    [true, [1]],
    [false, [1, 2]],
  ] as const) {
    const at = await startEnvironment([`--feature-gates=StatefulSetSemanticRevisionComparison=${gate}`]);
    await using _ = at.plane;
    await at.create(kinds.statefulSets, aSet('web', {replicas: 1}));
    await at.play();
    const [made] = await at.revisions();
    const {uid} = (await at.get(kinds.pods, 'web-0')).metadata!;
    // As an older release wrote it: with an empty time, and without a field that has a default by now.
    const {spec} = image(1);
    const {
      name: _name,
      uid: _uid,
      resourceVersion: _version,
      creationTimestamp: _time,
      managedFields: _fields,
      ...metadata
    } = made!.metadata!;
    await at.remove(kinds.statefulSets, 'web', {propagationPolicy: 'Background'});
    await at.remove(kinds.controllerRevisions, made!.metadata!.name!);
    const data = {spec: {template: {$patch: 'replace', metadata: {creationTimestamp: null, labels}, spec}}};
    await at.create(kinds.controllerRevisions, {metadata: {...metadata, ownerReferences: [], name: 'web-old'}, data, revision: 1});
    await at.patch(kinds.pods, 'web-0', {metadata: {ownerReferences: [], labels: {'controller-revision-hash': 'web-old'}}});
    await at.create(kinds.statefulSets, aSet('web', {replicas: 1}));

    t.deepEqual(
      (await at.revisions()).map(({revision}) => revision),
      [...expected],
      `${gate}`,
    );
    t.is((await at.get(kinds.pods, 'web-0')).metadata?.uid === uid, gate);
  }
});

test('places before the partition keep their template, also when they are made again', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.statefulSets, aSet('web', {updateStrategy: {type: 'RollingUpdate', rollingUpdate: {partition: 2}}}));
  await at.play();
  await at.change(changed(2));
  await at.play();
  t.deepEqual(await at.images(), ['web-0 1', 'web-1 1', 'web-2 2']);
  await at.remove(kinds.pods, 'web-0');
  await at.play();
  t.deepEqual(await at.images(), ['web-0 1', 'web-1 1', 'web-2 2']);
  const {status} = await at.set();
  t.deepEqual([status?.currentReplicas, status?.updatedReplicas, status?.currentRevision === status?.updateRevision], [2, 1, false]);
  await at.change({spec: {updateStrategy: {rollingUpdate: {partition: 0}}}});
  await at.play();

  t.deepEqual(await at.images(), ['web-0 2', 'web-1 2', 'web-2 2']);
});

test('a partition beyond the last place replaces nothing', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.statefulSets, aSet('web', {updateStrategy: {type: 'RollingUpdate', rollingUpdate: {partition: 9}}}));
  await at.play();
  await at.change(changed(2));

  t.deepEqual(await at.images(), ['web-0 1', 'web-1 1', 'web-2 1']);
});

test('pods are replaced when deleted by hand, with OnDelete', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.statefulSets, aSet('web', {updateStrategy: {type: 'OnDelete'}}));
  await at.play();
  await at.change(changed(2));
  t.deepEqual(await at.images(), ['web-0 1', 'web-1 1', 'web-2 1']);
  await at.remove(kinds.pods, 'web-1');

  t.deepEqual(await at.images(), ['web-0 1', 'web-1 2', 'web-2 1']);
});

for (const [policy, maxUnavailable, gate, first] of [
  ['OrderedReady', 2, true, ['web-0 1', 'web-1 1', 'web-2 1', 'web-3 2']],
  ['Parallel', 2, true, ['web-0 1', 'web-1 1', 'web-2 2', 'web-3 2']],
  ['Parallel', '50%', true, ['web-0 1', 'web-1 1', 'web-2 2', 'web-3 2']],
  ['Parallel', '10%', true, ['web-0 1', 'web-1 1', 'web-2 1', 'web-3 2']],
  ['Parallel', 2, false, ['web-0 1', 'web-1 1', 'web-2 1', 'web-3 2']],
] as const) {
  test(`as many pods are replaced at once as may be unavailable: ${policy}, ${maxUnavailable}, gate ${gate}`, async t => {
    const at = await startEnvironment([`--feature-gates=MaxUnavailableStatefulSet=${gate}`]);
    await using _ = at.plane;
    await at.create(
      kinds.statefulSets,
      aSet('web', {replicas: 4, podManagementPolicy: policy, updateStrategy: {type: 'RollingUpdate', rollingUpdate: {maxUnavailable}}}),
    );
    await at.play();
    await at.change(changed(2));
    // In order, the second of two that go at once is made only when the first is back.
    t.deepEqual(await at.images(), policy === 'OrderedReady' ? ['web-0 1', 'web-1 1', 'web-2 2'] : first);
    await at.play();

    t.deepEqual(await at.images(), ['web-0 2', 'web-1 2', 'web-2 2', 'web-3 2']);
  });
}

for (const [policy, gate, after] of [
  ['Parallel', false, ['web-0 1', 'web-1 1', 'web-2 2']],
  ['Parallel', true, ['web-0 1', 'web-1 1', 'web-2 1']],
  ['OrderedReady', false, ['web-0 1']],
  ['OrderedReady', true, ['web-0 1']],
] as const) {
  test(`a template that never worked is replaced no faster than one that did: ${policy}, gate ${gate}`, async t => {
    const at = await startEnvironment([`--feature-gates=MaxUnavailableStatefulSet=${gate}`]);
    await using _ = at.plane;
    await at.create(
      kinds.statefulSets,
      aSet('web', {podManagementPolicy: policy, updateStrategy: {type: 'RollingUpdate', rollingUpdate: {maxUnavailable: 2}}}),
    );
    for (const name of await at.names()) await at.runs(name, {ready: false});
    await at.change(changed(2));

    t.deepEqual(await at.images(), [...after]);
  });
}

test('pods that are unavailable count towards maxUnavailable, those of an older template too', async t => {
  const at = await startEnvironment(['--feature-gates=MaxUnavailableStatefulSet=true']);
  await using _ = at.plane;
  await at.create(
    kinds.statefulSets,
    aSet('web', {
      replicas: 5,
      podManagementPolicy: 'Parallel',
      updateStrategy: {type: 'RollingUpdate', rollingUpdate: {maxUnavailable: 3}},
    }),
  );
  await at.play();
  await at.runs('web-0', {ready: false});
  await at.runs('web-3', {ready: false});
  await at.change(changed(2));

  t.deepEqual(await at.images(), ['web-0 1', 'web-1 1', 'web-2 1', 'web-3 1', 'web-4 2']);
});

for (const gate of [false, true]) {
  test(`a rollout waits until each new pod has been ready for long enough: gate ${gate}`, async t => {
    const at = await startEnvironment([`--feature-gates=MaxUnavailableStatefulSet=${gate}`]);
    await using _ = at.plane;
    await at.create(kinds.statefulSets, aSet('web', {replicas: 2, podManagementPolicy: 'Parallel', minReadySeconds: 10}));
    await at.play();
    await at.clock.advance(11_000);
    await at.change(changed(2));
    await at.play();
    t.deepEqual(await at.images(), ['web-0 1', 'web-1 2']);
    await at.clock.advance(11_000);

    t.deepEqual(await at.images(), ['web-0 2', 'web-1 2']);
  });
}

test('a surplus pod that is ready but not yet available is deleted at once when it is the only unavailable one', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.statefulSets, aSet('web', {replicas: 2, minReadySeconds: 10}));
  await at.runs('web-0');
  await at.clock.advance(11_000);
  await at.runs('web-1');
  await at.change({spec: {replicas: 1}});

  t.deepEqual(await at.names(), ['web-0']);
});

test('a pod counts as available, and the next one is created, once it has been ready for minReadySeconds', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.statefulSets, aSet('web', {replicas: 2, minReadySeconds: 10}));
  await at.runs('web-0');
  t.deepEqual([(await at.set()).status?.readyReplicas, (await at.set()).status?.availableReplicas, await at.names()], [1, 0, ['web-0']]);
  await at.clock.advance(11_000);

  t.deepEqual([(await at.set()).status?.availableReplicas, await at.names()], [1, ['web-0', 'web-1']]);
});
