import test from 'ava';
import {matchFailure} from '#controllers/job/failure-policy.js';
import {jobNamesOf} from '#controllers/job/kinds.js';
import {surplusPods} from '#controllers/job/surplus.js';
import type {Job} from '#controllers/shared/jobs.js';
import {kinds} from '#src/api/kinds/index.js';
import {naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import {wireTime} from '#src/api/time.js';
import {aJob, exits, finalizer, indexKey, type Spec, startEnvironment} from './jobs.js';

const disrupted = {conditions: [{type: 'DisruptionTarget', status: 'True'}]};

for (const [what, rules, code, more, conditions, failed] of [
  [
    'fails the job by an exit code',
    [exits('Ignore', [7]), exits('FailJob', [42], 'c')],
    42,
    {},
    ['FailureTarget=True PodFailurePolicy', 'Failed=True PodFailurePolicy'],
    1,
  ],
  [
    'fails the job by a condition',
    [{action: 'FailJob', onPodConditions: [{type: 'DisruptionTarget'}]}],
    1,
    disrupted,
    ['FailureTarget=True PodFailurePolicy', 'Failed=True PodFailurePolicy'],
    1,
  ],
  ['ignores a failure', [{action: 'Ignore', onPodConditions: [{type: 'DisruptionTarget'}]}], 1, disrupted, [], undefined],
  [
    'counts a failure',
    [exits('Count', [1]), exits('FailJob', [1])],
    1,
    {},
    ['FailureTarget=True BackoffLimitExceeded', 'Failed=True BackoffLimitExceeded'],
    1,
  ],
  [
    'counts what no rule speaks of',
    [exits('Ignore', [7])],
    1,
    {},
    ['FailureTarget=True BackoffLimitExceeded', 'Failed=True BackoffLimitExceeded'],
    1,
  ],
] as const) {
  test(`a pod failure policy ${what}`, async t => {
    const at = await startEnvironment(t);
    await at.create(
      kinds.jobs,
      aJob('work', {backoffLimit: 0, podFailurePolicy: {rules: rules as unknown as NonNullable<Spec['podFailurePolicy']>['rules']}}),
    );
    const [pod] = await at.active();
    await at.ends(pod!, code, more as unknown as NonNullable<Pod['status']>);
    await at.batch(3);

    t.deepEqual(await at.conditions(), [...conditions]);
    t.is((await at.status()).failed, failed);
    const name = `default/${pod!.metadata!.name}`;
    if (what.endsWith('exit code'))
      t.is(
        (await at.status()).conditions![1]!.message,
        `Container c for pod ${name} failed with exit code 42 matching FailJob rule at index 1`,
      );
    if (what.endsWith('condition'))
      t.is((await at.status()).conditions![1]!.message, `Pod ${name} has condition DisruptionTarget matching FailJob rule at index 0`);
    await at.batch(10);
    t.is((await at.active()).length, failed === undefined ? 1 : 0);
  });
}

test('a rule with an action that is not known is passed over', t => {
  const job = (...actions: string[]) => ({spec: {podFailurePolicy: {rules: actions.map(action => exits(action, [1]))}}}) as unknown as Job;
  const pod = {
    metadata: {namespace: 'd', name: 'p'},
    status: {containerStatuses: [{name: 'c', state: {terminated: {exitCode: 1}}}]},
  } as unknown as Pod;

  t.deepEqual(matchFailure(job('Later', 'Ignore'), pod), {action: 'Ignore'});
  t.is(matchFailure(job('Later'), pod), undefined);
});

test('of the pods a job has too many of the youngest go, of those of an index all but the oldest', t => {
  const pods = ['old 0', 'young 0', 'aged 1', 'odd'].map((text, age) => {
    const [name = '', index] = text.split(' ');
    return {
      metadata: {name, uid: name, creationTimestamp: wireTime((age % 2) * 1000), annotations: index ? {[indexKey]: index} : {}},
    } as Pod;
  });
  const marks = jobNamesOf(naming('plat'));
  const going = (job: Partial<Spec>, least: number) =>
    surplusPods({spec: job} as Job, pods, least, marks).map(({metadata}) => metadata?.name);

  t.deepEqual(going({}, 2).sort(), ['odd', 'young']);
  t.deepEqual(going({completionMode: 'Indexed', completions: 3}, 0), ['odd', 'young']);
});

test('a policy fails an index at once, and counts ignored failures of an index apart', async t => {
  const at = await startEnvironment(t);
  const rules = [exits('FailIndex', [42]), exits('Ignore', [7])] as unknown as NonNullable<Spec['podFailurePolicy']>['rules'];
  await at.create(
    kinds.jobs,
    aJob('work', {completionMode: 'Indexed', completions: 2, parallelism: 2, backoffLimitPerIndex: 3, podFailurePolicy: {rules}}),
  );
  await at.ends(await at.byIndex(0), 42);
  await at.ends(await at.byIndex(1), 7);
  await at.batch(12);

  t.is((await at.status()).failedIndexes, '0');
  t.like((await at.byIndex(1)).metadata!.annotations, {
    'batch.plat.io/job-index-failure-count': '0',
    'batch.plat.io/job-index-ignored-failure-count': '1',
  });
});

for (const [what, rule, succeed, message] of [
  ['some indexes', {succeededIndexes: '0,2'}, [0, 2], 'Matched rules at index 1'],
  ['a number of some indexes', {succeededIndexes: '1-3', succeededCount: 2}, [1, 3], 'Matched rules at index 1'],
  ['a number of indexes', {succeededCount: 2}, [3, 1], 'Matched rules at index 1'],
] as const) {
  test(`a success policy is met by ${what}, and the other pods are deleted`, async t => {
    const at = await startEnvironment(t);
    await at.create(
      kinds.jobs,
      aJob('work', {completionMode: 'Indexed', completions: 4, parallelism: 4, successPolicy: {rules: [{succeededIndexes: '0-3'}, rule]}}),
    );
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

for (const [policy, atOnce] of [
  ['TerminatingOrFailed', 1],
  ['Failed', 0],
] as const) {
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

test('a pod that is deleted by others counts as failed and is replaced', async t => {
  const at = await startEnvironment(t);
  await at.create(kinds.jobs, aJob('work'));
  const [pod] = await at.active();

  await at.remove(kinds.pods, pod!.metadata!.name!);
  t.is((await at.podsOf('work')).length, 1, 'the finalizer keeps it until it is counted');
  await at.batch(11);

  t.is((await at.status()).failed, 1);
  t.deepEqual(
    (await at.podsOf('work')).map(({metadata}) => metadata!.name === pod!.metadata!.name),
    [false],
  );
});
