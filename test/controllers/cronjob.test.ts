import test, {type ExecutionContext} from 'ava';
import cronJobController from '#controllers/cronjob/controller.js';
import {cronJobReconciler} from '#controllers/cronjob/reconcile.js';
import {dueStart, nextStartIn, ScheduleError} from '#controllers/cronjob/schedule.js';
import type {CronJob} from '#controllers/cronjob/kinds.js';
import jobController from '#controllers/job/controller.js';
import type {Job} from '#controllers/shared/jobs.js';
import {kinds} from '#src/api/kinds/index.js';
import {wireTime} from '#src/api/time.js';
import {nextCronTime} from '#src/model/cron-times.js';
import {parseCron} from '#src/model/cron.js';
import {Expected} from '#src/runtime/controller.js';
import {attempt, contextOver} from './context.js';
import {alone, aPlaneWith, aTemplate, actionsOn, namespace, type PlaneActions} from './workloads.js';

type Spec = NonNullable<CronJob['spec']>;

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

const jobSpec = (): NonNullable<Job['spec']> => {
  const {spec, ...template} = aTemplate();
  return {template: {...template, spec: {...spec!, restartPolicy: 'Never'}}};
};

const aCronJob = (spec: Partial<Spec> = {}, name = 'report'): CronJob => ({
  metadata: {name},
  spec: {schedule: '*/10 * * * *', jobTemplate: {metadata: {labels: {kind: 'report'}, annotations: {note: 'x'}}, spec: jobSpec()}, ...spec},
});

const played = <A extends PlaneActions>(at: A) => {
  const cronJob = (name = 'report') => at.get(kinds.cronJobs, name);
  const jobs = async () => (await at.list(kinds.jobs)).map(({metadata}) => metadata!.name!);
  const active = async () => ((await cronJob()).status?.active ?? []).map(({name}) => name);
  const wire = () => wireTime(at.clock.now());
  /** Plays the controller of jobs: the job has ended. */
  const ends = (name: string, type: 'Complete' | 'Failed' = 'Complete') => {
    const why = {status: 'True', lastProbeTime: wire(), lastTransitionTime: wire(), reason: '', message: ''};
    const interim = type === 'Complete' ? 'SuccessCriteriaMet' : 'FailureTarget';
    const status = {
      startTime: wire(),
      conditions: [
        {type: interim, ...why},
        {type, ...why},
      ],
      ...(type === 'Complete' ? {completionTime: wire()} : {}),
    };
    return at.patch(kinds.jobs, name, {status}, 'status');
  };
  const jobAt = (time: string, name = 'report') => `${name}-${Date.parse(time) / minute}`;
  return {...at, cronJob, jobs, active, ends, jobAt};
};

const startEnvironment = async (t: ExecutionContext) => played(await alone(t, [cronJobController], {concurrentCronJobSyncs: 5}));

test('a job is made at the time of the schedule, from the template, and noted as active', async t => {
  const at = await startEnvironment(t);
  await at.create(kinds.cronJobs, aCronJob());
  await at.clock.advance(10 * minute);
  t.deepEqual(await at.jobs(), []);

  await at.clock.advance(100);

  const name = at.jobAt('2026-01-01T00:10:00Z');
  t.deepEqual(await at.jobs(), [name]);
  const {metadata, spec} = await at.get(kinds.jobs, name);
  const {uid} = (await at.cronJob()).metadata!;
  t.like(metadata!.labels, {kind: 'report'});
  t.deepEqual(metadata!.annotations, {note: 'x', 'batch.plat.io/cronjob-scheduled-timestamp': '2026-01-01T00:10:00Z'});
  t.deepEqual(metadata!.ownerReferences, [
    {apiVersion: 'batch/v1', kind: 'CronJob', name: 'report', uid: uid!, controller: true, blockOwnerDeletion: true},
  ]);
  t.like(spec, {backoffLimit: 6, completions: 1});
  const {status} = await at.cronJob();
  t.is(status!.lastScheduleTime, '2026-01-01T00:10:00Z');
  t.deepEqual(status!.active, [
    {kind: 'Job', namespace, name, uid: metadata!.uid!, apiVersion: 'batch/v1', resourceVersion: metadata!.resourceVersion!},
  ]);
  t.deepEqual(await at.eventsOn('report'), [`Normal SuccessfulCreate Created job ${name}`]);
});

test('a job that ends is active no more, and a success is remembered by its time', async t => {
  const at = await startEnvironment(t);
  await at.create(kinds.cronJobs, aCronJob());
  await at.clock.advance(10 * minute + 200);
  const [first] = await at.jobs();
  await at.clock.advance(minute);
  await at.ends(first!);

  t.deepEqual(await at.active(), []);
  t.is((await at.cronJob()).status!.lastSuccessfulTime, '2026-01-01T00:11:00Z');
  t.true((await at.eventsOn('report')).includes(`Normal SawCompletedJob Saw completed job: ${first}, condition: Complete`));
  await at.clock.advance(10 * minute);
  await at.ends((await at.jobs())[1]!, 'Failed');

  t.is((await at.cronJob()).status!.lastSuccessfulTime, '2026-01-01T00:11:00Z');
});

test('days pass, and as many jobs are kept as are to be', async t => {
  const at = played(
    await alone(t, [cronJobController, jobController], {concurrentCronJobSyncs: 5, concurrentJobSyncs: 5, maxWaitingPods: 0}),
  );
  await at.create(
    kinds.cronJobs,
    aCronJob({schedule: '30 3 * * *', timeZone: 'Europe/Berlin', successfulJobsHistoryLimit: 2, failedJobsHistoryLimit: 1}),
  );
  await at.clock.advance(hour);
  const made = new Set<string>();
  for (let days = 0; days < 4; days++) {
    await at.clock.advance(day - minute);
    const [name] = await at.active();
    made.add(name!);
    const [pod] = await at.podsOf(name!);
    await at.runs(pod!, {phase: 'Succeeded', ready: false});
    await at.clock.advance(minute);
  }

  t.is(made.size, 4);
  const last = [at.jobAt('2026-01-03T02:30:00Z'), at.jobAt('2026-01-04T02:30:00Z')];
  t.deepEqual(await at.jobs(), last);
  t.is(
    (await at.get(kinds.jobs, last[1]!)).metadata!.annotations!['batch.plat.io/cronjob-scheduled-timestamp'],
    '2026-01-04T03:30:00+01:00',
  );
});

test('of jobs that failed and that succeeded the oldest go, each kind by its own limit', async t => {
  const at = await startEnvironment(t);
  await at.create(kinds.cronJobs, aCronJob({successfulJobsHistoryLimit: 1, failedJobsHistoryLimit: 0}));
  const names: string[] = [];
  for (const end of ['Complete', 'Failed', 'Complete'] as const) {
    await at.clock.advance(10 * minute);
    await at.clock.advance(200);
    names.push((await at.active())[0]!);
    await at.ends(names.at(-1)!, end);
  }

  t.deepEqual(await at.jobs(), [names[2]]);
  t.deepEqual(
    (await at.eventsOn('report')).filter(event => event.includes('Delete')),
    [`Normal SuccessfulDelete Deleted job ${names[1]}`, `Normal SuccessfulDelete Deleted job ${names[0]}`],
  );
});

for (const [policy, jobs, event] of [
  ['Allow', ['2026-01-01T00:10:00Z', '2026-01-01T00:20:00Z'], 'SuccessfulCreate'],
  ['Forbid', ['2026-01-01T00:10:00Z'], 'JobAlreadyActive'],
  ['Replace', ['2026-01-01T00:20:00Z'], 'SuccessfulDelete'],
] as const) {
  test(`a job that is still at work when the next is due: ${policy}`, async t => {
    const at = await startEnvironment(t);
    await at.create(kinds.cronJobs, aCronJob({concurrencyPolicy: policy}));
    await at.clock.advance(20 * minute + 200);

    t.deepEqual(
      await at.jobs(),
      jobs.map(time => at.jobAt(time)),
    );
    t.deepEqual(
      await at.active(),
      jobs.map(time => at.jobAt(time)),
    );
    t.true((await at.eventsOn('report')).some(text => text.includes(event)));
  });
}

test('a start that the policy forbids happens once the other job has ended, within its deadline', async t => {
  const at = await startEnvironment(t);
  await at.create(kinds.cronJobs, aCronJob({concurrencyPolicy: 'Forbid', startingDeadlineSeconds: 120}));
  await at.clock.advance(21 * minute);
  await at.ends(at.jobAt('2026-01-01T00:10:00Z'));
  t.deepEqual(await at.active(), [at.jobAt('2026-01-01T00:20:00Z')]);
  await at.clock.advance(12 * minute + 100);
  await at.ends(at.jobAt('2026-01-01T00:20:00Z'));

  t.deepEqual(await at.active(), [], 'too late for 00:30');
});

test('a suspended cron job starts nothing, and makes up for the last start only', async t => {
  const at = await startEnvironment(t);
  await at.create(kinds.cronJobs, aCronJob({suspend: true}));
  await at.clock.advance(day);
  t.deepEqual(await at.jobs(), []);

  await at.patch(kinds.cronJobs, 'report', {spec: {suspend: false}});

  t.deepEqual(await at.jobs(), [at.jobAt('2026-01-02T00:00:00Z')]);
  t.true(
    (await at.eventsOn('report')).includes(
      'Warning TooManyMissedTimes too many missed start times. Set or decrease .spec.startingDeadlineSeconds or check clock skew',
    ),
  );
});

test('starts whose deadline has passed are skipped', async t => {
  const at = await startEnvironment(t);
  await at.create(kinds.cronJobs, aCronJob({suspend: true, startingDeadlineSeconds: 60}));
  await at.clock.advance(2 * hour + 3 * minute);

  await at.patch(kinds.cronJobs, 'report', {spec: {suspend: false}});

  t.deepEqual(await at.jobs(), []);
  await at.clock.advance(7 * minute + 100);
  t.deepEqual(await at.jobs(), [at.jobAt('2026-01-01T02:10:00Z')]);
});

test('a schedule that is changed counts from then on', async t => {
  const at = await startEnvironment(t);
  await at.create(kinds.cronJobs, aCronJob({schedule: '0 12 * * *'}));
  await at.clock.advance(minute);

  await at.patch(kinds.cronJobs, 'report', {spec: {schedule: '5 * * * *'}});
  await at.clock.advance(5 * minute);

  t.deepEqual(await at.jobs(), [at.jobAt('2026-01-01T00:05:00Z')]);
});

test('a schedule that is never met is reported, and left alone', async t => {
  const at = await startEnvironment(t);
  await at.create(kinds.cronJobs, aCronJob({schedule: '0 0 31 2 *'}));

  t.deepEqual(await at.eventsOn('report'), [
    'Warning InvalidSchedule invalid schedule: 0 0 31 2 * : time difference between two schedules is less than 1 second',
  ]);
  await at.clock.advance(day);
  t.deepEqual(await at.jobs(), []);
});

test('a job that was made, but not noted, is noted in the next pass', async t => {
  const at = await startEnvironment(t);
  const {metadata} = await at.create(kinds.cronJobs, aCronJob());
  const name = at.jobAt('2026-01-01T00:10:00Z');
  const owner = {apiVersion: 'batch/v1', kind: 'CronJob', name: 'report', uid: metadata!.uid!, controller: true};
  await at.create(kinds.jobs, {metadata: {name, ownerReferences: [owner]}, spec: jobSpec()});
  t.true((await at.eventsOn('report')).includes(`Warning UnexpectedJob Saw a job that the controller did not create or forgot: ${name}`));
  await at.clock.advance(10 * minute + 200);

  t.deepEqual(await at.active(), [name]);
  t.is((await at.cronJob()).status!.lastScheduleTime, '2026-01-01T00:10:00Z');
});

test('a job of the name with another owner is not changed', async t => {
  const at = await startEnvironment(t);
  await at.create(kinds.jobs, {metadata: {name: at.jobAt('2026-01-01T00:10:00Z')}, spec: jobSpec()});
  await at.create(kinds.cronJobs, aCronJob());
  await at.clock.advance(10 * minute + 200);

  t.deepEqual(await at.active(), []);
  t.is((await at.cronJob()).status?.lastScheduleTime, undefined);
});

test('an active job that is deleted by others is reported as missing', async t => {
  const at = await startEnvironment(t);
  await at.create(kinds.cronJobs, aCronJob());
  await at.clock.advance(10 * minute + 200);
  const [name] = await at.jobs();

  await at.remove(kinds.jobs, name!, {propagationPolicy: 'Background'});

  t.deepEqual(await at.active(), []);
  t.true((await at.eventsOn('report')).includes(`Normal MissingJob Active job went missing: ${name}`));
});

test('in a namespace that ends jobs that cannot be created are tried again later, without an event', async t => {
  const plane = await aPlaneWith(['cronjob-controller']);
  await using _ = plane;
  const at = actionsOn(plane);
  await at.client.resource(kinds.namespaces).create({metadata: {name: 'ending', finalizers: ['example.com/hold']}});
  await at.create(kinds.cronJobs, {...aCronJob(), metadata: {name: 'report', namespace: 'ending'}});
  await at.client.resource(kinds.namespaces).delete('ending');
  await at.clock.advance(hour);

  t.deepEqual((await at.client.resource(kinds.coreEvents).list({namespace: 'ending'})).items, []);
  const cronJob = await at.client.resource(kinds.cronJobs).get('report', {namespace: 'ending'});
  const error = await t.throwsAsync(
    cronJobReconciler(contextOver(plane, [{...cronJob, kind: 'CronJob'}], {}))({namespace: 'ending', name: 'report'}, attempt),
  );
  t.true(error instanceof Expected);
});

const at = (time: string): number => Date.parse(`2026-01-${time}Z`);

for (const [what, spec, last, now, expected] of [
  ['nothing before the first', {schedule: '0 * * * *'}, '01T10:00:00', '01T10:59:59', {at: undefined, missed: 'none'}],
  ['the first at its time', {schedule: '0 * * * *'}, '01T10:00:00', '01T11:00:00', {at: at('01T11:00:00'), missed: 'none'}],
  ['the last of few', {schedule: '0 * * * *'}, '01T10:00:00', '01T14:20:00', {at: at('01T14:00:00'), missed: 'few'}],
  ['the last of many', {schedule: '* * * * *'}, '01T10:00:00', '01T14:20:30', {at: at('01T14:20:00'), missed: 'many'}],
  [
    'the last of spans, counted from the start',
    {schedule: '@every 7m'},
    '01T10:00:00',
    '01T10:30:00',
    {at: at('01T10:28:00'), missed: 'few'},
  ],
  ['the last of times that differ', {schedule: '30 6-16/4 * * 1-5'}, '02T06:30:00', '05T07:00:00', {at: at('05T06:30:00'), missed: 'few'}],
  [
    'none that is past its deadline',
    {schedule: '0 * * * *', startingDeadlineSeconds: 60},
    '01T10:00:00',
    '01T14:20:00',
    {at: undefined, missed: 'none'},
  ],
  [
    'the one within its deadline',
    {schedule: '0 * * * *', startingDeadlineSeconds: 1500},
    '01T10:00:00',
    '01T14:20:00',
    {at: at('01T14:00:00'), missed: 'none'},
  ],
] as const) {
  test(`with missed starts: ${what}`, t => {
    const cronJob: CronJob = {spec: {...spec, jobTemplate: {}}, status: {lastScheduleTime: wireTime(at(last))}};
    const schedule = {next: (after: number) => nextCronTime(parseCron(spec.schedule), after, 'UTC')};

    t.like(dueStart(cronJob, schedule, at(now)), expected);
  });
}

test('the next pass is a little after the next start, wherever the last one was', t => {
  const cronJob: CronJob = {spec: {schedule: '', jobTemplate: {}}, status: {lastScheduleTime: wireTime(at('01T10:00:00'))}};
  const hourly = {next: (after: number) => nextCronTime(parseCron('0 * * * *'), after, 'UTC')};
  t.is(nextStartIn(cronJob, hourly, at('01T10:30:00')), 30 * minute + 100);
  t.is(nextStartIn(cronJob, hourly, at('03T10:30:00')), 30 * minute + 100);
  t.throws(() => dueStart(cronJob, {next: () => undefined}, at('01T10:30:00')), {instanceOf: ScheduleError});
});
