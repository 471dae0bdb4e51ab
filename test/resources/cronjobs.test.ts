import test from 'ava';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {problems, startEnvironment} from './environment.js';
import {aTemplate, namespace} from './workloads.js';
import {template} from './job-objects.js';

type CronJob = ObjectOf<typeof kinds.cronJobs>;

const aCronJob = (spec: Partial<CronJob['spec']> = {}, name = 'c'): CronJob =>
  ({metadata: {name, namespace}, spec: {schedule: '* * * * *', jobTemplate: {spec: {template}}, ...spec}}) as CronJob;

const scheduleCases: [schedule: string, problem: string | undefined][] = [
  ['*/5 0-6 1,15 jan-mar MON-FRI', undefined],
  ['@hourly', undefined],
  ['@every 1h30m', undefined],
  ['* * * *', 'expected exactly 5 fields, found 4: [* * * *]'],
  ['60 * * * *', 'end of range (60) above maximum (59): 60'],
  ['* * 0 * *', 'beginning of range (0) below minimum (1): 0'],
  ['5-1 * * * *', 'beginning of range (5) beyond end of range (1): 5-1'],
  ['*/0 * * * *', 'step of range should be a positive number: */0'],
  ['1-2-3 * * * *', 'too many hyphens: 1-2-3'],
  ['1/2/3 * * * *', 'too many slashes: 1/2/3'],
  ['a * * * *', 'failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax'],
  ['@often', 'unrecognized descriptor: @often'],
];

for (const [schedule, problem] of scheduleCases) {
  test(`the schedule ${schedule} is ${problem ? 'refused' : 'taken'}`, async t => {
    const {of} = await startEnvironment();
    const act = of(kinds.cronJobs).create(aCronJob({schedule}));

    if (problem) t.deepEqual(await problems(act), [`spec.schedule: Invalid value: ${JSON.stringify(schedule)}: ${problem}`]);
    else await t.notThrowsAsync(act);
  });
}

const cronCases: [title: string, spec: Partial<CronJob['spec']>, expected: string[]][] = [
  ['has a schedule', {schedule: ''}, ['spec.schedule: Required value']],
  [
    'has its zone beside the schedule',
    {schedule: 'TZ=UTC * * * * *'},
    ['spec.schedule: Invalid value: "TZ=UTC * * * * *": cannot use TZ or CRON_TZ in schedule, use timeZone field instead'],
  ],
  ['has a zone that exists', {timeZone: 'Mars/Olympus'}, ['spec.timeZone: Invalid value: "Mars/Olympus": unknown time zone Mars/Olympus']],
  ['has a zone, or none', {timeZone: ''}, ['spec.timeZone: Invalid value: "": timeZone must be nil or non-empty string']],
  [
    'has a zone of its own',
    {timeZone: 'local'},
    ['spec.timeZone: Invalid value: "local": timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones'],
  ],
  [
    'does a known thing about overlaps',
    {concurrencyPolicy: 'Odd'},
    ['spec.concurrencyPolicy: Unsupported value: "Odd": supported values: "Allow", "Forbid", "Replace"'],
  ],
  [
    'leaves selectors to its jobs',
    {jobTemplate: {spec: {template, selector: {matchLabels: {a: 'b'}}, manualSelector: true}}},
    [
      'spec.jobTemplate.spec.selector: Invalid value: {"matchLabels":{"a":"b"}}: `selector` will be auto-generated',
      'spec.jobTemplate.spec.manualSelector: Unsupported value: true: supported values: "nil", "false"',
    ],
  ],
  [
    'makes jobs that end',
    {jobTemplate: {spec: {template: aTemplate()}}},
    ['spec.jobTemplate.spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'],
  ],
];

for (const [title, spec, expected] of cronCases) {
  test(`a cron job ${title}`, async t => {
    const {of} = await startEnvironment();

    t.deepEqual(await problems(of(kinds.cronJobs).create(aCronJob(spec))), expected);
  });
}

test('a cron job is filled in, and its name leaves room for that of its jobs', async t => {
  const {of} = await startEnvironment();
  const name = 'x'.repeat(53);

  t.like((await of(kinds.cronJobs).create(aCronJob())).spec, {
    concurrencyPolicy: 'Allow',
    suspend: false,
    successfulJobsHistoryLimit: 3,
    failedJobsHistoryLimit: 1,
  });
  t.deepEqual(await problems(of(kinds.cronJobs).create(aCronJob({}, name))), [
    `metadata.name: Invalid value: "${name}": must be no more than 52 characters`,
  ]);
});

test('the table of cron jobs shows when they run', async t => {
  const {row} = await startEnvironment();

  t.deepEqual(await row(kinds.cronJobs, aCronJob({suspend: true})), {
    Name: 'c',
    Schedule: '* * * * *',
    Timezone: '<none>',
    Suspend: 'True',
    Active: 0,
    'Last Schedule': '<none>',
    Age: '<unknown>',
    Containers: 'c',
    Images: 'example.com/image:1',
    Selector: '<none>',
  });
});
