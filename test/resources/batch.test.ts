import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {findings, problems, startEnvironment} from './environment.js';
import {warningsOf} from './warnings.js';
import {aTemplate, namespace} from './workloads.js';
import {type Job, type JobSpec, aJob, indexed, template} from './job-objects.js';

test('a job is filled in and given a selector of its own', async t => {
  const {of} = await startEnvironment();
  const made = await of(kinds.jobs).create(aJob());
  const uid = made.metadata!.uid!;
  const marks = {'controller-uid': uid, 'job-name': 'j', 'batch.plat.io/controller-uid': uid, 'batch.plat.io/job-name': 'j'};

  t.like(made.spec, {
    completions: 1,
    parallelism: 1,
    backoffLimit: 6,
    completionMode: 'NonIndexed',
    suspend: false,
    manualSelector: false,
    podReplacementPolicy: 'TerminatingOrFailed',
  });
  t.deepEqual(made.spec?.selector, {matchLabels: {'batch.plat.io/controller-uid': uid}});
  t.deepEqual(made.spec?.template.metadata?.labels, {app: 'a', ...marks});
  t.is(made.metadata?.generation, 1);
});

test('labels of another job are refused, and shown in order', async t => {
  const {of} = await startEnvironment();
  const labels = {'job-name': 'other', app: 'a'};
  const marked = aJob({template: {...template, metadata: {labels}}});
  const {message = ''} = await t.throwsAsync(of(kinds.jobs).create(marked));

  t.regex(message, /labels\[job-name\]: Invalid value: \{"app":"a",("[^,]+,){3}"job-name":"other"\}: must be 'j'/);
});

test('a job without labels gets those of its pods, with the generated selector', async t => {
  const jobs = (await startEnvironment()).of(kinds.jobs);
  const [shared, labelled, bare] = [
    await jobs.create(aJob({}, 'a')),
    await jobs.create({...aJob({}, 'b'), metadata: {name: 'b', namespace, labels: {app: 'a'}}}),
    await jobs.create(aJob({template: {...template, metadata: {}}}, 'c')),
  ];

  t.deepEqual(shared.metadata?.labels, shared.spec?.template.metadata?.labels);
  t.is(shared.metadata?.labels?.['batch.plat.io/job-name'], 'a');
  t.deepEqual(labelled.metadata?.labels, {app: 'a'});
  t.is(bare.metadata?.labels?.['job-name'], 'c');
});

const exit = {onExitCodes: {operator: 'In', values: [1]}};

const jobCases: [title: string, spec: Partial<JobSpec>, expected: string[]][] = [
  [
    'counts from nothing',
    {parallelism: -1, ttlSecondsAfterFinished: -1},
    [
      'spec.parallelism: Invalid value: -1: must be greater than or equal to 0',
      'spec.ttlSecondsAfterFinished: Invalid value: -1: must be greater than or equal to 0',
    ],
  ],
  ['ends', {template: aTemplate()}, ['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"']],
  ['is counted when it is indexed', {completionMode: 'Indexed'}, []],
  [
    'of indexes has a number of them',
    {completionMode: 'Indexed', parallelism: 1},
    ['spec.completions: Required value: when completion mode is Indexed'],
  ],
  [
    'is of a known mode',
    {completionMode: 'Odd'},
    ['spec.completionMode: Unsupported value: "Odd": supported values: "NonIndexed", "Indexed"'],
  ],
  [
    'limits indexes when it has some',
    {backoffLimitPerIndex: 1},
    ['spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode'],
  ],
  [
    'limits failed indexes by their own limit',
    {...indexed, maxFailedIndexes: 1},
    ['spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified'],
  ],
  [
    'is managed by a known form of name',
    {managedBy: 'me'},
    ['spec.managedBy: Invalid value: "me": must be a domain-prefixed path (such as "acme.io/foo")'],
  ],
  [
    'does not select for itself',
    {selector: {matchLabels: {a: 'b'}}},
    [
      'spec.selector: Invalid value: {"matchLabels":{"a":"b","batch.plat.io/controller-uid":"UID"}}: `selector` not auto-generated',
      'spec.template.metadata.labels: Invalid value: LABELS: `selector` does not match template `labels`',
    ],
  ],
  [
    'does something when pods fail',
    {podFailurePolicy: {rules: [exit as never]}},
    ['spec.podFailurePolicy.rules[0].action: Required value: valid values: ["Count" "FailIndex" "FailJob" "Ignore"]'],
  ],
  [
    'fails indexes that are limited',
    {podFailurePolicy: {rules: [{action: 'FailIndex', ...exit}]}},
    ['spec.podFailurePolicy.rules[0].action: Invalid value: "FailIndex": requires the backoffLimitPerIndex to be set'],
  ],
  [
    'looks at codes in order',
    {podFailurePolicy: {rules: [{action: 'Ignore', onExitCodes: {operator: 'In', values: [2, 0, 2]}}]}},
    [
      'spec.podFailurePolicy.rules[0].onExitCodes.values[1]: Invalid value: 0: must not be 0 for the In operator',
      'spec.podFailurePolicy.rules[0].onExitCodes.values[2]: Duplicate value: 2',
      'spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: [2,0,2]: must be ordered',
    ],
  ],
  [
    'looks at codes',
    {podFailurePolicy: {rules: [{action: 'Ignore', onExitCodes: {operator: 'In'} as never}]}},
    ['spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: null: at least one value is required'],
  ],
  [
    'looks at something',
    {podFailurePolicy: {rules: [{action: 'Ignore'}]}},
    ['spec.podFailurePolicy.rules[0]: Invalid value: specifying one of OnExitCodes and OnPodConditions is required'],
  ],
  [
    'looks at its own containers',
    {podFailurePolicy: {rules: [{action: 'Ignore', onExitCodes: {containerName: 'x', operator: 'In', values: [1]}}]}},
    [
      'spec.podFailurePolicy.rules[0].onExitCodes.containerName: Invalid value: "x": must be one of the container or initContainer names in the pod template',
    ],
  ],
  [
    'replaces failed pods alone when it looks at them',
    {podReplacementPolicy: 'TerminatingOrFailed', podFailurePolicy: {rules: [{action: 'Ignore', ...exit}]}},
    ['spec.podReplacementPolicy: Unsupported value: "TerminatingOrFailed": supported values: "Failed"'],
  ],
  [
    'succeeds early by its indexes',
    {successPolicy: {rules: [{succeededCount: 1}]}},
    ['spec.successPolicy: Invalid value: {"Rules":[{"SucceededIndexes":null,"SucceededCount":1}]}: requires indexed completion mode'],
  ],
  [
    'succeeds early by indexes of which it has no number',
    {completionMode: 'Indexed', parallelism: 1, successPolicy: {rules: [{succeededIndexes: '0-1', succeededCount: 1}]}},
    [
      'spec.completions: Required value: when completion mode is Indexed',
      'spec.successPolicy.rules[0].succeededIndexes: Invalid value: "0-1": error parsing succeededIndexes: too large index: "0"',
      'spec.successPolicy.rules[0].succeededCount: Invalid value: 1: must be less than or equal to 0 (the number of specified completions)',
      'spec.successPolicy.rules[0].succeededCount: Invalid value: 1: must be less than or equal to 0 (the number of indexes in the specified succeededIndexes field)',
    ],
  ],
  [
    'succeeds early by indexes it has',
    {...indexed, successPolicy: {rules: [{succeededIndexes: '0,5'}, {succeededIndexes: '0-1', succeededCount: 3}, {}]}},
    [
      'spec.successPolicy.rules[0].succeededIndexes: Invalid value: "0,5": error parsing succeededIndexes: too large index: "5"',
      'spec.successPolicy.rules[1].succeededCount: Invalid value: 3: must be less than or equal to 2 (the number of indexes in the specified succeededIndexes field)',
      'spec.successPolicy.rules[2]: Required value: at least one of succeededCount or succeededIndexes must be specified',
    ],
  ],
];

for (const [title, spec, expected] of jobCases) {
  if (expected.length === 0) continue;
  test(`a job ${title}`, async t => {
    const {of} = await startEnvironment();
    const found = await problems(of(kinds.jobs).create(aJob(spec)));

    t.deepEqual(
      found.map(text => text.replace(/"[0-9a-f]{8}-[0-9a-f-]{27}"/g, '"UID"').replace(/(labels: Invalid value: )\{[^}]*\}/, '$1LABELS')),
      expected,
    );
  });
}

test('a job with indexes has a name that hosts can carry', async t => {
  const {of} = await startEnvironment();
  const name = 'x'.repeat(62);

  t.deepEqual(await problems(of(kinds.jobs).create(aJob(indexed, name))), [
    `metadata.name: Invalid value: "${name}": will not able to create pod with invalid DNS label: ${name}-2`,
  ]);
});

test('the template of a job is immutable, except the scheduling of one that never ran', async t => {
  const {of} = await startEnvironment();
  const jobs = of(kinds.jobs);
  const running = await jobs.create(aJob());
  const resting = await jobs.create(aJob({suspend: true}, 'r'));
  const moved = (job: Job): Job => ({
    ...job,
    spec: {...job.spec!, template: {...job.spec!.template, spec: {...job.spec!.template.spec!, nodeSelector: {a: 'b'}}}},
  });

  const {template: old} = resting.spec!;
  await t.notThrowsAsync(
    jobs.update({...resting, spec: {...resting.spec!, template: {...old, spec: {...old.spec!, affinity: {}}}}}, {dryRun: 'All'} as never),
  );
  await t.notThrowsAsync(jobs.update(moved(resting)));
  t.regex(
    (await problems(jobs.update(moved(running)))).join(),
    /^spec.template: Invalid value: \{"labels":\{"app":"a",.*"Spec":\{"Volumes":null,.*"NodeSelector":\{"a":"b"\},.*: field is immutable$/,
  );
  const policy = {rules: [{action: 'Count', onPodConditions: [{type: 'X', status: 'True'}]}]};
  t.deepEqual(
    await problems(jobs.update({...running, spec: {...running.spec!, podFailurePolicy: policy, podReplacementPolicy: 'Failed'}})),
    [
      'spec.podFailurePolicy: Invalid value: {"Rules":[{"Action":"Count","OnExitCodes":null,"OnPodConditions":[{"Type":"X","Status":"True"}]}]}: field is immutable',
    ],
  );
  t.deepEqual(await problems(jobs.update({...running, spec: {...running.spec!, completions: 2}})), [
    'spec.completions: Invalid value: 2: field is immutable',
  ]);
});

const rested = {conditions: [{type: 'Suspended', status: 'True'}], startTime: '2026-01-01T00:00:00Z'};

const restCases: [title: string, gates: string[], status: Job['status'], change: 'place' | 'size', expected: RegExp | undefined][] = [
  ['that ran once stays where it was', [], rested, 'place', /^spec.template: Invalid value: .*: field is immutable$/],
  ['that rests may go elsewhere', ['MutableSchedulingDirectivesForSuspendedJobs'], rested, 'place', undefined],
  [
    'that still has pods stays where it is',
    ['MutableSchedulingDirectivesForSuspendedJobs'],
    {...rested, active: 1},
    'place',
    /^spec.template: Invalid value: /,
  ],
  [
    'without the condition Suspended stays where it is',
    ['MutableSchedulingDirectivesForSuspendedJobs'],
    {},
    'place',
    /^spec.template: Invalid value: /,
  ],
  ['that rests keeps its size', [], rested, 'size', /^spec.template: Invalid value: /],
  ['that rests may have another size', ['MutablePodResourcesForSuspendedJobs'], rested, 'size', undefined],
  [
    'that rests and may have another size stays where it was',
    ['MutablePodResourcesForSuspendedJobs'],
    rested,
    'place',
    /^spec.template.spec: Invalid value: /,
  ],
];

for (const [title, gates, status, change, expected] of restCases) {
  test(`a job ${title}, with ${gates.join() || 'no gate'}`, async t => {
    const {of} = await startEnvironment({gate: name => gates.includes(name)});
    const jobs = of(kinds.jobs);
    const made = await jobs.create(aJob({suspend: true}));
    const reported = await jobs.update({...made, ...(status ? {status} : {})}, {subresource: 'status'});
    const spec = reported.spec!.template.spec!;
    const changed =
      change === 'place'
        ? {...spec, nodeSelector: {a: 'b'}}
        : {...spec, containers: spec.containers.map(one => ({...one, resources: {limits: {cpu: '1'}}}))};
    const found = await findings(
      jobs.update({...reported, spec: {...reported.spec!, template: {...reported.spec!.template, spec: changed}}}),
    );

    if (expected) t.regex(found.join(), expected);
    else t.deepEqual(found, []);
  });
}

test('a resumed job starts again', async t => {
  const {of} = await startEnvironment();
  const jobs = of(kinds.jobs);
  const resting = await jobs.update({...(await jobs.create(aJob())), status: rested}, {subresource: 'status'});
  const begun = (conditions: NonNullable<Job['status']>['conditions']) =>
    jobs.update({...resting, status: {startTime: '2026-01-02T00:00:00Z', ...(conditions ? {conditions} : {})}}, {subresource: 'status'});

  t.deepEqual(await findings(begun(rested.conditions)), [
    'status.startTime: Required value: startTime cannot be removed for unsuspended job',
  ]);
  t.deepEqual(await findings(begun([{type: 'Suspended', status: 'False'}])), []);
});

test('deleting a job without a propagation policy is warned of', async t => {
  const env = await startEnvironment();
  const deleted = async (options: object) => {
    await env.of(kinds.jobs).create(aJob());
    return warningsOf(env, client => client.resource(kinds.jobs).delete('j', {namespace, ...options}));
  };

  t.deepEqual(await deleted({propagationPolicy: 'Background'}), []);
  t.deepEqual(await deleted({}), [
    'child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning',
  ]);
});

test('a job that took its labels from its pods has all of theirs, one with labels of its own keeps to those', async t => {
  const {of} = await startEnvironment();
  const make = (name: string, labels?: Record<string, string>) =>
    of(kinds.jobs).create({
      metadata: {name, namespace, ...(labels ? {labels} : {})},
      spec: {template: {metadata: {labels: {a: 'b'}}, spec: {restartPolicy: 'Never', containers: [{name: 'c', image: 'i'}]}}},
    });
  const like = await make('like');
  const own = await make('own', {a: 'b'});

  t.deepEqual(like.metadata?.labels, like.spec?.template.metadata?.labels);
  t.is(like.metadata?.labels?.['job-name'], 'like');
  t.deepEqual(own.metadata?.labels, {a: 'b'});
});
