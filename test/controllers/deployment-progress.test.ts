import test from 'ava';
import type {Deployment, DeploymentStatus, ReplicaSet} from '#controllers/deployment/kinds.js';
import {withRollout} from '#controllers/deployment/progress.js';
import {deploymentReconciler} from '#controllers/deployment/reconcile.js';
import {terminatingIn} from '#controllers/deployment/replica-sets.js';
import {selecting} from '#informers/selecting.js';
import {kinds} from '#src/api/kinds/index.js';
import {settled} from '#src/runtime/controller.js';
import {attempt, contextOver} from './context.js';
import {aDeployment, changed, conditions, image, sizes, startEnvironment} from './deployments.js';

test('a paused rollout is scaled in proportion, and its deadline restarts when it is resumed', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(
    kinds.deployments,
    aDeployment('web', {
      replicas: 10,
      progressDeadlineSeconds: 60,
      strategy: {type: 'RollingUpdate', rollingUpdate: {maxSurge: 3, maxUnavailable: 2}},
    }),
  );
  await at.play();
  await at.change(changed(2));
  await at.change({spec: {paused: true}});
  await at.change({spec: {replicas: 5}});
  t.deepEqual(await sizes(at), [5, 3]);
  await at.clock.advance(600_000);
  await at.change({spec: {paused: false}});
  await at.clock.advance(59_000);
  const reason = async () => (await conditions(at))['Progressing']?.split(' ')[1];
  t.not(await reason(), 'ProgressDeadlineExceeded');
  await at.clock.advance(3_000);

  t.is(await reason(), 'ProgressDeadlineExceeded');
});

test('a rollout without progress is reported after its deadline, until it progresses again', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.deployments, aDeployment('web'));
  await at.clock.advance(599_000);
  const [set] = await at.sets();
  const name = set?.metadata?.name;
  t.is((await conditions(at))['Progressing'], `True ReplicaSetUpdated ReplicaSet "${name}" is progressing.`);
  await at.clock.advance(3_000);
  t.is((await conditions(at))['Progressing'], `False ProgressDeadlineExceeded ReplicaSet "${name}" has timed out progressing.`);
  // A pause does not make this forgotten.
  await at.change({spec: {paused: true}});
  t.is((await conditions(at))['Progressing']?.split(' ')[1], 'ProgressDeadlineExceeded');
  await at.change({spec: {paused: false}});

  await at.runs((await at.podsOf(name!))[0]!);

  t.is((await conditions(at))['Progressing']?.split(' ')[1], 'ReplicaSetUpdated');
});

const wentOn = (reason: string, updated: string, before: DeploymentStatus, after: DeploymentStatus, sets: readonly ReplicaSet[] = []) => {
  const conditions: DeploymentStatus['conditions'] = [{type: 'Progressing', status: 'True', reason, lastUpdateTime: updated}];
  const deployment: Deployment = {
    ...aDeployment('web', {progressDeadlineSeconds: 60}),
    metadata: {name: 'web', generation: 1},
    status: {...before, conditions},
  };
  return withRollout(deployment, {...after, conditions}, sets.at(-1), sets, noon).conditions ?? [];
};
const noon = Date.parse('2026-01-01T12:00:00Z');
const [longAgo, justNow] = ['2026-01-01T11:00:00Z', '2026-01-01T11:59:30Z'];

for (const [title, reason, updated, before, after, expected] of [
  ['that stands still for too long is late', 'ReplicaSetUpdated', longAgo, {replicas: 3}, {replicas: 3}, 'ProgressDeadlineExceeded'],
  ['that stands still for a while is not late', 'ReplicaSetUpdated', justNow, {replicas: 3}, {replicas: 3}, 'ReplicaSetUpdated'],
  [
    'that was complete before is not late, however long ago',
    'NewReplicaSetAvailable',
    longAgo,
    {replicas: 3, updatedReplicas: 3},
    {replicas: 3},
    'NewReplicaSetAvailable',
  ],
  [
    'with more new pods goes on',
    'ProgressDeadlineExceeded',
    longAgo,
    {replicas: 3},
    {replicas: 4, updatedReplicas: 1},
    'ReplicaSetUpdated',
  ],
  ['with fewer old pods goes on', 'ReplicaSetUpdated', longAgo, {replicas: 3}, {replicas: 2}, 'ReplicaSetUpdated'],
  ['with more ready pods goes on', 'ReplicaSetUpdated', longAgo, {replicas: 3}, {replicas: 3, readyReplicas: 1}, 'ReplicaSetUpdated'],
  [
    'with more available pods goes on',
    'ReplicaSetUpdated',
    longAgo,
    {replicas: 3},
    {replicas: 3, availableReplicas: 1},
    'ReplicaSetUpdated',
  ],
  [
    'that has everything is complete',
    'ReplicaSetUpdated',
    longAgo,
    {},
    {replicas: 3, updatedReplicas: 3, availableReplicas: 3, observedGeneration: 1},
    'NewReplicaSetAvailable',
  ],
  [
    'that has everything but was not observed is late',
    'ReplicaSetUpdated',
    longAgo,
    {replicas: 3, updatedReplicas: 3, availableReplicas: 3},
    {replicas: 3, updatedReplicas: 3, availableReplicas: 3},
    'ProgressDeadlineExceeded',
  ],
] as const) {
  test(`a rollout ${title}`, t => {
    t.is(wentOn(reason, updated, before, after).find(({type}) => type === 'Progressing')?.reason, expected);
  });
}

test('of several failing sets, the newest sets the condition', t => {
  const failing = (message: string): ReplicaSet => ({
    status: {replicas: 0, conditions: [{type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message}]},
  });
  const failure = (sets: readonly ReplicaSet[]) =>
    wentOn('ReplicaSetUpdated', justNow, {}, {}, sets).find(({type}) => type === 'ReplicaFailure')?.message;

  t.is(failure([failing('old'), failing('newest')]), 'newest');
  t.is(failure([failing('old'), {}]), 'old');
});

test('terminating pods are counted only if every set counts its own', t => {
  t.is(terminatingIn([{status: {replicas: 0, terminatingReplicas: 2}}, {status: {replicas: 0, terminatingReplicas: 1}}]), 3);
  t.is(terminatingIn([{status: {replicas: 0, terminatingReplicas: 2}}, {status: {replicas: 0}}]), 2);
  t.is(terminatingIn([{status: {replicas: 0, terminatingReplicas: 2}}, {status: {replicas: 0, observedGeneration: 1}}]), undefined);
});

test('without a deadline there is no progress condition', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.deployments, aDeployment('web', {progressDeadlineSeconds: 2 ** 31 - 1}));
  await at.play();
  await at.change({spec: {paused: true}});

  t.deepEqual(Object.keys(await conditions(at)), ['Available']);
});

test('a failure to create pods is a condition of the deployment until it ends', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(
    kinds.deployments,
    aDeployment('web', {template: {...image(1), spec: {...image(1).spec!, serviceAccountName: 'missing'}}}),
  );
  const [set] = await at.sets();
  t.is(
    (await conditions(at))['ReplicaFailure'],
    `True FailedCreate pods "${set?.metadata?.name}-" is forbidden: error looking up service account default/missing: serviceaccount "missing" not found`,
  );
  await at.create(kinds.serviceAccounts, {metadata: {name: 'missing'}});
  await at.clock.advance(120_000);

  t.deepEqual(Object.keys(await conditions(at)).sort(), ['Available', 'Progressing']);
});

test('a set that cannot be created gives an event and a condition, and is dropped after fifteen retries', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  const roles = at.client.resource(kinds.clusterRoles);
  const role = await roles.get('system:controller:deployment-controller');
  const rules = role.rules!.map(rule =>
    rule.resources?.includes('replicasets') ? {...rule, verbs: rule.verbs.filter(verb => verb !== 'create')} : rule,
  );
  await roles.update({...role, rules});
  await at.clock.advance(1000);
  await at.create(kinds.deployments, aDeployment('web'));
  await at.clock.advance(3_600_000);

  const [event] = (await at.list(kinds.coreEvents)).filter(({reason}) => reason === 'ReplicaSetCreateError');
  t.regex(
    event?.message ?? '',
    /^Failed to create new replica set "web-[a-z0-9]+": replicasets\.apps is forbidden: User "system:serviceaccount:plat-system:deployment-controller" cannot create resource "replicasets"/,
  );
  t.is((await conditions(at))['Progressing'], `False ReplicaSetCreateError ${event?.message}`);
  t.is(event?.count, 16);
});

test('in a terminating namespace nothing is reported and nothing retried', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  const namespaces = at.client.resource(kinds.namespaces);
  await namespaces.create({metadata: {name: 'ending'}, spec: {finalizers: ['example.com/hold']}});
  const deployment = await at.client
    .resource(kinds.deployments)
    .create({...aDeployment('web'), metadata: {namespace: 'ending', name: 'web', finalizers: ['example.com/hold']}});
  await namespaces.delete('ending');
  const events: string[] = [];
  const context = {
    ...contextOver(at.plane, [deployment], {}),
    events: {normal() {}, warning: (_: unknown, reason: string) => void events.push(reason)},
  };
  await at.clock.drain();
  await at.client.resource(kinds.replicaSets).deleteCollection({namespace: 'ending'});

  t.is(
    await deploymentReconciler(
      context,
      selecting(({spec}) => spec?.selector),
    )({namespace: 'ending', name: 'web'}, attempt),
    settled,
  );
  t.deepEqual(events, []);
  t.deepEqual((await at.client.resource(kinds.replicaSets).list({namespace: 'ending'})).items, []);
});

test('a deployment that is being deleted makes nothing, but still counts', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  const {metadata} = aDeployment('web');
  await at.create(kinds.deployments, {...aDeployment('web'), metadata: {...metadata, finalizers: ['example.com/hold']}});
  await at.remove(kinds.deployments, 'web', {propagationPolicy: 'Background'});
  await at.change(changed(2));
  await at.play();

  t.deepEqual(await sizes(at), [3]);
  t.is((await at.deployment()).status?.readyReplicas, 3);
});

test('terminating pods are counted, if every set counts its own', async t => {
  for (const gate of ['true', 'false']) {
    const at = await startEnvironment([`--feature-gates=DeploymentReplicaSetTerminatingReplicas=${gate}`]);
    await using _ = at.plane;
    await at.create(
      kinds.deployments,
      aDeployment('web', {replicas: 2, template: {...image(1), spec: {...image(1).spec!, nodeName: 'node'}}}),
    );
    await at.change({spec: {replicas: 1}});

    t.is((await at.deployment()).status?.terminatingReplicas, gate === 'true' ? 1 : undefined);
  }
});
