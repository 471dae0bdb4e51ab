import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {rollingUpdate} from '#controllers/daemonset/rolling-update.js';
import {aNode, aSet, image, type Spec, startEnvironment, taint} from './daemonsets.js';

const changed = (version: number) => ({spec: {template: image(version)}});
const rolling = (rollingUpdate: object): Partial<Spec> => ({updateStrategy: {type: 'RollingUpdate', rollingUpdate}});

for (const [maxUnavailable, gone] of [
  [1, 1],
  [2, 2],
  ['50%', 2],
  ['100%', 4],
] as const) {
  test(`a changed template takes away no more pods at once than may be missing: ${maxUnavailable}`, async t => {
    const at = await startEnvironment(['n1', 'n2', 'n3', 'n4']);
    await using _ = at.plane;
    await at.create(kinds.daemonSets, aSet('agent', rolling({maxUnavailable})));
    await at.play();
    await at.change(changed(2));
    const isNew = (each: string) => each.endsWith(' 2');
    t.is((await at.shown()).filter(isNew).length, gone);
    t.is((await at.shown()).length, 4);
    await at.play();

    t.deepEqual(await at.shown(), ['n1 2', 'n2 2', 'n3 2', 'n4 2']);
    const {status} = await at.set();
    t.deepEqual([status?.updatedNumberScheduled, status?.numberAvailable, status?.observedGeneration], [4, 4, 2]);
    t.deepEqual(
      (await at.revisions()).map(({revision}) => revision),
      [1, 2],
    );
  });
}

test('a node that lacks its pod counts as unavailable in a rollout', t => {
  const set = aSet('agent', rolling({maxUnavailable: 1}));
  const placements = ['n1', 'n2', 'n3', 'n4'].map(name => ({name, node: aNode(name), shouldRun: name !== 'n3', shouldStay: true}));
  const ready = {status: {phase: 'Running', conditions: [{type: 'Ready', status: 'True'}]}} as Pod;
  const going = (...on: string[]) =>
    rollingUpdate({set, hash: 'new', placements, now: 0}, new Map(on.map(name => [name, [{...ready, metadata: {name}}]]))).delete.length;

  t.is(going('n1', 'n2', 'n4'), 1);
  t.is(going('n1', 'n2'), 0);
});

test('old pods that do not serve are replaced whatever the bound', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.daemonSets, aSet());
  await at.change(changed(2));

  t.deepEqual(await at.shown(), ['n1 2', 'n2 2', 'n3 2']);
});

test('new pods are created before old ones are deleted where surge is allowed', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.daemonSets, aSet('agent', rolling({maxSurge: 1, maxUnavailable: 0})));
  await at.play();
  // The older of two pods is decided by whole seconds.
  await at.clock.advance(1_000);
  await at.change(changed(2));
  const shown = await at.shown();
  t.is(shown.filter(each => each.endsWith(' 1')).length, 3);
  t.is(shown.filter(each => each.endsWith(' 2')).length, 1);
  t.is((await at.set()).status?.numberAvailable, 3);
  await at.play();

  t.deepEqual(await at.shown(), ['n1 2', 'n2 2', 'n3 2']);
});

test('where surge is allowed an old pod that is not ready is deleted once a new one exists', async t => {
  const at = await startEnvironment(['n1', 'n2']);
  await using _ = at.plane;
  await at.create(kinds.daemonSets, aSet('agent', rolling({maxSurge: 1, maxUnavailable: 0})));
  await at.play();
  const [broken] = await at.on('n1');
  await at.runs(broken!, {ready: false});
  await at.change(changed(2));

  // The new pod on n1 counts as one too many until it serves, and n2 has to wait.
  t.deepEqual(await at.shown(), ['n1 2', 'n2 1', 'n2 2']);
});

test('where surge is allowed a pod on a node that no longer matches is deleted only when enough others are available', async t => {
  const {metadata, spec} = image(1);
  const template = (zone: string): Spec['template'] => ({metadata: metadata!, spec: {...spec!, nodeSelector: {zone}}});
  const at = await startEnvironment([aNode('a', {labels: {zone: 'a', both: 'x'}}), aNode('b', {labels: {zone: 'b'}})]);
  await using _ = at.plane;
  await at.create(kinds.daemonSets, aSet('agent', {...rolling({maxSurge: 1, maxUnavailable: 0}), template: template('a')}));
  await at.play();
  await at.changeNode('a', {spec: {taints: taint('NoSchedule')}});
  await at.change({spec: {template: {spec: {nodeSelector: {zone: null}}}}});
  t.deepEqual(await at.where(), ['a', 'b']);
  await at.play();

  t.deepEqual(await at.where(), ['b']);
});

test('pods are replaced when deleted by hand, with OnDelete', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.daemonSets, aSet('agent', {updateStrategy: {type: 'OnDelete'}}));
  await at.play();
  await at.change(changed(2));
  t.deepEqual(await at.shown(), ['n1 1', 'n2 1', 'n3 1']);
  t.is((await at.set()).status?.updatedNumberScheduled, undefined);
  await at.remove(kinds.pods, (await at.on('n2'))[0]!.metadata!.name!);

  t.deepEqual(await at.shown(), ['n1 1', 'n2 2', 'n3 1']);
});

test('a return to an earlier template takes up its revision again, and old ones beyond the limit go', async t => {
  const at = await startEnvironment(['n1']);
  await using _ = at.plane;
  await at.create(kinds.daemonSets, aSet('agent', {revisionHistoryLimit: 1}));
  await at.play();
  const [first] = await at.revisions();
  await at.change(changed(2));
  await at.play();
  await at.change(changed(1));
  await at.play();
  t.deepEqual(
    (await at.revisions()).map(({revision, metadata}) => [revision, metadata?.name === first?.metadata?.name]),
    [
      [2, false],
      [3, true],
    ],
  );
  await at.change(changed(3));
  await at.play();
  await at.change({metadata: {annotations: {look: 'again'}}});

  t.deepEqual(
    (await at.revisions()).map(({revision}) => revision),
    [3, 4],
  );
});

test('a pod counts as available once it has been ready for long enough', async t => {
  const at = await startEnvironment(['n1']);
  await using _ = at.plane;
  await at.create(kinds.daemonSets, aSet('agent', {minReadySeconds: 10}));
  await at.play();
  t.deepEqual([(await at.set()).status?.numberReady, (await at.set()).status?.numberAvailable], [1, undefined]);
  await at.clock.advance(10_000);

  t.is((await at.set()).status?.numberAvailable, 1);
});

test('a name that another revision has makes another name, and counts', async t => {
  const at = await startEnvironment(['n1']);
  await using _ = at.plane;
  await at.create(kinds.daemonSets, aSet());
  const [made] = await at.revisions();
  await at.remove(kinds.daemonSets, 'agent', {propagationPolicy: 'Background'});
  await at.remove(kinds.controllerRevisions, made!.metadata!.name!);
  await at.create(kinds.controllerRevisions, {metadata: {name: made!.metadata!.name!}, data: {other: true}, revision: 1});
  await at.create(kinds.daemonSets, aSet());
  await at.clock.advance(1_000);

  t.is((await at.set()).status?.collisionCount, 1);
  t.is((await at.revisions()).filter(({metadata}) => metadata?.ownerReferences).length, 1);
});

test('several revisions of one template are merged, and their pods are relabelled', async t => {
  const at = await startEnvironment(['n1']);
  await using _ = at.plane;
  await at.create(kinds.daemonSets, aSet());
  const [made] = await at.revisions();
  const [before] = await at.pods();
  const {
    name: _name,
    uid: _uid,
    resourceVersion: _version,
    creationTimestamp: _time,
    managedFields: _fields,
    ...metadata
  } = made!.metadata!;
  await at.create(kinds.controllerRevisions, {
    metadata: {...metadata, name: 'agent-twin', labels: {app: 'a'}},
    data: made!.data,
    revision: 5,
  });

  t.deepEqual(
    (await at.revisions()).map(({metadata: meta, revision}) => [meta?.name, meta?.labels?.['controller-revision-hash'], revision]),
    [['agent-twin', 'agent-twin', 5]],
  );
  const [pod] = await at.pods();
  t.deepEqual([pod?.metadata?.uid, pod?.metadata?.labels?.['controller-revision-hash']], [before?.metadata?.uid, 'agent-twin']);
});
