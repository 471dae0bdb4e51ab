import test from 'ava';
import type {Job} from '#controllers/shared/jobs.js';
import {kinds} from '#src/api/kinds/index.js';
import {wireTime} from '#src/api/time.js';
import {aPlaneWith, aTemplate, actionsOn} from './workloads.js';

const aJob = (name: string, ttlSecondsAfterFinished?: number): Job => {
  const {spec, ...template} = aTemplate();
  return {
    metadata: {name},
    spec: {
      template: {...template, spec: {...spec!, restartPolicy: 'Never'}},
      ...(ttlSecondsAfterFinished === undefined ? {} : {ttlSecondsAfterFinished}),
    },
  };
};

const startEnvironment = async (controllers: readonly string[] = []) => {
  const plane = await aPlaneWith(['ttl-after-finished-controller', ...controllers]);
  const at = actionsOn(plane);
  /** Plays the controller of jobs: the job has ended just now, or at another time. */
  const ends = (name: string, type: 'Complete' | 'Failed' = 'Complete', time = wireTime(at.clock.now())) => {
    const why = {status: 'True', lastProbeTime: time, lastTransitionTime: time, reason: '', message: ''};
    const interim = type === 'Complete' ? 'SuccessCriteriaMet' : 'FailureTarget';
    return at.patch(
      kinds.jobs,
      name,
      {
        status: {
          startTime: time,
          conditions: [
            {type: interim, ...why},
            {type, ...why},
          ],
          ...(type === 'Complete' ? {completionTime: time} : {}),
        },
      },
      'status',
    );
  };
  const names = async () =>
    (await at.list(kinds.jobs)).filter(({metadata}) => !metadata?.deletionTimestamp).map(({metadata}) => metadata!.name);
  return {plane, ...at, ends, names};
};

for (const type of ['Complete', 'Failed'] as const) {
  test(`a job that is ${type} is deleted after its ttl`, async t => {
    const at = await startEnvironment();
    await using _ = at.plane;
    await at.create(kinds.jobs, aJob('timed', 100));
    await at.create(kinds.jobs, aJob('kept'));
    await at.clock.advance(500_000);
    for (const name of ['timed', 'kept']) await at.ends(name, type);

    await at.clock.advance(99_999);
    t.deepEqual(await at.names(), ['kept', 'timed']);
    await at.clock.advance(1);
    t.deepEqual(await at.names(), ['kept']);
  });
}

test('a time of zero is over at once', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.jobs, aJob('timed', 0));
  await at.ends('timed');

  t.deepEqual(await at.names(), []);
});

test('a job that has ended may be given more time, or less, or all of it', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  for (const name of ['more', 'less', 'all']) {
    await at.create(kinds.jobs, aJob(name, 100));
    await at.ends(name);
  }
  await at.patch(kinds.jobs, 'more', {spec: {ttlSecondsAfterFinished: 200}});
  await at.patch(kinds.jobs, 'less', {spec: {ttlSecondsAfterFinished: 50}});
  await at.patch(kinds.jobs, 'all', {spec: {ttlSecondsAfterFinished: null}});

  await at.clock.advance(50_000);
  t.deepEqual(await at.names(), ['all', 'more']);
  await at.clock.advance(100_000);
  t.deepEqual(await at.names(), ['all', 'more']);
  await at.clock.advance(50_000);
  t.deepEqual(await at.names(), ['all']);
});

test('a job with an end in the future is kept until then, and for its ttl', async t => {
  const at = await startEnvironment();
  await using _ = at.plane;
  await at.create(kinds.jobs, aJob('timed', 10));
  await at.ends('timed', 'Complete', wireTime(at.clock.now() + 60_000));

  await at.clock.advance(69_000);
  t.deepEqual(await at.names(), ['timed']);
  await at.clock.advance(1000);
  t.deepEqual(await at.names(), []);
});

test('the pods go before the job', async t => {
  const at = await startEnvironment(['job-controller', 'garbage-collector-controller']);
  await using _ = at.plane;
  await at.create(kinds.jobs, aJob('timed', 10));
  const [pod] = await at.podsOf('timed');
  await at.runs(pod!, {phase: 'Succeeded', ready: false});
  await at.clock.advance(2000);
  await at.patch(kinds.pods, pod!.metadata!.name!, {metadata: {finalizers: ['example.com/hold']}});

  await at.clock.advance(10_000);
  t.deepEqual((await at.get(kinds.jobs, 'timed')).metadata!.finalizers, ['foregroundDeletion']);
  await at.patch(kinds.pods, pod!.metadata!.name!, {metadata: {finalizers: null}});

  t.deepEqual([(await at.list(kinds.jobs)).length, (await at.list(kinds.pods)).length], [0, 0]);
});
