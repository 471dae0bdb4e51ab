import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {aTemplate} from './workloads.js';
import {aJob, finalizer, indexKey, startEnvironment} from './jobs.js';

test('the pods of an indexed job know their index, and each index succeeds once', async t => {
  const at = await startEnvironment(t);
  await at.create(kinds.jobs, aJob('work', {completionMode: 'Indexed', completions: 5, parallelism: 5}));
  const pod = await at.byIndex(3);
  t.regex(pod.metadata!.name!, /^work-3-[a-z0-9]{5}$/);
  t.is(pod.metadata!.labels![indexKey], '3');
  t.is(pod.spec!.hostname, 'work-3');
  t.deepEqual(pod.spec!.containers[0]!.env, [
    {name: 'JOB_COMPLETION_INDEX', valueFrom: {fieldRef: {apiVersion: 'v1', fieldPath: `metadata.labels['${indexKey}']`}}},
  ]);

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
  await at.create(kinds.jobs, aJob(name, {completionMode: 'Indexed', completions: 1}));

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

test('of two pods with one index one is deleted, and so is one without an index', async t => {
  const at = await startEnvironment(t);
  await at.create(kinds.jobs, aJob('work', {completionMode: 'Indexed', completions: 2, parallelism: 2}));
  const pod = await at.byIndex(0);
  const {ownerReferences, labels} = pod.metadata!;
  const {[indexKey]: __, ...others} = labels!;
  await at.runs(pod);
  for (const [name, annotations] of [
    ['twin', {[indexKey]: '0'}],
    ['stray', {}],
    ['beyond', {[indexKey]: '2'}],
  ] as const) {
    await at.create(kinds.pods, {
      metadata: {name, ownerReferences: ownerReferences!, labels: others, annotations, finalizers: [finalizer]},
      spec: aTemplate().spec!,
    });
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
  await at.create(
    kinds.jobs,
    aJob('work', {completionMode: 'Indexed', completions: 5, parallelism: 3, backoffLimitPerIndex: 0, maxFailedIndexes: 1}),
  );
  await at.ends(await at.byIndex(0), 1);
  await at.batch(2);
  t.deepEqual((await at.active()).map(({metadata}) => metadata!.annotations![indexKey]).sort(), ['1', '2', '3']);

  await at.ends(await at.byIndex(2), 1);
  await at.batch(3);

  t.deepEqual(await at.conditions(), ['FailureTarget=True MaxFailedIndexesExceeded', 'Failed=True MaxFailedIndexesExceeded']);
  t.is((await at.status()).conditions![1]!.message, 'Job has exceeded the specified maximal number of failed indexes');
  t.is((await at.status()).failedIndexes, '0,2');
});
