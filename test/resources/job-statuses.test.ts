import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {problems, startEnvironment} from './environment.js';
import {type Job, aJob, indexed} from './job-objects.js';

test('a job with indexes grows in tandem', async t => {
  const {of} = await startEnvironment();
  const jobs = of(kinds.jobs);
  const made = await jobs.create(aJob({...indexed, parallelism: 3}));

  t.deepEqual(await problems(jobs.update({...made, spec: {...made.spec!, completions: 4}})), [
    'spec.completions: Invalid value: 4: can only be modified in tandem with spec.parallelism',
  ]);
  await t.notThrowsAsync(jobs.update({...made, spec: {...made.spec!, completions: 4, parallelism: 4}}));
});

const at = '2026-01-01T00:00:00Z';
const is = (...types: string[]) => types.map(type => ({type, status: 'True'}));

const statusCases: [title: string, status: Job['status'], expected: string[]][] = [
  [
    'is complete with a time',
    {startTime: at, conditions: is('SuccessCriteriaMet', 'Complete')},
    ['status.completionTime: Required value: completionTime is required for Complete jobs'],
  ],
  [
    'ends after it began',
    {startTime: at, completionTime: '2025-01-01T00:00:00Z', conditions: is('SuccessCriteriaMet', 'Complete')},
    ['status.completionTime: Invalid value: "2025-01-01T00:00:00Z": must be equal to or after `startTime`'],
  ],
  [
    'ends for a reason',
    {startTime: at, completionTime: at, conditions: is('Complete')},
    ['status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true condition'],
  ],
  [
    'fails for a reason',
    {startTime: at, conditions: is('Failed')},
    ['status.conditions: Invalid value: cannot set Failed=True condition without the FailureTarget=true condition'],
  ],
  [
    'ends one way',
    {startTime: at, completionTime: at, conditions: is('Complete', 'Failed', 'SuccessCriteriaMet', 'FailureTarget')},
    [
      'status.conditions: Invalid value: cannot set Complete=True and Failed=true conditions',
      'status.conditions: Invalid value: cannot set Complete=True and FailureTarget=true conditions',
      'status.conditions: Invalid value: cannot set SuccessCriteriaMet=True and Failed=true conditions',
      'status.conditions: Invalid value: cannot set SuccessCriteriaMet=True and FailureTarget=true conditions',
    ],
  ],
  [
    'ends with nothing running',
    {startTime: at, active: 1, conditions: is('Failed', 'FailureTarget')},
    ['status.active: Invalid value: 1: active>0 is invalid for finished job'],
  ],
  [
    'has started when it ends',
    {conditions: is('Failed', 'FailureTarget')},
    ['status.startTime: Required value: startTime is required for finished job'],
  ],
  [
    'has indexes when it is indexed',
    {completedIndexes: '0'},
    ['status.completedIndexes: Invalid value: "0": cannot set non-empty completedIndexes when non-indexed completion mode'],
  ],
  ['has no more ready pods than pods', {ready: 2, active: 1}, ['status.ready: Invalid value: 2: cannot set more ready pods than active']],
  [
    'counts each pod once',
    {uncountedTerminatedPods: {succeeded: ['a'], failed: ['a', '']}},
    [
      'status.uncountedTerminatedPods.failed[0]: Duplicate value: "a"',
      'status.uncountedTerminatedPods.failed[1]: Invalid value: "": must not be empty',
    ],
  ],
];

for (const [title, status, expected] of statusCases) {
  test(`validation of a job's status: it ${title}`, async t => {
    const {of} = await startEnvironment();
    const made = await of(kinds.jobs).create(aJob());

    t.deepEqual(
      (await problems(of(kinds.jobs).update({...made, ...(status ? {status} : {})}, {subresource: 'status'}))).filter(
        (text, i, all) => all.indexOf(text) === i && (expected.includes(text) || !/completedIndexes: Invalid value: "0": error/.test(text)),
      ),
      expected,
    );
  });
}

test('a job that has ended stays so', async t => {
  const {of} = await startEnvironment();
  const jobs = of(kinds.jobs);
  const made = await jobs.create(aJob());
  const ended = await jobs.update(
    {...made, status: {startTime: at, failed: 1, conditions: is('Failed', 'FailureTarget')}},
    {subresource: 'status'},
  );

  t.deepEqual(await problems(jobs.update({...ended, status: {startTime: at, conditions: is('FailureTarget')}}, {subresource: 'status'})), [
    'status.conditions: Invalid value: cannot disable the terminal Failed=True condition',
    'status.failed: Invalid value: 0: cannot decrease the failed counter',
  ]);
});

test('the table of jobs shows how far they are', async t => {
  const {row} = await startEnvironment();

  t.deepEqual(
    await row(kinds.jobs, {
      ...aJob({completions: 3}),
      status: {succeeded: 1, startTime: '1970-01-01T00:00:00Z', completionTime: '1970-01-01T00:01:00Z'},
    }),
    {
      Name: 'j',
      Status: 'Running',
      Completions: '1/3',
      Duration: '60s',
      Age: '<unknown>',
      Containers: 'c',
      Images: 'example.com/image:1',
      Selector: '<none>',
    },
  );
  t.like(await row(kinds.jobs, {...aJob({parallelism: 2}), status: {conditions: is('Complete')}}), {
    Status: 'Complete',
    Completions: '0/1 of 2',
    Duration: '',
  });
});
