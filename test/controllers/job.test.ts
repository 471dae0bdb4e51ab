import test, {type ExecutionContext} from 'ava';
import jobController from '#controllers/job/controller.js';
import {matchFailure} from '#controllers/job/failure-policy.js';
import {jobNamesOf} from '#controllers/job/kinds.js';
import {surplusPods} from '#controllers/job/surplus.js';
import type {Job} from '#controllers/shared/jobs.js';
import {kinds} from '#src/api/kinds.js';
import {naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import {serviceUnavailable} from '#src/api/status.js';
import {wireTime} from '#src/api/time.js';
import {startServer, type TestApiServer} from '#test/fixtures/server.js';
import {alone, aPlaneWith, aTemplate, actionsOn, type PlaneActions} from './workloads.js';

type Spec = NonNullable<Job['spec']>;

const finalizer = 'batch.plat.io/job-tracking';
const indexKey = 'batch.plat.io/job-completion-index';

const aJob = (name: string, {restartPolicy = 'Never', ...spec}: Partial<Spec> & {restartPolicy?: string} = {}): Job => {
  const {spec: pod, ...template} = aTemplate();
  return {metadata: {name}, spec: {template: {...template, spec: {...pod!, restartPolicy}}, ...spec}};
};

const played = <A extends PlaneActions>(at: A) => {
  /** Lets the controller see several changes at once, as it likes to. */
  const batch = (seconds = 1) => at.clock.advance(seconds * 1000);
  /** Plays the node: the pod has ended, its containers with a code. */
  const ends = (pod: Pod, exitCode = 0, more: Partial<NonNullable<Pod['status']>> = {}) =>
    at.patch(
      kinds.pods,
      pod.metadata!.name!,
      {
        status: {
          phase: exitCode === 0 ? 'Succeeded' : 'Failed',
          containerStatuses: [{name: 'c', image: 'i', imageID: '', ready: false, restartCount: 0, state: {terminated: {exitCode, finishedAt: wireTime(at.clock.now())}}}],
          ...more,
        },
      },
      'status',
    );
  const job = (name = 'work') => at.get(kinds.jobs, name);
  const status = async (name = 'work') => (await job(name)).status!;
  const conditions = async (name = 'work') => ((await status(name)).conditions ?? []).map(({type, status: output, reason = ''}) => `${type}=${output} ${reason}`.trim());
  const active = async (name = 'work') => (await at.podsOf(name)).filter(({metadata, status: {phase} = {}}) => !metadata?.deletionTimestamp && phase !== 'Succeeded' && phase !== 'Failed');
  const byIndex = async (index: number, name = 'work') => (await active(name)).find(({metadata}) => metadata?.annotations?.[indexKey] === String(index))!;
  return {...at, batch, ends, job, status, conditions, active, byIndex};
};

const startEnvironment = async (t: ExecutionContext, server?: TestApiServer) => played(await alone(t, [jobController], {concurrentJobSyncs: 5, maxWaitingPods: 0}, server));

/** With all that belongs to a plane. */
const startOnPlane = async (controllers: readonly string[] = []) => {
  const plane = await aPlaneWith(['job-controller', ...controllers]);
  return {plane, ...played(actionsOn(plane))};
};

test('a job runs a pod, counts it when it has succeeded, lets it go, and is complete', async t => {
  const at = await startEnvironment(t);
  await at.create(kinds.jobs, aJob('work'));

  const [pod] = await at.podsOf('work');
  const {uid} = (await at.job()).metadata!;
  t.regex(pod!.metadata!.name!, /^work-[a-z0-9]{5}$/);
  t.deepEqual(pod!.metadata!.finalizers, [finalizer]);
  t.deepEqual(pod!.metadata!.labels, {'batch.plat.io/controller-uid': uid!, 'batch.plat.io/job-name': 'work', 'controller-uid': uid!, 'job-name': 'work', app: 'a'});
  t.deepEqual(await at.status(), {active: 1, ready: 0, terminating: 0, startTime: '2026-01-01T00:00:00Z', uncountedTerminatedPods: {}});
  await at.batch();
  await at.runs(pod!);
  await at.batch();
  t.is((await at.status()).ready, 1);

  await at.ends(pod!);
  await at.batch();

  const {conditions, ...status} = await at.status();
  const time = '2026-01-01T00:00:03Z';
  t.deepEqual(status, {startTime: '2026-01-01T00:00:00Z', completionTime: time, succeeded: 1, ready: 0, terminating: 0, uncountedTerminatedPods: {}});
  const why = {status: 'True', lastProbeTime: time, lastTransitionTime: time, reason: 'CompletionsReached', message: 'Reached expected number of succeeded pods'};
  t.deepEqual(conditions, [{type: 'SuccessCriteriaMet', ...why}, {type: 'Complete', ...why}]);
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

test('more pods go when fewer may run, those first that have come least far', async t => {
  const at = await startEnvironment(t);
  await at.create(kinds.jobs, aJob('work', {completions: 9, parallelism: 3}));
  const [first, ...others] = await at.active();
  await at.runs(first!);
  await at.batch();

  await at.patch(kinds.jobs, 'work', {spec: {parallelism: 1}});

  t.deepEqual((await at.podsOf('work')).map(({metadata}) => metadata?.name), [first!.metadata!.name]);
  t.like(await at.status(), {active: 1, failed: undefined});
  t.deepEqual((await at.eventsOn('work')).filter(event => event.includes('Deleted')).sort(), others.map(({metadata}) => `Normal SuccessfulDelete Deleted pod: ${metadata!.name}`).sort());
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
  t.like(target, {type: 'FailureTarget', status: 'True', reason: 'BackoffLimitExceeded', message: 'Job has reached the specified backoff limit'});
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
    await at.patch(kinds.pods, pod!.metadata!.name!, {status: {phase: 'Running', containerStatuses: [{...container, name: 'c', restartCount: restarts}]}}, 'status');
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

test('a suspended job loses its pods, which count as nothing, and begins its time anew when it is resumed', async t => {
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

test('the pods of an indexed job know their index, and each index succeeds once', async t => {
  const at = await startEnvironment(t);
  await at.create(kinds.jobs, aJob('work', {completionMode: 'Indexed', completions: 5, parallelism: 5}));
  const pod = await at.byIndex(3);
  t.regex(pod.metadata!.name!, /^work-3-[a-z0-9]{5}$/);
  t.is(pod.metadata!.labels![indexKey], '3');
  t.is(pod.spec!.hostname, 'work-3');
  t.deepEqual(pod.spec!.containers[0]!.env, [{name: 'JOB_COMPLETION_INDEX', valueFrom: {fieldRef: {apiVersion: 'v1', fieldPath: `metadata.labels['${indexKey}']`}}}]);

  for (const index of [0, 2, 3]) await at.ends(await at.byIndex(index));
  await at.batch(2);
  t.like(await at.status(), {completedIndexes: '0,2,3', succeeded: 3, active: 2});
  await at.ends(await at.byIndex(1), 1);
  await at.batch(12);
  t.like(await at.status(), {completedIndexes: '0,2,3', failed: 1});
  await at.ends(await at.byIndex(4));
  await at.batch(2);
  t.is((await at.status()).completedIndexes, '0,2-4');
  await at.ends(await at.byIndex(1));
  await at.batch(2);

  t.like(await at.status(), {completedIndexes: '0-4', succeeded: 5});
  t.deepEqual(await at.conditions(), ['SuccessCriteriaMet=True CompletionsReached', 'Complete=True CompletionsReached']);
});

test('a name that is too long is cut so that the index stays', async t => {
  const at = await startEnvironment(t);
  const name = 'a'.repeat(60);
  await at.create(kinds.jobs, aJob(name, {completionMode: 'Indexed', completions: 1, }));

  const [pod] = await at.podsOf(name);
  t.regex(pod!.metadata!.name!, /^a{55}-0-[a-z0-9]{5}$/);
});

test('an indexed job grows and shrinks with both its numbers, and forgets indexes that are no more', async t => {
  const at = await startEnvironment(t);
  await at.create(kinds.jobs, aJob('work', {completionMode: 'Indexed', completions: 4, parallelism: 4}));
  for (const index of [0, 3]) await at.ends(await at.byIndex(index));
  await at.batch(2);
  t.is((await at.status()).completedIndexes, '0,3');

  await at.patch(kinds.jobs, 'work', {spec: {completions: 2, parallelism: 2}});
  t.like(await at.status(), {completedIndexes: '0', succeeded: 1, active: 1});
  t.falsy(await at.byIndex(2));
  await at.patch(kinds.jobs, 'work', {spec: {completions: 3, parallelism: 3}});
  await at.batch(2);

  t.like(await at.status(), {completedIndexes: '0', active: 2});
});

test('of two pods with one index one goes, and so does one without', async t => {
  const at = await startEnvironment(t);
  await at.create(kinds.jobs, aJob('work', {completionMode: 'Indexed', completions: 2, parallelism: 2}));
  const pod = await at.byIndex(0);
  const {ownerReferences, labels} = pod.metadata!;
  const {[indexKey]: __, ...others} = labels!;
  await at.runs(pod);
  for (const [name, annotations] of [['twin', {[indexKey]: '0'}], ['stray', {}], ['beyond', {[indexKey]: '2'}]] as const) {
    await at.create(kinds.pods, {metadata: {name, ownerReferences: ownerReferences!, labels: others, annotations, finalizers: [finalizer]}, spec: aTemplate().spec!});
  }
  await at.batch(2);

  t.deepEqual((await at.podsOf('work')).map(({metadata}) => metadata!.annotations![indexKey]).sort(), ['0', '1']);
  t.is((await at.byIndex(0)).metadata!.uid, pod.metadata!.uid);
});

test('with a limit for each index, pods carry on the count of failures, and an index fails alone', async t => {
  const at = await startEnvironment(t);
  await at.create(kinds.jobs, aJob('work', {completionMode: 'Indexed', completions: 2, parallelism: 2, backoffLimitPerIndex: 1}));
  const counts = 'batch.plat.io/job-index-failure-count';
  const first = await at.byIndex(0);
  t.is(first.metadata!.annotations![counts], '0');
  t.is((await at.status()).failedIndexes, '');
  await at.ends(first, 1);
  await at.batch(2);
  t.deepEqual((await at.get(kinds.pods, first.metadata!.name!)).metadata!.finalizers, [finalizer], 'kept until it is replaced');
  await at.batch(10);

  const second = await at.byIndex(0);
  t.is(second.metadata!.annotations![counts], '1');
  t.is((await at.get(kinds.pods, first.metadata!.name!)).metadata!.finalizers, undefined);
  await at.ends(second, 1);
  await at.batch(2);
  t.like(await at.status(), {failedIndexes: '0', failed: 2});
  t.deepEqual(await at.conditions(), []);
  await at.ends(await at.byIndex(1));
  await at.batch(3);

  t.like(await at.status(), {failedIndexes: '0', completedIndexes: '1'});
  t.deepEqual(await at.conditions(), ['FailureTarget=True FailedIndexes', 'Failed=True FailedIndexes']);
  t.is((await at.status()).conditions![1]!.message, 'Job has failed indexes');
});

test('each index waits on its own, and too many that failed end the job', async t => {
  const at = await startEnvironment(t);
  await at.create(kinds.jobs, aJob('work', {completionMode: 'Indexed', completions: 5, parallelism: 3, backoffLimitPerIndex: 0, maxFailedIndexes: 1}));
  await at.ends(await at.byIndex(0), 1);
  await at.batch(2);
  t.deepEqual((await at.active()).map(({metadata}) => metadata!.annotations![indexKey]).sort(), ['1', '2', '3']);

  await at.ends(await at.byIndex(2), 1);
  await at.batch(3);

  t.deepEqual(await at.conditions(), ['FailureTarget=True MaxFailedIndexesExceeded', 'Failed=True MaxFailedIndexesExceeded']);
  t.is((await at.status()).conditions![1]!.message, 'Job has exceeded the specified maximal number of failed indexes');
  t.is((await at.status()).failedIndexes, '0,2');
});

const exits = (action: string, values: number[], containerName?: string) => ({action, onExitCodes: {operator: 'In', values, ...(containerName ? {containerName} : {})}});
const disrupted = {conditions: [{type: 'DisruptionTarget', status: 'True'}]};

for (const [what, rules, code, more, conditions, failed] of [
  ['fails the job by an exit code', [exits('Ignore', [7]), exits('FailJob', [42], 'c')], 42, {}, ['FailureTarget=True PodFailurePolicy', 'Failed=True PodFailurePolicy'], 1],
  ['fails the job by a condition', [{action: 'FailJob', onPodConditions: [{type: 'DisruptionTarget'}]}], 1, disrupted, ['FailureTarget=True PodFailurePolicy', 'Failed=True PodFailurePolicy'], 1],
  ['ignores a failure', [{action: 'Ignore', onPodConditions: [{type: 'DisruptionTarget'}]}], 1, disrupted, [], undefined],
  ['counts a failure', [exits('Count', [1]), exits('FailJob', [1])], 1, {}, ['FailureTarget=True BackoffLimitExceeded', 'Failed=True BackoffLimitExceeded'], 1],
  ['counts what no rule speaks of', [exits('Ignore', [7])], 1, {}, ['FailureTarget=True BackoffLimitExceeded', 'Failed=True BackoffLimitExceeded'], 1],
] as const) {
  test(`a pod failure policy ${what}`, async t => {
    const at = await startEnvironment(t);
    await at.create(kinds.jobs, aJob('work', {backoffLimit: 0, podFailurePolicy: {rules: rules as unknown as NonNullable<Spec['podFailurePolicy']>['rules']}}));
    const [pod] = await at.active();
    await at.ends(pod!, code, more as unknown as NonNullable<Pod['status']>);
    await at.batch(3);

    t.deepEqual(await at.conditions(), [...conditions]);
    t.is((await at.status()).failed, failed);
    const name = `default/${pod!.metadata!.name}`;
    if (what.endsWith('exit code')) t.is((await at.status()).conditions![1]!.message, `Container c for pod ${name} failed with exit code 42 matching FailJob rule at index 1`);
    if (what.endsWith('condition')) t.is((await at.status()).conditions![1]!.message, `Pod ${name} has condition DisruptionTarget matching FailJob rule at index 0`);
    await at.batch(10);
    t.is((await at.active()).length, failed === undefined ? 1 : 0);
  });
}

test('a rule with an action that is not known is passed over', t => {
  const job = (...actions: string[]) => ({spec: {podFailurePolicy: {rules: actions.map(action => exits(action, [1]))}}}) as unknown as Job;
  const pod = {metadata: {namespace: 'd', name: 'p'}, status: {containerStatuses: [{name: 'c', state: {terminated: {exitCode: 1}}}]}} as unknown as Pod;

  t.deepEqual(matchFailure(job('Later', 'Ignore'), pod), {action: 'Ignore'});
  t.is(matchFailure(job('Later'), pod), undefined);
});

test('of the pods a job has too many of the youngest go, of those of an index all but the oldest', t => {
  const pods = ['old 0', 'young 0', 'aged 1', 'odd'].map((text, age) => {
    const [name = '', index] = text.split(' ');
    return {metadata: {name, uid: name, creationTimestamp: wireTime((age % 2) * 1000), annotations: index ? {[indexKey]: index} : {}}} as Pod;
  });
  const marks = jobNamesOf(naming('plat'));
  const going = (job: Partial<Spec>, least: number) => surplusPods({spec: job} as Job, pods, least, marks).map(({metadata}) => metadata?.name);

  t.deepEqual(going({}, 2).sort(), ['odd', 'young']);
  t.deepEqual(going({completionMode: 'Indexed', completions: 3}, 0), ['odd', 'young']);
});

test('a policy fails an index at once, and counts ignored failures of an index apart', async t => {
  const at = await startEnvironment(t);
  const rules = [exits('FailIndex', [42]), exits('Ignore', [7])] as unknown as NonNullable<Spec['podFailurePolicy']>['rules'];
  await at.create(kinds.jobs, aJob('work', {completionMode: 'Indexed', completions: 2, parallelism: 2, backoffLimitPerIndex: 3, podFailurePolicy: {rules}}));
  await at.ends(await at.byIndex(0), 42);
  await at.ends(await at.byIndex(1), 7);
  await at.batch(12);

  t.is((await at.status()).failedIndexes, '0');
  t.like((await at.byIndex(1)).metadata!.annotations, {'batch.plat.io/job-index-failure-count': '0', 'batch.plat.io/job-index-ignored-failure-count': '1'});
});

for (const [what, rule, succeed, message] of [
  ['some indexes', {succeededIndexes: '0,2'}, [0, 2], 'Matched rules at index 1'],
  ['a number of some indexes', {succeededIndexes: '1-3', succeededCount: 2}, [1, 3], 'Matched rules at index 1'],
  ['a number of indexes', {succeededCount: 2}, [3, 1], 'Matched rules at index 1'],
] as const) {
  test(`a success policy is met by ${what}, and the other pods are deleted`, async t => {
    const at = await startEnvironment(t);
    await at.create(kinds.jobs, aJob('work', {completionMode: 'Indexed', completions: 4, parallelism: 4, successPolicy: {rules: [{succeededIndexes: '0-3'}, rule]}}));
    await at.ends(await at.byIndex(succeed[0]));
    await at.batch(2);
    t.deepEqual(await at.conditions(), []);
    await at.ends(await at.byIndex(succeed[1]));
    await at.batch(3);

    t.deepEqual(await at.conditions(), ['SuccessCriteriaMet=True SuccessPolicy', 'Complete=True SuccessPolicy']);
    t.is((await at.status()).conditions![1]!.message, message);
    t.like(await at.status(), {succeeded: 2, failed: undefined, active: undefined});
    t.is((await at.active()).length, 0);
  });
}

for (const [policy, atOnce] of [['TerminatingOrFailed', 1], ['Failed', 0]] as const) {
  test(`a pod on its way out is ${atOnce ? 'replaced at once' : 'replaced once it has failed'} under ${policy}`, async t => {
    const at = await startEnvironment(t);
    await at.create(kinds.jobs, aJob('work', {podReplacementPolicy: policy}));
    const [pod] = await at.active();
    await at.patch(kinds.pods, pod!.metadata!.name!, {metadata: {finalizers: [finalizer, 'example.com/hold']}});
    await at.runs(pod!);

    await at.remove(kinds.pods, pod!.metadata!.name!, {gracePeriodSeconds: 30});
    await at.batch(15);
    t.is((await at.active()).length, atOnce);
    t.like(await at.status(), {terminating: 1, failed: atOnce || undefined});
    await at.ends(pod!, 137);
    await at.batch(20);

    t.is((await at.active()).length, 1);
    t.like(await at.status(), {terminating: 0, failed: 1});
  });
}

test('a pod that somebody deletes counts as failed and is replaced', async t => {
  const at = await startEnvironment(t);
  await at.create(kinds.jobs, aJob('work'));
  const [pod] = await at.active();

  await at.remove(kinds.pods, pod!.metadata!.name!);
  t.is((await at.podsOf('work')).length, 1, 'the finalizer keeps it until it is counted');
  await at.batch(11);

  t.is((await at.status()).failed, 1);
  t.deepEqual((await at.podsOf('work')).map(({metadata}) => metadata!.name === pod!.metadata!.name), [false]);
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

  t.deepEqual((await at.podsOf('work')).map(({metadata}) => [metadata!.name, metadata!.finalizers]), [['mine', [finalizer]]]);
  t.is((await at.get(kinds.pods, 'foreign')).metadata!.finalizers, undefined, 'the finalizer of a pod without a job is taken away');
  await at.patch(kinds.pods, 'mine', {metadata: {labels: {app: 'c'}}});
  await at.batch(2);

  const {metadata} = await at.get(kinds.pods, 'mine');
  t.deepEqual([metadata!.ownerReferences, metadata!.finalizers], [undefined, undefined]);
  t.is((await at.active()).length, 1);
});

for (const propagationPolicy of ['Background', 'Foreground', 'Orphan'] as const) {
  test(`no finalizer is left behind when a job is deleted with the policy ${propagationPolicy}`, async t => {
    const at = await startOnPlane(['garbage-collector-controller']);
    await using _ = at.plane;
    await at.create(kinds.jobs, aJob('work', {parallelism: 2}));
    await at.remove(kinds.jobs, 'work', {propagationPolicy});
    await at.batch(10);

    t.deepEqual((await at.list(kinds.jobs)).length, 0);
    t.deepEqual((await at.list(kinds.pods)).map(({metadata}) => metadata!.finalizers), propagationPolicy === 'Orphan' ? [undefined, undefined] : []);
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
  t.deepEqual((await at.eventsOn('work')).map(event => event.slice(0, 35)), ['Warning FailedCreate Error creating']);
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
  for (const {metadata} of await at.active()) await pods.patch(metadata!.name!, 'merge', {status: {phase: 'Succeeded'}}, {namespace: 'default', subresource: 'status'});
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
  await at.create(kinds.jobs, aJob('work', {completionMode: 'Indexed', completions: 2, parallelism: 2, backoffLimitPerIndex: 1, podFailurePolicy: {rules}}));
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
