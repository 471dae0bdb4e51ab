import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {aTemplate} from './workloads.js';
import {aJob, finalizer, startEnvironment} from './jobs.js';

test('a job runs a pod, counts it when it has succeeded, lets it go, and is complete', async t => {
  const at = await startEnvironment(t);
  await at.create(kinds.jobs, aJob('work'));

  const [pod] = await at.podsOf('work');
  const {uid} = (await at.job()).metadata!;
  t.regex(pod!.metadata!.name!, /^work-[a-z0-9]{5}$/);
  t.deepEqual(pod!.metadata!.finalizers, [finalizer]);
  t.deepEqual(pod!.metadata!.labels, {
    'batch.plat.io/controller-uid': uid!,
    'batch.plat.io/job-name': 'work',
    'controller-uid': uid!,
    'job-name': 'work',
    app: 'a',
  });
  t.deepEqual(await at.status(), {active: 1, ready: 0, terminating: 0, startTime: '2026-01-01T00:00:00Z', uncountedTerminatedPods: {}});
  await at.batch();
  await at.runs(pod!);
  await at.batch();
  t.is((await at.status()).ready, 1);

  await at.ends(pod!);
  await at.batch();

  const {conditions, ...status} = await at.status();
  const time = '2026-01-01T00:00:03Z';
  t.deepEqual(status, {
    startTime: '2026-01-01T00:00:00Z',
    completionTime: time,
    succeeded: 1,
    ready: 0,
    terminating: 0,
    uncountedTerminatedPods: {},
  });
  const why = {
    status: 'True',
    lastProbeTime: time,
    lastTransitionTime: time,
    reason: 'CompletionsReached',
    message: 'Reached expected number of succeeded pods',
  };
  t.deepEqual(conditions, [
    {type: 'SuccessCriteriaMet', ...why},
    {type: 'Complete', ...why},
  ]);
  t.deepEqual((await at.podsOf('work'))[0]!.metadata!.finalizers, undefined);
  t.deepEqual(await at.eventsOn('work'), [`Normal SuccessfulCreate Created pod: ${pod!.metadata!.name}`, 'Normal Completed Job completed']);
});

test('no more pods run at once than may, and none more than are still wanted', async t => {
  const at = await startEnvironment(t);
  await at.create(kinds.jobs, aJob('work', {completions: 3, parallelism: 2}));
  const [first, second] = await at.active();
  t.is((await at.active()).length, 2);

  await at.ends(first!);
  await at.batch();
  t.is((await at.active()).length, 2);
  t.is((await at.status()).active, 2);
  await at.ends(second!);
  await at.batch(2);
  t.is((await at.active()).length, 1);
  t.like(await at.status(), {active: 1, succeeded: 2});
  await at.ends((await at.active())[0]!);
  await at.batch(2);

  t.is((await at.status()).succeeded, 3);
  t.deepEqual(await at.conditions(), ['SuccessCriteriaMet=True CompletionsReached', 'Complete=True CompletionsReached']);
});

test('changes within a short time are synced together, but a new spec at once', async t => {
  const at = await startEnvironment(t);
  await at.create(kinds.jobs, aJob('work', {completions: 4, parallelism: 1}));
  const [pod] = await at.active();

  await at.ends(pod!);
  await at.clock.advance(900);
  t.is((await at.status()).succeeded, undefined);
  await at.patch(kinds.jobs, 'work', {spec: {parallelism: 2}});

  t.is((await at.status()).succeeded, 1);
  t.is((await at.active()).length, 2);
});

test('without a number of completions one success is enough, once the other pods have ended', async t => {
  const at = await startEnvironment(t);
  await at.create(kinds.jobs, aJob('work', {parallelism: 3}));
  const [first, second, third] = await at.active();

  await at.ends(first!);
  await at.batch(2);
  t.like(await at.status(), {active: 2, succeeded: 1});
  await at.ends(second!, 1);
  await at.ends(third!);
  await at.batch(2);

  t.like(await at.status(), {succeeded: 2, failed: 1});
  t.deepEqual(await at.conditions(), ['SuccessCriteriaMet=True CompletionsReached', 'Complete=True CompletionsReached']);
});

test('pods above the parallelism are deleted, those that progressed least first', async t => {
  const at = await startEnvironment(t);
  await at.create(kinds.jobs, aJob('work', {completions: 9, parallelism: 3}));
  const [first, ...others] = await at.active();
  await at.runs(first!);
  await at.batch();

  await at.patch(kinds.jobs, 'work', {spec: {parallelism: 1}});

  t.deepEqual(
    (await at.podsOf('work')).map(({metadata}) => metadata?.name),
    [first!.metadata!.name],
  );
  t.like(await at.status(), {active: 1, failed: undefined});
  t.deepEqual(
    (await at.eventsOn('work')).filter(event => event.includes('Deleted')).sort(),
    others.map(({metadata}) => `Normal SuccessfulDelete Deleted pod: ${metadata!.name}`).sort(),
  );
  await at.patch(kinds.jobs, 'work', {spec: {parallelism: 0}});
  t.is((await at.podsOf('work')).length, 0);
});

test('a pod that failed is replaced ten seconds later, then twenty, until the limit is exceeded', async t => {
  const at = await startEnvironment(t);
  await at.create(kinds.jobs, aJob('work', {backoffLimit: 2}));
  for (const seconds of [10, 20]) {
    await at.ends((await at.active())[0]!, 1);
    await at.clock.advance(seconds * 1000 - 1);
    t.is((await at.active()).length, 0);
    await at.clock.advance(1);
    t.is((await at.active()).length, 1);
  }
  await at.ends((await at.active())[0]!, 1);
  await at.batch(3);

  t.like(await at.status(), {failed: 3, active: undefined});
  const [target, failed] = (await at.status()).conditions!;
  t.like(target, {
    type: 'FailureTarget',
    status: 'True',
    reason: 'BackoffLimitExceeded',
    message: 'Job has reached the specified backoff limit',
  });
  t.like(failed, {type: 'Failed', status: 'True', reason: 'BackoffLimitExceeded', message: 'Job has reached the specified backoff limit'});
  t.true((await at.eventsOn('work')).includes('Warning BackoffLimitExceeded Job has reached the specified backoff limit'));
  t.true((await at.podsOf('work')).every(({metadata}) => !metadata?.finalizers));
});

test('a success makes failures before it count no more for the wait', async t => {
  const at = await startEnvironment(t);
  await at.create(kinds.jobs, aJob('work', {completions: 5, parallelism: 2}));
  const [first, second] = await at.active();
  await at.ends(first!, 1);
  await at.clock.advance(2000);
  t.is((await at.active()).length, 1);

  await at.ends(second!);
  await at.batch();

  t.is((await at.active()).length, 2);
});

test('the pods of a job that has failed are deleted and count as failed; it ends when the last is gone', async t => {
  const at = await startEnvironment(t);
  await at.create(kinds.jobs, aJob('work', {backoffLimit: 0, completions: 2, parallelism: 2}));
  const [first, second] = await at.active();
  await at.patch(kinds.pods, second!.metadata!.name!, {metadata: {finalizers: [...second!.metadata!.finalizers!, 'example.com/hold']}});
  await at.ends(first!, 1);
  await at.batch(2);

  t.like(await at.status(), {failed: 2, terminating: 1});
  t.deepEqual(await at.conditions(), ['FailureTarget=True BackoffLimitExceeded']);
  await at.patch(kinds.pods, second!.metadata!.name!, {metadata: {finalizers: null}});
  await at.batch(2);

  t.deepEqual(await at.conditions(), ['FailureTarget=True BackoffLimitExceeded', 'Failed=True BackoffLimitExceeded']);
  t.is((await at.status()).terminating, 0);
});

for (const [backoffLimit, restarts, fails] of [
  [0, 0, false],
  [0, 1, true],
  [3, 2, false],
  [3, 3, true],
] as const) {
  test(`containers that were started ${restarts} times again ${fails ? 'exceed' : 'keep to'} a limit of ${backoffLimit}`, async t => {
    const at = await startEnvironment(t);
    await at.create(kinds.jobs, aJob('work', {backoffLimit, restartPolicy: 'OnFailure'}));
    const [pod] = await at.active();
    const container = {image: 'i', imageID: '', ready: true, state: {running: {}}};
    await at.patch(
      kinds.pods,
      pod!.metadata!.name!,
      {status: {phase: 'Running', containerStatuses: [{...container, name: 'c', restartCount: restarts}]}},
      'status',
    );
    await at.batch(3);

    t.deepEqual(await at.conditions(), fails ? ['FailureTarget=True BackoffLimitExceeded', 'Failed=True BackoffLimitExceeded'] : []);
  });
}

test('a job that is active for too long fails at its deadline, which may be moved', async t => {
  const at = await startEnvironment(t);
  await at.create(kinds.jobs, aJob('work', {activeDeadlineSeconds: 100}));
  await at.patch(kinds.jobs, 'work', {spec: {activeDeadlineSeconds: 60}});
  await at.clock.advance(59_000);
  t.deepEqual(await at.conditions(), []);

  await at.clock.advance(3000);

  t.deepEqual(await at.conditions(), ['FailureTarget=True DeadlineExceeded', 'Failed=True DeadlineExceeded']);
  t.is((await at.status()).conditions![1]!.message, 'Job was active longer than specified deadline');
  t.is((await at.active()).length, 0);
});

test('a suspended job loses its pods, which count as nothing, and restarts its time when it is resumed', async t => {
  const at = await startEnvironment(t);
  await at.create(kinds.jobs, aJob('work', {parallelism: 2, completions: 2, activeDeadlineSeconds: 50}));
  await at.batch();
  await at.patch(kinds.jobs, 'work', {spec: {suspend: true}});

  t.is((await at.podsOf('work')).length, 0);
  t.like(await at.status(), {active: undefined, failed: undefined, startTime: '2026-01-01T00:00:00Z'});
  t.like((await at.status()).conditions![0], {type: 'Suspended', status: 'True', reason: 'JobSuspended', message: 'Job suspended'});
  await at.clock.advance(100_000);
  t.deepEqual(await at.conditions(), ['Suspended=True JobSuspended']);
  await at.patch(kinds.jobs, 'work', {spec: {suspend: false}});

  t.like((await at.status()).conditions![0], {type: 'Suspended', status: 'False', reason: 'JobResumed', message: 'Job resumed'});
  t.is((await at.status()).startTime, '2026-01-01T00:01:41Z');
  t.is((await at.active()).length, 2);
  const events = await at.eventsOn('work');
  t.true(events.includes('Normal Suspended Job suspended') && events.includes('Normal Resumed Job resumed'));
  await at.clock.advance(53_000);
  t.deepEqual((await at.conditions()).slice(1), ['FailureTarget=True DeadlineExceeded', 'Failed=True DeadlineExceeded']);
});

test('a job that is made suspended starts when it is resumed', async t => {
  const at = await startEnvironment(t);
  await at.create(kinds.jobs, aJob('work', {suspend: true}));
  t.is((await at.status()).startTime, undefined);
  t.deepEqual(await at.conditions(), ['Suspended=True JobSuspended']);
  await at.batch(5);

  await at.patch(kinds.jobs, 'work', {spec: {suspend: false}});

  t.is((await at.status()).startTime, '2026-01-01T00:00:05Z');
  t.is((await at.active()).length, 1);
});

test('a job that another controller takes care of is left alone, and so are its pods', async t => {
  const at = await startEnvironment(t);
  await at.create(kinds.jobs, aJob('work', {managedBy: 'example.com/other'}));
  await at.create(kinds.jobs, aJob('own', {managedBy: 'plat.io/job-controller'}));
  await at.batch(2);

  t.is((await at.podsOf('work')).length, 0);
  t.deepEqual((await at.job()).status, {});
  t.is((await at.podsOf('own')).length, 1);
});

test('orphan pods are adopted with the finalizer, and released when they match no more', async t => {
  const at = await startEnvironment(t);
  await at.create(kinds.pods, {metadata: {name: 'mine', labels: {app: 'a'}}, spec: {...aTemplate().spec!, restartPolicy: 'Never'}});
  await at.create(kinds.pods, {metadata: {name: 'foreign', labels: {app: 'b'}, finalizers: [finalizer]}, spec: aTemplate().spec!});
  await at.create(kinds.jobs, aJob('work', {manualSelector: true, selector: {matchLabels: {app: 'a'}}}));
  await at.batch();

  t.deepEqual(
    (await at.podsOf('work')).map(({metadata}) => [metadata!.name, metadata!.finalizers]),
    [['mine', [finalizer]]],
  );
  t.is((await at.get(kinds.pods, 'foreign')).metadata!.finalizers, undefined, 'the finalizer of a pod without a job is taken away');
  await at.patch(kinds.pods, 'mine', {metadata: {labels: {app: 'c'}}});
  await at.batch(2);

  const {metadata} = await at.get(kinds.pods, 'mine');
  t.deepEqual([metadata!.ownerReferences, metadata!.finalizers], [undefined, undefined]);
  t.is((await at.active()).length, 1);
});
