import test, {type ExecutionContext} from 'ava';
import deploymentController from '#controllers/deployment/controller.js';
import type {Deployment, ReplicaSet} from '#controllers/deployment/kinds.js';
import {isSaturated, maxSurge, maxUnavailable, newestSize, proportionalSizes} from '#controllers/deployment/sizes.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {alone, aTemplate} from './workloads.js';
import {aDeployment, changed, conditions, keys, revision, sized, sizes, startEnvironment, type Spec} from './deployments.js';
import {scalings} from './scalings.js';

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
  test(`sets during a rollout ${title}`, t => {
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

test('a deployment that is scaled during a rollout scales all its sets in proportion, and continues the rollout', async t => {
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

test('a set whose size stays as it is when the deployment is scaled notes the new size nevertheless', async t => {
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
  ['has a status that is behind', {metadata: {annotations: {[keys.desired]: '3'}, generation: 1}}, false],
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

/** A deployment alone, on which the test plays the controller of replica sets, which may be behind. */
const aloneWith = async (t: ExecutionContext, spec: Partial<Spec>) => {
  const at = await alone(t, [deploymentController], {concurrentDeploymentSyncs: 1});
  await at.client.resource(kinds.namespaces).create({metadata: {name: 'default'}});
  const sets = async () => (await at.list(kinds.replicaSets)).sort((a, b) => revision(a) - revision(b));
  const report = async (index: number, availableReplicas: number) => {
    const {metadata, spec: wanted} = (await sets())[index]!;
    const replicas = wanted!.replicas!;
    const status = {replicas, readyReplicas: availableReplicas, availableReplicas, observedGeneration: metadata!.generation!};
    await at.patch(kinds.replicaSets, metadata!.name!, {status}, 'status');
  };
  await at.create(kinds.deployments, aDeployment('web', spec));
  return {...at, sets, report, change: (body: object) => at.patch(kinds.deployments, 'web', body)};
};

/** A rollout from 10 pods that never become available: 8 old ones are. */
const aStuckRollout = async (t: ExecutionContext) => {
  const at = await aloneWith(t, {replicas: 10, strategy: {type: 'RollingUpdate', rollingUpdate: {maxSurge: 3, maxUnavailable: 2}}});
  await at.report(0, 10);
  await at.change(changed(2));
  await at.report(1, 0);
  await at.report(0, 8);
  await at.report(1, 0);
  t.deepEqual(await sizes(at), [8, 5]);
  return at;
};

test('a rollout that is scaled up and down takes no available pods away while the status of their set is behind', async t => {
  const at = await aStuckRollout(t);

  await at.change({spec: {replicas: 15}});
  await at.change({spec: {replicas: 5}});

  t.deepEqual(await sizes(at), [5, 3]);
  await at.report(1, 0);
  t.deepEqual(await sizes(at), [5, 3]);
  await at.report(0, 5);
  t.deepEqual(await sizes(at), [3, 3]);
});

test('pods that a set has beyond its size do not count as available, as they are being deleted', async t => {
  const at = await aStuckRollout(t);
  await at.change({spec: {replicas: 5}});
  const {metadata} = (await at.sets())[0]!;
  const status = {replicas: 8, readyReplicas: 8, availableReplicas: 8, observedGeneration: metadata!.generation!};

  await at.patch(kinds.replicaSets, metadata!.name!, {status}, 'status');

  t.deepEqual(await sizes(at), [5, 3]);
});

test('Recreate starts no new pods while the status of an old set is behind', async t => {
  const at = await aloneWith(t, {strategy: {type: 'Recreate'}});

  await at.change(changed(2));

  t.deepEqual(await sizes(at), [0]);
  await at.report(0, 0);
  t.deepEqual(await sizes(at), [0, 3]);
});
