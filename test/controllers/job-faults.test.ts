import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {serviceUnavailable} from '#src/api/status.js';
import {startServer} from '#test/fixtures/server.js';
import {aPlaneWith, actionsOn} from './workloads.js';
import {aJob, exits, played, type Spec, startEnvironment} from './jobs.js';

/** With all that belongs to a plane. */
const startOnPlane = async (controllers: readonly string[] = []) => {
  const plane = await aPlaneWith(['job-controller', ...controllers]);
  return {plane, ...played(actionsOn(plane))};
};

for (const propagationPolicy of ['Background', 'Foreground', 'Orphan'] as const) {
  test(`no finalizer is left behind when a job is deleted with the policy ${propagationPolicy}`, async t => {
    const at = await startOnPlane(['garbage-collector-controller']);
    await using _ = at.plane;
    await at.create(kinds.jobs, aJob('work', {parallelism: 2}));
    await at.remove(kinds.jobs, 'work', {propagationPolicy});
    await at.batch(10);

    t.deepEqual((await at.list(kinds.jobs)).length, 0);
    t.deepEqual(
      (await at.list(kinds.pods)).map(({metadata}) => metadata!.finalizers),
      propagationPolicy === 'Orphan' ? [undefined, undefined] : [],
    );
  });
}

test('a job in a terminating namespace reports nothing of pods that cannot be created', async t => {
  const at = await startOnPlane();
  await using _ = at.plane;
  await at.client.resource(kinds.namespaces).create({metadata: {name: 'ending'}});
  await at.create(kinds.jobs, {...aJob('work', {parallelism: 0}), metadata: {name: 'work', namespace: 'ending'}});
  await at.client.resource(kinds.namespaces).delete('ending');
  await at.client.resource(kinds.jobs).patch('work', 'merge', {spec: {parallelism: 3}}, {namespace: 'ending'});
  await at.batch(20);

  t.deepEqual((await at.client.resource(kinds.coreEvents).list({namespace: 'ending'})).items, []);
});

test('a controller that ends between counting a pod and letting it go leaves it to the next, which counts it once', async t => {
  const server = startServer();
  const first = await startEnvironment(t, server);
  await first.create(kinds.jobs, aJob('work', {completions: 2}));
  const [pod] = await first.active();
  const {uid} = pod!.metadata!;
  first.own.always(call => (call === 'patch pods' ? serviceUnavailable('away') : undefined));
  await first.ends(pod!);
  await first.batch();
  t.like(await first.status(), {uncountedTerminatedPods: {succeeded: [uid!]}, succeeded: undefined});
  first.stop();
  await first.clock.drain();

  const second = await startEnvironment(t, server);
  await second.batch(2);

  t.like(await second.status(), {uncountedTerminatedPods: {}, succeeded: 1, active: 1});
  await second.ends((await second.active())[0]!);
  await second.batch(2);
  t.is((await second.status()).succeeded, 2);
});

for (const [what, failures] of [
  ['is to be counted', [serviceUnavailable('away')]],
  ['has been let go', [undefined, serviceUnavailable('away')]],
] as const) {
  test(`a status that cannot be written when a pod ${what} is written later, and the pod counts once`, async t => {
    const at = await startEnvironment(t);
    await at.create(kinds.jobs, aJob('work', {completions: 2}));
    const [pod] = await at.active();
    await at.batch(2);
    const left = [...failures];
    at.own.always(call => (call === 'update jobs' ? left.shift() : undefined));
    await at.ends(pod!);
    await at.batch(1);
    t.is(left.length, 0);
    t.is((await at.status()).succeeded, undefined);
    t.is((await at.get(kinds.pods, pod!.metadata!.name!)).metadata!.finalizers?.length, failures.length === 1 ? 1 : undefined);

    await at.batch(3);

    t.like(await at.status(), {uncountedTerminatedPods: {}, succeeded: 1, active: 1});
  });
}

test('pods that cannot be made are tried one at a time, and later and later', async t => {
  const at = await startEnvironment(t);
  at.own.always(call => (call === 'create pods' ? serviceUnavailable('full') : undefined));
  const tries = () => at.own.calls.filter(call => call === 'create pods').length;
  await at.create(kinds.jobs, aJob('work', {completions: 4, parallelism: 4}));
  t.is(tries(), 1);
  t.deepEqual(
    (await at.eventsOn('work')).map(event => event.slice(0, 35)),
    ['Warning FailedCreate Error creating'],
  );
  await at.clock.advance(1000 + 2000 + 4000 + 10);
  t.is(tries(), 4);

  at.own.always(undefined);
  await at.clock.advance(8000);

  t.is((await at.active()).length, 4);
});

test('a job whose pods cannot be deleted has not failed yet', async t => {
  const at = await startEnvironment(t);
  await at.create(kinds.jobs, aJob('work', {backoffLimit: 0, completions: 2, parallelism: 2}));
  at.own.always(call => (call === 'delete pods' ? serviceUnavailable('away') : undefined));
  await at.ends((await at.active())[0]!, 1);
  await at.batch(2);
  t.deepEqual(await at.conditions(), []);
  t.true((await at.eventsOn('work')).some(event => event.startsWith('Warning FailedDelete Error deleting: ')));

  at.own.always(undefined);
  await at.batch(8);

  t.deepEqual(await at.conditions(), ['FailureTarget=True BackoffLimitExceeded', 'Failed=True BackoffLimitExceeded']);
  t.is((await at.status()).failed, 2);
});

test('of very many pods five hundred are made, and counted, at a time', async t => {
  const at = await startEnvironment(t);
  await at.create(kinds.jobs, aJob('work', {completions: 510, parallelism: 510}));
  t.is((await at.status()).active, 500);
  await at.batch();
  t.is((await at.status()).active, 510);
  const pods = at.client.resource(kinds.pods);
  for (const {metadata} of await at.active())
    await pods.patch(metadata!.name!, 'merge', {status: {phase: 'Succeeded'}}, {namespace: 'default', subresource: 'status'});
  await at.batch();
  t.like(await at.status(), {succeeded: 500, active: undefined});
  t.deepEqual(await at.conditions(), ['SuccessCriteriaMet=True CompletionsReached']);

  await at.batch(2);

  t.is((await at.status()).succeeded, 510);
  t.deepEqual(await at.conditions(), ['SuccessCriteriaMet=True CompletionsReached', 'Complete=True CompletionsReached']);
});

test('metrics count jobs and their pods', async t => {
  const at = await startEnvironment(t);
  await at.create(kinds.jobs, aJob('elsewhere', {managedBy: 'example.com/other'}));
  const rules = [exits('Ignore', [7])] as unknown as NonNullable<Spec['podFailurePolicy']>['rules'];
  await at.create(
    kinds.jobs,
    aJob('work', {completionMode: 'Indexed', completions: 2, parallelism: 2, backoffLimitPerIndex: 1, podFailurePolicy: {rules}}),
  );
  await at.ends(await at.byIndex(0), 7);
  await at.batch(15);
  for (const index of [0, 1]) await at.ends(await at.byIndex(index));
  await at.batch(3);

  const value = (name: string, labels: Record<string, string>) => at.meter.value(`job_controller_${name}`, labels);
  const indexed = {completion_mode: 'Indexed'};
  t.is(value('jobs_finished_total', {...indexed, result: 'succeeded', reason: 'CompletionsReached'}), 1);
  t.is(value('job_pods_finished_total', {...indexed, result: 'succeeded'}), 2);
  t.is(value('job_finished_indexes_total', {status: 'succeeded', backoffLimit: 'perIndex'}), 2);
  t.is(value('pod_failures_handled_by_failure_policy_total', {action: 'Ignore'}), 1);
  t.is(value('job_pods_creation_total', {reason: 'new', status: 'succeeded'}), 3);
  t.is(value('jobs_by_external_controller_total', {controller_name: 'example.com/other'}), 1);
  t.is(value('terminated_pods_tracking_finalizer_total', {event: 'add'}), 3);
  t.is(value('terminated_pods_tracking_finalizer_total', {event: 'delete'}), 3);
  t.true((value('job_syncs_total', {...indexed, result: 'success', action: 'pods_created'}) ?? 0) > 0);
  t.true((at.meter.value('workqueue_adds_total', {name: 'job'}) ?? 0) > 0);
});
