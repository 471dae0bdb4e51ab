import test from 'ava';
import {deploymentReconciler} from '#controllers/deployment/reconcile.js';
import {selecting} from '#informers/selecting.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {settled} from '#src/runtime/controller.js';
import {attempt, contextOver} from './context.js';
import {aPlaneWith, actionsOn, namespace} from './workloads.js';
import {aDeployment, changed, conditions, image, keys, revision, sizes, startEnvironment} from './deployments.js';
import {scalings} from './scalings.js';

test('a new deployment gets a replica set of its own, which gets the pods', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  const {metadata: meta} = aDeployment('web');
  await at.create(kinds.deployments, {
    ...aDeployment('web', {minReadySeconds: 5}),
    metadata: {...meta, annotations: {note: 'x', [at.plane.naming.annotations.lastApplied]: '{}'}},
  });

  const [set, ...others] = await at.sets();
  const {metadata, status} = await at.deployment();
  const hash = set!.metadata!.labels!['pod-template-hash']!;
  t.deepEqual(others, []);
  t.regex(hash, /^[bcdfghjklmnpqrstvwxz2456789]{8,10}$/);
  t.is(set?.metadata?.name, `web-${hash}`);
  t.deepEqual(set?.metadata?.labels, {app: 'a', 'pod-template-hash': hash});
  t.deepEqual(set?.spec?.selector, {matchLabels: {app: 'a', 'pod-template-hash': hash}});
  t.deepEqual(set?.spec?.template?.metadata?.labels, {app: 'a', 'pod-template-hash': hash});
  t.deepEqual([set?.spec?.replicas, set?.spec?.minReadySeconds], [3, 5]);
  t.deepEqual(set?.metadata?.annotations, {note: 'x', [keys.revision]: '1', [keys.desired]: '3', [keys.maxReplicas]: '4'});
  t.deepEqual(set?.metadata?.ownerReferences, [
    {apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: metadata!.uid!, controller: true, blockOwnerDeletion: true},
  ]);
  t.deepEqual(await at.eventsOn('web'), [`Normal ScalingReplicaSet Scaled up replica set web-${hash} from 0 to 3`]);
  t.deepEqual([metadata?.annotations?.[keys.revision], metadata?.generation], ['1', 1]);
  t.is((await at.podsOf(`web-${hash}`)).length, 3);
  const {conditions: _conditions, ...counts} = status!;
  t.deepEqual(counts, {observedGeneration: 1, replicas: 3, updatedReplicas: 3, unavailableReplicas: 3, terminatingReplicas: 0});
  t.deepEqual(await conditions(at), {
    Available: 'False MinimumReplicasUnavailable Deployment does not have minimum availability.',
    Progressing: `True ReplicaSetUpdated ReplicaSet "web-${hash}" is progressing.`,
  });
});

test('a rollout is complete once all pods are available, with a condition', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.deployments, aDeployment('web'));
  await at.clock.advance(5_000);
  await at.play();

  const [set] = await at.sets();
  const {conditions: reported = [], ...counts} = (await at.deployment()).status!;
  t.deepEqual(counts, {
    observedGeneration: 1,
    replicas: 3,
    updatedReplicas: 3,
    readyReplicas: 3,
    availableReplicas: 3,
    terminatingReplicas: 0,
  });
  t.deepEqual(await conditions(at), {
    Available: 'True MinimumReplicasAvailable Deployment has minimum availability.',
    Progressing: `True NewReplicaSetAvailable ReplicaSet "${set?.metadata?.name}" has successfully progressed.`,
  });
  // The turn of a status and the last word on it are different times.
  const {lastTransitionTime, lastUpdateTime} = reported.find(({type}) => type === 'Progressing')!;
  t.deepEqual([lastTransitionTime, lastUpdateTime], ['2026-01-01T00:00:00Z', '2026-01-01T00:00:05Z']);
});

test('a rolling update proceeds in steps within its bounds', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(
    kinds.deployments,
    aDeployment('web', {replicas: 4, strategy: {type: 'RollingUpdate', rollingUpdate: {maxSurge: '25%', maxUnavailable: '25%'}}}),
  );
  await at.play();
  await at.change(changed(2));
  t.deepEqual(await sizes(at), [3, 2]);
  const isReady = (pod: Pod) => pod.status?.conditions?.some(({type, status}) => type === 'Ready' && status === 'True') ?? false;
  for (;;) {
    const pods = await at.list(kinds.pods);
    t.true(pods.length <= 5, `${pods.length} pods`);
    t.true(pods.filter(isReady).length >= 3);
    const next = pods.find(pod => !isReady(pod));
    if (!next) break;
    await at.runs(next);
  }

  t.deepEqual(await sizes(at), [0, 4]);
  t.deepEqual(await scalings(at, await at.sets()), [
    'up 1 from 0 to 4',
    'up 2 from 0 to 1',
    'down 1 from 4 to 3',
    'up 2 from 1 to 2',
    'down 1 from 3 to 2',
    'up 2 from 2 to 3',
    'down 1 from 2 to 1',
    'up 2 from 3 to 4',
    'down 1 from 1 to 0',
  ]);
  const {metadata} = await at.deployment();
  t.is(metadata?.annotations?.[keys.revision], '2');
  t.is((await conditions(at))['Progressing']?.split(' ')[1], 'NewReplicaSetAvailable');
});

test('pods of the old set that are not available go first, and those of a new one that fail hold the rest', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(
    kinds.deployments,
    aDeployment('web', {replicas: 4, strategy: {type: 'RollingUpdate', rollingUpdate: {maxSurge: 1, maxUnavailable: 1}}}),
  );
  const pods = await at.list(kinds.pods);
  for (const pod of pods.slice(1)) await at.runs(pod);
  await at.change(changed(2));

  const [old] = await at.sets();
  const left = await at.podsOf(old!.metadata!.name!);
  t.deepEqual(
    left.map(({metadata}) => metadata?.name).sort(),
    pods
      .slice(1)
      .map(({metadata}) => metadata?.name)
      .sort(),
  );
  t.deepEqual(await sizes(at), [3, 2]);
  await at.clock.advance(300_000);
  t.deepEqual(await sizes(at), [3, 2]);
});

test('a set that was never rolled out makes room for the next at once', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.deployments, aDeployment('web', {replicas: 4}));
  await at.play();
  await at.change(changed(2));
  await at.change(changed(3));
  t.deepEqual(await sizes(at), [3, 0, 2]);
  await at.play();

  t.deepEqual(await sizes(at), [0, 0, 4]);
});

for (const gate of ['true', 'false']) {
  test(`a deployment with Recreate waits until the last old pod is gone, whether sets count terminating pods (${gate}) or not`, async t => {
    const at = await startEnvironment([`--feature-gates=DeploymentReplicaSetTerminatingReplicas=${gate}`]);
    await using _ = at.plane;
    const placed = (version: number) => ({...image(version), spec: {...image(version).spec!, nodeName: 'node'}});
    await at.create(kinds.deployments, aDeployment('web', {replicas: 2, strategy: {type: 'Recreate'}, template: placed(1)}));
    await at.play();
    await at.change({spec: {template: placed(2)}});
    const [old] = await at.sets();
    t.deepEqual(await sizes(at), [0]);
    t.deepEqual(
      [(await at.deployment()).status?.replicas, (await at.deployment()).status?.terminatingReplicas],
      [undefined, gate === 'true' ? 2 : undefined],
    );
    const [first, second] = await at.podsOf(old!.metadata!.name!);
    await at.remove(kinds.pods, first!.metadata!.name!, {gracePeriodSeconds: 0});
    t.deepEqual(await sizes(at), [0]);

    await at.remove(kinds.pods, second!.metadata!.name!, {gracePeriodSeconds: 0});

    t.deepEqual(await sizes(at), [0, 2]);
    await at.play();
    t.deepEqual(await scalings(at, await at.sets()), ['up 1 from 0 to 2', 'down 1 from 2 to 0', 'up 2 from 0 to 2']);
    t.is((await conditions(at))['Progressing']?.split(' ')[1], 'NewReplicaSetAvailable');
  });
}

test('a deployment whose new set has reported nothing yet has no terminating pods', async t => {
  const plane = await aPlaneWith(['deployment-controller']);
  await using _ = plane;
  const at = actionsOn(plane);
  await at.create(kinds.deployments, aDeployment('web', {replicas: 2}));

  const {conditions: _conditions, ...counts} = (await at.get(kinds.deployments, 'web')).status!;
  t.deepEqual(counts, {observedGeneration: 1, unavailableReplicas: 2, terminatingReplicas: 0});
});

test('a deployment with Recreate waits until the old sets report no pods', async t => {
  const plane = await aPlaneWith(['deployment-controller']);
  await using _ = plane;
  const at = actionsOn(plane);
  await at.create(kinds.deployments, aDeployment('web', {replicas: 1, strategy: {type: 'Recreate'}}));
  const [set] = await at.list(kinds.replicaSets);
  const report = (replicas: number, observedGeneration: number) =>
    at.patch(kinds.replicaSets, set!.metadata!.name!, {status: {replicas, observedGeneration}}, 'status');
  await report(1, 1);
  await at.patch(kinds.deployments, 'web', changed(2));
  t.is((await at.list(kinds.replicaSets)).length, 1);

  await report(0, 2);

  t.is((await at.list(kinds.replicaSets)).length, 2);
});

test('a deployment that recreates does not wait for old pods whose work is over', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  const placed = (version: number) => ({...image(version), spec: {...image(version).spec!, nodeName: 'node'}});
  await at.create(kinds.deployments, aDeployment('web', {replicas: 1, strategy: {type: 'Recreate'}, template: placed(1)}));
  const [pod] = await at.list(kinds.pods);
  await at.change({spec: {template: placed(2)}});
  t.deepEqual(await sizes(at), [0]);
  await at.runs(pod!, {phase: 'Failed', ready: false});
  await at.change({metadata: {annotations: {look: 'again'}}});

  t.deepEqual(await sizes(at), [0, 1]);
});

test('a name that another set has already makes the deployment count a collision and take another', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.deployments, aDeployment('web'));
  const [first] = await at.sets();
  await at.remove(kinds.deployments, 'web', {propagationPolicy: 'Background'});
  await at.create(kinds.deployments, aDeployment('web'));

  const {metadata, status} = await at.deployment();
  t.deepEqual([status?.collisionCount, status?.replicas], [1, 3]);
  const own = (await at.sets()).filter(set => set.metadata?.ownerReferences?.[0]?.uid === metadata?.uid);
  t.is(own.length, 1);
  t.not(own[0]?.metadata?.name, first?.metadata?.name);
  t.is(own[0]?.spec?.replicas, 3);
});

test('a set that is missing from the cache is recognized when it is created again', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.deployments, aDeployment('web'));
  const deployment = await at.deployment();
  const behind = {...deployment, metadata: {...deployment.metadata, annotations: {}}};
  const events: string[] = [];
  const context = {
    ...contextOver(at.plane, [behind], {}),
    events: {normal: (_: unknown, reason: string) => void events.push(reason), warning() {}},
  };

  await deploymentReconciler(
    context,
    selecting(({spec}) => spec?.selector),
  )({namespace, name: 'web'}, attempt);

  t.is((await at.sets()).length, 1);
  t.deepEqual(events, []);
  t.is((await at.deployment()).status?.collisionCount, undefined);
  t.is(revision(await at.deployment()), 1);
});

test('a deployment that selects everything is refused in an event, and observed', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.deployments, aDeployment('web', {replicas: 0}));
  const deployment = await at.deployment();
  const events: string[] = [];
  const context = {
    ...contextOver(
      at.plane,
      [{...deployment, metadata: {...deployment.metadata, generation: 9}, spec: {...deployment.spec, selector: {}}}],
      {},
    ),
    events: {normal() {}, warning: (_: unknown, reason: string, message: string) => void events.push(`${reason} ${message}`)},
  };

  t.is(
    await deploymentReconciler(
      context,
      selecting(({spec}) => spec?.selector),
    )({namespace, name: 'web'}, attempt),
    settled,
  );
  t.deepEqual(events, ['SelectingAll This deployment is selecting all pods. A non-empty selector is required.']);
  t.is((await at.deployment()).status?.observedGeneration, 9);
});

test('deployments with the same selector keep apart', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.deployments, aDeployment('one', {replicas: 1}));
  await at.create(kinds.deployments, aDeployment('two', {replicas: 2, template: image(2)}));
  await at.clock.advance(60_000);

  const owners = (await at.sets()).map(({metadata, spec}) => [metadata?.ownerReferences?.[0]?.name, spec?.replicas]).sort();
  t.deepEqual(owners, [
    ['one', 1],
    ['two', 2],
  ]);
});

test('a deployment that is deleted without its sets and made again adopts them, and no pod is made again', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.deployments, aDeployment('web'));
  await at.play();
  const [before] = await at.sets();
  const pods = (await at.list(kinds.pods)).map(({metadata}) => metadata?.uid).sort();
  await at.client.resource(kinds.deployments).delete('web', {namespace, propagationPolicy: 'Background'});
  await at.patch(kinds.replicaSets, before!.metadata!.name!, {metadata: {ownerReferences: null}});

  await at.create(kinds.deployments, aDeployment('web'));

  const [after, ...others] = await at.sets();
  t.deepEqual(others, []);
  t.deepEqual(
    [after?.metadata?.uid, after?.metadata?.ownerReferences?.[0]?.uid],
    [before?.metadata?.uid, (await at.deployment()).metadata?.uid],
  );
  t.deepEqual((await at.list(kinds.pods)).map(({metadata}) => metadata?.uid).sort(), pods);
  t.is(
    (await conditions(at))['Progressing'],
    `True NewReplicaSetAvailable ReplicaSet "${after?.metadata?.name}" has successfully progressed.`,
  );
});
