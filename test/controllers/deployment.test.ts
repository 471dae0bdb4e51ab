import test from 'ava';
import type {Deployment, ReplicaSet} from '#controllers/deployment/kinds.js';
import {deploymentReconciler} from '#controllers/deployment/reconcile.js';
import {isSaturated, maxSurge, maxUnavailable, newestSize, proportionalSizes} from '#controllers/deployment/sizes.js';
import {selecting} from '#informers/selecting.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {settled} from '#src/runtime/controller.js';
import {attempt, contextOver} from './context.js';
import {aPlaneWith, aTemplate, actionsOn, namespace, type PlaneActions} from './workloads.js';
import {aDeployment, changed, conditions, image, keys, revision, sized, sizes, startEnvironment} from './deployments.js';

const scalings = async (at: Pick<PlaneActions, 'eventsOn'>, sets: readonly ObjectOf<typeof kinds.replicaSets>[]) => {
  const names = sets.map(({metadata}) => metadata!.name!);
  return (await at.eventsOn('web'))
    .filter(event => event.includes(' ScalingReplicaSet '))
    .map(event =>
      names.reduce(
        (text, name, index) => text.replace(name, String(index + 1)),
        event.replace('Normal ScalingReplicaSet Scaled ', '').replace(' replica set', ''),
      ),
    );
};

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

test('a rolling update goes step by step and never beyond its bounds', async t => {
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

const rolling = (maxSurgeOf: number | string, maxUnavailableOf: number | string, replicas: number): Deployment => ({
  spec: {
    replicas,
    selector: {},
    template: {},
    strategy: {type: 'RollingUpdate', rollingUpdate: {maxSurge: maxSurgeOf, maxUnavailable: maxUnavailableOf}},
  },
});

for (const [surge, unavailable, replicas, up, down] of [
  ['25%', '25%', 10, 3, 2],
  ['25%', '25%', 1, 1, 0],
  [0, '25%', 1, 0, 1],
  ['0%', '1%', 10, 0, 1],
  [2, 5, 3, 2, 3],
  ['25%', '25%', 0, 0, 0],
  [0, 1, 0, 0, 0],
] as const) {
  test(`of ${replicas} with a surge of ${surge} and ${unavailable} unavailable, ${up} may be more and ${down} fewer`, t => {
    t.deepEqual([maxSurge(rolling(surge, unavailable, replicas)), maxUnavailable(rolling(surge, unavailable, replicas))], [up, down]);
  });
}

test('without a rolling update none may be more or fewer, and the newest set has the whole size', t => {
  const recreated: Deployment = {spec: {replicas: 5, selector: {}, template: {}, strategy: {type: 'Recreate'}}};

  t.deepEqual([maxSurge(recreated), maxUnavailable(recreated), newestSize(recreated, [{spec: {replicas: 9, selector: {}}}], 0)], [0, 0, 5]);
});

for (const [title, replicas, sets, expected] of [
  [
    'grow in proportion, and the largest takes the rest',
    15,
    [sized('old', 8, 13), sized('new', 5, 13)],
    [
      ['old', 11],
      ['new', 7],
    ],
  ],
  [
    'shrink in proportion',
    5,
    [sized('old', 8, 13), sized('new', 5, 13)],
    [
      ['old', 5],
      ['new', 3],
    ],
  ],
  [
    'all go at a size of zero',
    0,
    [sized('old', 8, 13), sized('new', 5, 13)],
    [
      ['old', 0],
      ['new', 0],
    ],
  ],
  [
    'grow from the newer on where they have one size',
    10,
    [sized('old', 5, 13), sized('new', 5, 13)],
    [
      ['new', 8],
      ['old', 5],
    ],
  ],
  [
    'shrink from the older on where they have one size',
    6,
    [sized('old', 5, 13), sized('new', 5, 13)],
    [
      ['old', 4],
      ['new', 5],
    ],
  ],
  [
    'go by the status where no former size is noted',
    15,
    [sized('old', 8), sized('new', 5)],
    [
      ['old', 12],
      ['new', 6],
    ],
  ],
  [
    'stay as they are when nothing is to be added',
    10,
    [sized('old', 8, 13), sized('new', 5, 13)],
    [
      ['old', 8],
      ['new', 5],
    ],
  ],
] as const) {
  test(`sets amid a rollout ${title}`, t => {
    const deployment: Deployment = {...rolling(3, 2, replicas), status: {replicas: 12}};

    t.deepEqual(
      proportionalSizes(deployment, sets, keys).map(([{metadata}, size]) => [metadata?.name, size]),
      expected.map(each => [...each]),
    );
  });
}

test('without any former size a set takes no share, and the largest takes all', t => {
  t.deepEqual(
    proportionalSizes(rolling(3, 2, 10), [sized('old', 2), sized('new', 1, 0)], keys).map(([, size]) => size),
    [12, 1],
  );
});

test('a deployment that is scaled amid a rollout passes the change on to all its sets, and goes on where it was', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(
    kinds.deployments,
    aDeployment('web', {replicas: 10, strategy: {type: 'RollingUpdate', rollingUpdate: {maxSurge: 3, maxUnavailable: 2}}}),
  );
  await at.play();
  await at.change(changed(2));
  t.deepEqual(await sizes(at), [8, 5]);

  await at.change({spec: {replicas: 15}});

  t.deepEqual(await sizes(at), [11, 7]);
  for (const {metadata} of await at.sets())
    t.deepEqual([metadata?.annotations?.[keys.desired], metadata?.annotations?.[keys.maxReplicas]], ['15', '18']);
  t.deepEqual((await scalings(at, await at.sets())).slice(-2), ['up 1 from 8 to 11', 'up 2 from 5 to 7']);
  await at.play();
  t.deepEqual(await sizes(at), [0, 15]);
});

test('a set whose size stays as it is when the deployment is scaled notes the new size all the same', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(
    kinds.deployments,
    aDeployment('web', {replicas: 10, strategy: {type: 'RollingUpdate', rollingUpdate: {maxSurge: 3, maxUnavailable: 2}}}),
  );
  await at.play();
  await at.change(changed(2));
  await at.change({spec: {replicas: 11}});

  t.deepEqual(await sizes(at), [9, 5]);
  for (const {metadata} of await at.sets())
    t.deepEqual([metadata?.annotations?.[keys.desired], metadata?.annotations?.[keys.maxReplicas]], ['11', '14']);
});

for (const [title, set, saturated] of [
  ['carries everything', {}, true],
  ['is of another size', {spec: {replicas: 2, selector: {}}}, false],
  ['was sized for another number', {metadata: {annotations: {[keys.desired]: '2'}}}, false],
  ['was never sized', {metadata: {}}, false],
  ['has pods that are not available', {status: {replicas: 3, availableReplicas: 2}}, false],
] as const satisfies readonly (readonly [string, ReplicaSet, boolean])[]) {
  test(`a set that ${title} is ${saturated ? '' : 'not '}saturated`, t => {
    const full: ReplicaSet = {
      metadata: {annotations: {[keys.desired]: '3'}},
      spec: {replicas: 3, selector: {}},
      status: {replicas: 3, availableReplicas: 3},
    };

    t.is(isSaturated(rolling(1, 1, 3), {...full, ...set}, keys), saturated);
  });
}

test('a deployment with one active set is scaled by it, without a word on progress', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.deployments, aDeployment('web'));
  await at.play();
  await at.change({spec: {replicas: 5}});
  t.deepEqual(await sizes(at), [5]);
  t.is((await conditions(at))['Progressing']?.split(' ')[1], 'NewReplicaSetAvailable');

  await at.change({spec: {replicas: 0}});

  t.deepEqual(await sizes(at), [0]);
  const {conditions: _conditions, ...counts} = (await at.deployment()).status!;
  t.deepEqual(counts, {observedGeneration: 3, terminatingReplicas: 0});
  await at.clock.advance(3_600_000);
  t.is((await conditions(at))['Progressing']?.split(' ')[1], 'NewReplicaSetAvailable');
});

test('a set that can carry everything lets adopted ones go when the size changes', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.deployments, aDeployment('web', {replicas: 2}));
  await at.play();
  const other: ObjectOf<typeof kinds.replicaSets> = {
    metadata: {name: 'other', labels: {app: 'a'}, annotations: {[keys.desired]: '7'}},
    spec: {replicas: 1, selector: {matchLabels: {app: 'a', x: 'y'}}, template: aTemplate({app: 'a', x: 'y'})},
  };
  await at.create(kinds.replicaSets, other);

  const adopted = await at.get(kinds.replicaSets, 'other');
  t.is(adopted.metadata?.ownerReferences?.[0]?.name, 'web');
  t.is(adopted.spec?.replicas, 0);
});

test('with a surge of none the old pods go first', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(
    kinds.deployments,
    aDeployment('web', {replicas: 1, strategy: {type: 'RollingUpdate', rollingUpdate: {maxSurge: 0, maxUnavailable: '1%'}}}),
  );
  await at.play();
  await at.change(changed(2));

  t.deepEqual(await sizes(at), [0, 1]);
  t.deepEqual(await scalings(at, await at.sets()), ['up 1 from 0 to 1', 'down 1 from 1 to 0', 'up 2 from 0 to 1']);
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

test('a deployment with Recreate waits until the old sets report no pods', async t => {
  const plane = await aPlaneWith(['deployment-controller']);
  await using _ = plane;
  const at = actionsOn(plane);
  await at.create(kinds.deployments, aDeployment('web', {replicas: 1, strategy: {type: 'Recreate'}}));
  const [set] = await at.list(kinds.replicaSets);
  const setReplicas = (replicas: number) => at.patch(kinds.replicaSets, set!.metadata!.name!, {status: {replicas}}, 'status');
  await setReplicas(1);
  await at.patch(kinds.deployments, 'web', changed(2));
  t.is((await at.list(kinds.replicaSets)).length, 1);

  await setReplicas(0);

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

test('a deployment that is deleted without its sets and made again adopts them, and no pod is made anew', async t => {
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
