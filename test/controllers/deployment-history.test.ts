import test from 'ava';
import {annotationsAfterRollback, annotationsOfNewest} from '#controllers/deployment/annotations.js';
import type {ReplicaSet} from '#controllers/deployment/kinds.js';
import {newestOf, sameTemplate} from '#controllers/deployment/replica-sets.js';
import {kinds} from '#src/api/kinds/index.js';
import {naming} from '#src/api/naming.js';
import {aTemplate} from './workloads.js';
import {aDeployment, changed, conditions, image, keys, labels, revision, sized, sizes, startEnvironment} from './deployments.js';

test('a change of annotations or of minReadySeconds creates no revision and is copied to the replica set', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.deployments, aDeployment('web'));
  await at.change({metadata: {annotations: {note: 'x'}}});
  await at.change({spec: {minReadySeconds: 7}});

  const [set, ...others] = await at.sets();
  t.deepEqual(others, []);
  t.deepEqual(
    [set?.metadata?.annotations?.['note'], set?.metadata?.annotations?.[keys.revision], set?.spec?.minReadySeconds],
    ['x', '1', 7],
  );
  t.is((await at.deployment()).status?.observedGeneration, 3);
});

test('a return to an earlier template uses its set, which takes the highest revision and remembers the one it had', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.deployments, aDeployment('web'));
  await at.play();
  await at.change(changed(2));
  await at.play();
  await at.change(changed(1));
  await at.play();

  const [second, first] = await at.sets();
  t.deepEqual([revision(second!), revision(first!), first?.metadata?.annotations?.[keys.history]], [2, 3, '1']);
  t.deepEqual(await sizes(at), [0, 3]);
  t.is(revision(await at.deployment()), 3);
});

test('annotations of a set follow its deployment, but for those that are its own', t => {
  const deployment = {
    metadata: {annotations: {a: 'new', [keys.revision]: '9', [keys.rollback]: '1', [naming('plat').annotations.lastApplied]: '{}'}},
  };
  const own = {a: 'old', b: 'kept', [keys.revision]: '2', [keys.history]: '1', [keys.desired]: '3', [keys.maxReplicas]: '4'};

  t.deepEqual(annotationsOfNewest(deployment, own, 4n, keys), {...own, a: 'new', [keys.revision]: '4', [keys.history]: '1,2'});
  t.deepEqual(annotationsOfNewest(deployment, own, 2n, keys), {...own, a: 'new'});
  t.deepEqual(annotationsOfNewest(deployment, {}, 1n, keys), {a: 'new', [keys.revision]: '1'});
  t.deepEqual(annotationsOfNewest(deployment, {[keys.revision]: 'x'}, 4n, keys), {[keys.revision]: 'x'});
  t.deepEqual(annotationsOfNewest(deployment, {[keys.revision]: '9223372036854775808'}, 4n, keys), {
    [keys.revision]: '9223372036854775808',
  });
  t.is(annotationsOfNewest(deployment, {[keys.revision]: '9007199254740993'}, 9007199254740992n, keys)[keys.revision], '9007199254740993');
  t.deepEqual(annotationsAfterRollback(deployment, {metadata: {annotations: own}}, keys), {
    ...deployment.metadata.annotations,
    a: 'old',
    b: 'kept',
  });
});

test('the history of revisions is cut at its front', t => {
  const history = Array.from({length: 500}, (_, i) => String(100 + i))
    .join(',')
    .slice(0, 1999);
  const next = annotationsOfNewest({}, {[keys.revision]: '700', [keys.history]: history}, 701n, keys)[keys.history]!;

  t.true(next.length <= 2000);
  t.true(next.endsWith(',700'));
  t.true(next.startsWith('101,'));
  t.is(annotationsOfNewest({}, {[keys.revision]: '3', [keys.history]: '9'.repeat(2001)}, 4n, keys)[keys.history], '3');
});

test('templates are the same whatever their hash and whatever is empty in them', t => {
  const hashed = aTemplate({...labels, 'pod-template-hash': 'x'});

  t.true(sameTemplate(hashed, aTemplate(labels)));
  t.true(sameTemplate({...hashed, metadata: {...hashed.metadata, annotations: {}}}, aTemplate(labels)));
  t.false(sameTemplate(hashed, aTemplate({...labels, more: 'y'})));
  t.false(sameTemplate(hashed, image(2)));
});

test('of several sets with the present template the oldest is the newest revision', t => {
  const sets = [sized('a', 1), sized('b', 1), sized('c', 1)].map((set, index): ReplicaSet => ({
    ...set,
    spec: {...set.spec!, template: image(index === 0 ? 2 : 1)},
  }));

  t.is(newestOf(aDeployment('web'), sets)?.metadata?.name, 'b');
  t.is(newestOf(aDeployment('web', {template: image(3)}), sets), undefined);
});

test('a paused deployment creates no set, can be scaled, and rolls out once it is resumed', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.deployments, aDeployment('web'));
  await at.play();
  await at.change({spec: {paused: true}});
  t.is((await conditions(at))['Progressing'], 'Unknown DeploymentPaused Deployment is paused');
  await at.change(changed(2));
  await at.change({spec: {replicas: 4}});
  t.deepEqual(await sizes(at), [4]);
  await at.clock.advance(3_600_000);
  t.is((await conditions(at))['Progressing'], 'Unknown DeploymentPaused Deployment is paused');

  await at.change({spec: {paused: false}});

  t.deepEqual(await sizes(at), [3, 2]);
  t.is((await conditions(at))['Progressing']?.split(' ')[1], 'ReplicaSetUpdated');
  await at.play();
  t.deepEqual(await sizes(at), [0, 4]);
});

test('old sets beyond the limit are deleted, the lowest revisions first, once a rollout is complete', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.deployments, aDeployment('web', {revisionHistoryLimit: 2}));
  await at.play();
  for (const version of [2, 3, 4]) {
    await at.change(changed(version));
    await at.play();
  }
  t.deepEqual((await at.sets()).map(revision), [2, 3, 4]);
  await at.change(changed(5));
  t.deepEqual((await at.sets()).map(revision), [2, 3, 4, 5]);

  await at.change({spec: {revisionHistoryLimit: 0}});
  await at.play();

  t.deepEqual((await at.sets()).map(revision), [5]);
});

test('the history is ordered by revision, not by age; and terminating sets do not count', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.deployments, aDeployment('web', {replicas: 1}));
  await at.play();
  for (const version of [2, 1, 3, 4]) {
    await at.change(changed(version));
    await at.play();
  }
  t.deepEqual((await at.sets()).map(revision), [2, 3, 4, 5]);
  const [, , going] = await at.sets();
  await at.patch(kinds.replicaSets, going!.metadata!.name!, {metadata: {finalizers: ['example.com/hold']}});
  await at.remove(kinds.replicaSets, going!.metadata!.name!);
  await at.change({spec: {revisionHistoryLimit: 2}});
  t.deepEqual((await at.sets()).map(revision), [2, 3, 4, 5]);

  await at.change({spec: {revisionHistoryLimit: 1}});

  t.deepEqual((await at.sets()).map(revision), [3, 4, 5]);
});

test('a paused deployment forgets old sets as well, but none that has pods', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.deployments, aDeployment('web'));
  await at.play();
  await at.change(changed(2));
  await at.play();
  await at.change(changed(3));
  await at.change({spec: {paused: true, revisionHistoryLimit: 0}});

  t.deepEqual((await at.sets()).map(revision), [2, 3]);
});

test('a set that is labelled away is let go, and another takes its place', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.deployments, aDeployment('web', {replicas: 1}));
  const [first] = await at.sets();
  await at.patch(kinds.replicaSets, first!.metadata!.name!, {metadata: {labels: {app: 'b'}}});

  t.is((await at.get(kinds.replicaSets, first!.metadata!.name!)).metadata?.ownerReferences, undefined);
  t.is((await at.deployment()).status?.collisionCount, 1);
  t.is((await at.sets()).length, 2);
});

for (const [title, requested, event, version] of [
  ['the requested revision', '1', 'Normal DeploymentRollback Rolled back deployment "web" to revision 1', 1],
  ['the last revision', '0', 'Normal DeploymentRollback Rolled back deployment "web" to revision 2', 2],
  ['no revision that is not there', '7', 'Warning DeploymentRollbackRevisionNotFound Unable to find the revision to rollback to.', 3],
  [
    'no revision of the same template',
    '3',
    'Warning DeploymentRollbackTemplateUnchanged The rollback revision contains the same template as current deployment "web"',
    3,
  ],
] as const) {
  test(`a deployment rolls back to ${title}, and clears the request`, async t => {
    const at = await startEnvironment();
    await using _ = at.plane;
    const {metadata: meta} = aDeployment('web');
    await at.create(kinds.deployments, {...aDeployment('web', {replicas: 1}), metadata: {...meta, annotations: {cause: '1'}}});
    await at.play();
    for (const next of [2, 3]) {
      await at.change({metadata: {annotations: {cause: String(next)}}, ...changed(next)});
      await at.play();
    }

    await at.change({metadata: {annotations: {[keys.rollback]: requested}}});

    const {metadata, spec} = await at.deployment();
    t.is(spec?.template.spec?.containers[0]?.image, `example.com/app:${version}`);
    t.deepEqual([metadata?.annotations?.[keys.rollback], metadata?.annotations?.['cause']], [undefined, String(version)]);
    t.is(spec?.template.metadata?.labels?.['pod-template-hash'], undefined);
    t.is((await at.eventsOn('web')).filter(each => each.includes('Rollback')).join(), event);
    await at.play();
    t.is(revision(await at.deployment()), version === 3 ? 3 : 4);
  });
}

test('a rollback without a last revision is reported, and one to an invalid revision does nothing', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.deployments, aDeployment('web'));
  await at.change({metadata: {annotations: {[keys.rollback]: 'back'}}});
  t.is((await at.deployment()).metadata?.annotations?.[keys.rollback], 'back');
  await at.change({metadata: {annotations: {[keys.rollback]: '0'}}});

  t.true((await at.eventsOn('web')).includes('Warning DeploymentRollbackRevisionNotFound Unable to find last revision.'));
  t.is((await at.deployment()).metadata?.annotations?.[keys.rollback], undefined);
});

test('a paused deployment rolls back only when it is resumed, and keeps its history until then', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.deployments, aDeployment('web', {replicas: 1, revisionHistoryLimit: 0}));
  await at.play();
  await at.change({metadata: {annotations: {[keys.rollback]: '1'}}, spec: {paused: true, template: image(2)}});
  t.is((await at.deployment()).metadata?.annotations?.[keys.rollback], '1');
  await at.change({spec: {paused: false}});
  await at.play();
  t.is((await at.deployment()).spec?.template.spec?.containers[0]?.image, 'example.com/app:1');

  await at.change({spec: {revisionHistoryLimit: 1}});
  await at.change(changed(3));
  await at.play();
  await at.change({metadata: {annotations: {[keys.rollback]: '1'}}, spec: {paused: true, revisionHistoryLimit: 0}});
  t.true((await at.sets()).length > 1);
});
