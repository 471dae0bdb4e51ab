import test from 'ava';
import {kinds, Situations, type SimplePod} from './situations.js';

const at = await Situations.start(['job-controller', 'cronjob-controller', 'node-lifecycle-controller'], {nodes: 1});
test.after.always(() => at[Symbol.asyncDispose]());

const [seconds, minutes] = [1_000, 60_000];
const plain = ([answer, ends]: readonly [string, string | undefined]) =>
  [answer, ends].map(text => text?.replaceAll(/-[bcdfghjklmnpqrstvwxz2456789]{5}\b/g, '-ID'));

const template = ({behavior, ...spec}: SimplePod = {}) => ({
  metadata: behavior ? {annotations: {'simulation.kubernetes.io/behavior': behavior}} : {},
  spec: {restartPolicy: 'Never', containers: [{name: 'app', image: 'task'}], ...spec},
});

test.serial('a job that has failed too often names its last pod', async t => {
  await at.create(kinds.jobs, {
    metadata: {name: 'fails'},
    spec: {backoffLimit: 1, template: template({behavior: '{runFor: 1s, exitCode: 4}'})},
  });

  t.deepEqual(plain(await at.answer(kinds.jobs, 'fails', 2 * minutes)), [
    'Job default/fails is blocked by Pod default/fails-ID: it has failed and does not run again: the container app ended with code 4 (Error).',
    'Nothing ends it: a failed job is not tried again. Create another one, perhaps with a higher spec.backoffLimit.',
  ]);
  t.is(
    (await at.why(kinds.jobs, 'fails')).chain[0]?.sentence,
    'it has failed: BackoffLimitExceeded: Job has reached the specified backoff limit',
  );
});

test.serial('a job pauses after a failure until a time that is known', async t => {
  await at.create(kinds.jobs, {metadata: {name: 'pauses'}, spec: {template: template({behavior: '{runFor: 1s, exitCode: 4}'})}});

  t.deepEqual(await at.answer(kinds.jobs, 'pauses', 5 * seconds), [
    'Job default/pauses is blocked: 1 of its pods have failed, and it pauses before the next one.',
    'The next pod, at about 2026-01-01T00:02:11Z; it fails for good after 6 of them.',
  ]);
  await at.plane.clock.advance(10 * seconds);
  t.is((await at.client.resource(kinds.jobs).get('pauses', {namespace: 'default'})).status?.failed, 2);
});

test.serial('a suspended job waits for whoever resumes it', async t => {
  await at.create(kinds.jobs, {metadata: {name: 'suspended'}, spec: {suspend: true, template: template()}});

  t.deepEqual(await at.answer(kinds.jobs, 'suspended', 5 * seconds), [
    'Job default/suspended is blocked: it is suspended (spec.suspend).',
    'kubectl patch job suspended -n default -p \'{"spec":{"suspend":false}}\', by whoever suspended it.',
  ]);
});

test.serial('a job that took too long is not tried again', async t => {
  await at.create(kinds.jobs, {
    metadata: {name: 'deadline'},
    spec: {activeDeadlineSeconds: 10, template: template({behavior: '{runFor: 1h}'})},
  });

  t.deepEqual(await at.answer(kinds.jobs, 'deadline', 2 * minutes), [
    'Job default/deadline is blocked: it has failed: DeadlineExceeded: Job was active longer than specified deadline.',
    'Nothing ends it: a failed job is not tried again. Create another one, perhaps with a longer spec.activeDeadlineSeconds.',
  ]);
});

test.serial('a job that its policy for failures ends is not tried again', async t => {
  const podFailurePolicy = {rules: [{action: 'FailJob', onExitCodes: {containerName: 'app', operator: 'In', values: [42]}}]};
  await at.create(kinds.jobs, {
    metadata: {name: 'policy'},
    spec: {podFailurePolicy, template: template({behavior: '{runFor: 1s, exitCode: 42}'})},
  });

  t.deepEqual(plain(await at.answer(kinds.jobs, 'policy', minutes)), [
    'Job default/policy is blocked by Pod default/policy-ID: it has failed and does not run again: the container app ended with code 42 (Error).',
    'Nothing ends it: a failed job is not tried again. Create another one.',
  ]);
  t.is(
    plain([(await at.why(kinds.jobs, 'policy')).chain[0]!.sentence, undefined])[0],
    'it has failed: PodFailurePolicy: Container app for pod default/policy-ID failed with exit code 42 matching FailJob rule at index 0',
  );
});

test.serial('a job of another controller waits for it', async t => {
  await at.create(kinds.jobs, {metadata: {name: 'foreign'}, spec: {managedBy: 'example.com/queue', template: template()}});

  t.deepEqual(await at.answer(kinds.jobs, 'foreign', 5 * seconds), [
    'Job default/foreign is blocked: it is left to the controller example.com/queue, which has not started it.',
    'The controller example.com/queue, as soon as it works.',
  ]);
});

test.serial('a job that is complete waits for nothing', async t => {
  await at.create(kinds.jobs, {metadata: {name: 'done'}, spec: {template: template({behavior: '{runFor: 1s}'})}});

  t.deepEqual(await at.answer(kinds.jobs, 'done', 30 * seconds), [
    'Job default/done waits for nothing: it is complete since 2026-01-01T00:05:27Z.',
    undefined,
  ]);
});

test.serial('a cron job that is suspended says so', async t => {
  await at.create(kinds.cronJobs, {
    metadata: {name: 'off'},
    spec: {schedule: '* * * * *', suspend: true, jobTemplate: {spec: {template: template()}}},
  });

  t.deepEqual(await at.answer(kinds.cronJobs, 'off', 5 * seconds), [
    'CronJob default/off is blocked: it is suspended (spec.suspend).',
    'kubectl patch cronjob off -n default -p \'{"spec":{"suspend":false}}\', by whoever suspended it.',
  ]);
});

test.serial('a cron job that may run once at a time waits for its job', async t => {
  await at.create(kinds.cronJobs, {
    metadata: {name: 'slow'},
    spec: {schedule: '* * * * *', concurrencyPolicy: 'Forbid', jobTemplate: {spec: {template: template({nodeSelector: {disk: 'fast'}})}}},
  });

  t.deepEqual(
    (await at.answer(kinds.cronJobs, 'slow', 3 * minutes)).map(text => text?.replaceAll(/\d{8}-\w+|\d{8}/g, 'TIME')),
    [
      "CronJob default/slow is blocked by Pod default/slow-TIME: no node takes it: 0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.",
      "A node with labels that match the pod's node selector or affinity.",
    ],
  );
  t.deepEqual(
    (await at.why(kinds.cronJobs, 'slow')).chain.map(({object}) => object.kind),
    ['CronJob', 'Job', 'Pod'],
  );
});

test.serial('a cron job waits for nothing but its next time, in its zone', async t => {
  await at.create(kinds.cronJobs, {
    metadata: {name: 'night'},
    spec: {schedule: '30 3 * * *', timeZone: 'Europe/Berlin', jobTemplate: {spec: {template: template()}}},
  });

  t.deepEqual(await at.answer(kinds.cronJobs, 'night', 5 * seconds), [
    'CronJob default/night waits for nothing: it runs at its next time, 2026-01-01T02:30:00Z, by its schedule 30 3 * * * in the zone Europe/Berlin.',
    undefined,
  ]);
});
