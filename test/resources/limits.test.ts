import test from 'ava';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import {problems, refusal, startEnvironment} from './environment.js';

const namespace = 'default';

type Limit = NonNullable<ObjectOf<typeof kinds.limitRanges>['spec']>['limits'][number];
type Quota = ObjectOf<typeof kinds.resourceQuotas>;

test('limits of containers follow from one another, and need no name', async t => {
  const {of} = await startEnvironment();
  const made = await of(kinds.limitRanges).create({
    metadata: {namespace},
    spec: {limits: [{type: 'Container', max: {cpu: '2'}, min: {memory: '1Mi'}}]},
  });

  t.regex(made.metadata?.name ?? '', /^[0-9a-f-]{36}$/);
  t.deepEqual(made.spec?.limits[0], {
    type: 'Container',
    max: {cpu: '2'},
    min: {memory: '1Mi'},
    default: {cpu: '2'},
    defaultRequest: {cpu: '2', memory: '1Mi'},
  });
});

const limitCases: [title: string, limit: Limit, expected: string[]][] = [
  ['are of a known type', {type: 'Odd'}, ['spec.limits[0].type: Invalid value: "Odd": must be a standard limit type or fully qualified']],
  [
    'of pods have no defaults',
    {type: 'Pod', default: {cpu: '1'}},
    ["spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'"],
  ],
  [
    'leave room',
    {type: 'Pod', min: {cpu: '2'}, max: {cpu: '1'}},
    ['spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1'],
  ],
  [
    'of claims have quantities',
    {type: 'PersistentVolumeClaim'},
    ['spec.limits[0].limits: Required value: either minimum or maximum storage value is required, but neither was provided'],
  ],
  [
    'have a ratio of at least one',
    {type: 'Pod', maxLimitRequestRatio: {cpu: '500m'}},
    ['spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "500m": ratio 500m is less than 1'],
  ],
];

for (const [title, limit, expected] of limitCases) {
  test(`limits ${title}`, async t => {
    const {of} = await startEnvironment();

    t.deepEqual(await problems(of(kinds.limitRanges).create({metadata: {name: 'l', namespace}, spec: {limits: [limit]}})), expected);
  });
}

const quotaCases: [title: string, spec: Quota['spec'], expected: string[]][] = [
  [
    'counts known resources',
    {hard: {odd: '1', storage: '1'}},
    [
      'spec.hard[odd]: Invalid value: "odd": must be a standard resource type or fully qualified',
      'spec.hard[odd]: Invalid value: "odd": must be a standard resource for quota',
      'spec.hard[storage]: Invalid value: "storage": must be a standard resource for quota',
    ],
  ],
  [
    'counts in wholes',
    {hard: {pods: '1500m', cpu: '-1'}},
    [
      'spec.hard[pods]: Invalid value: "1500m": must be an integer',
      'spec.hard[cpu]: Invalid value: "-1": must be greater than or equal to 0',
    ],
  ],
  ['has known scopes', {scopes: ['Odd']}, ['spec.scopes: Invalid value: ["Odd"]: unsupported scope']],
  [
    'has scopes that fit',
    {scopes: ['BestEffort', 'NotBestEffort'], hard: {cpu: '1'}},
    [
      'spec.scopes: Invalid value: ["BestEffort","NotBestEffort"]: unsupported scope applied to resource',
      'spec.scopes: Invalid value: ["BestEffort","NotBestEffort"]: conflicting scopes',
    ],
  ],
  [
    'selects with values',
    {scopeSelector: {matchExpressions: [{scopeName: 'PriorityClass', operator: 'In'}]}},
    [
      "spec.scopeSelector.matchExpressions.values: Required value: must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
    ],
  ],
];

for (const [title, spec, expected] of quotaCases) {
  test(`a quota ${title}`, async t => {
    const {of} = await startEnvironment();

    t.deepEqual(await problems(of(kinds.resourceQuotas).create({metadata: {name: 'q', namespace}, spec: spec!})), expected);
  });
}

test('the table of quotas shows requests and limits apart', async t => {
  const {row} = await startEnvironment();

  t.deepEqual(
    await row(kinds.resourceQuotas, {metadata: {name: 'q'}, status: {hard: {pods: '4', 'limits.cpu': '2', cpu: '1'}, used: {pods: '1'}}}),
    {
      Name: 'q',
      Request: 'cpu: 0/1, pods: 1/4',
      Limit: 'limits.cpu: 0/2',
      Age: '<unknown>',
    },
  );
});

test("high priorities are the system's, and a priority stays", async t => {
  const {of} = await startEnvironment();
  const classes = of(kinds.priorityClasses);
  const made = await classes.create({metadata: {name: 'p'}, value: 10});

  t.is(made.preemptionPolicy, 'PreemptLowerPriority');
  t.deepEqual(await problems(classes.update({...made, value: 11})), ['value: Forbidden: may not be changed in an update.']);
  t.deepEqual(await problems(classes.create({metadata: {name: 'q'}, value: 1_000_000_001})), [
    'value: Forbidden: maximum allowed value of a user defined priority is 1000000000',
  ]);
  t.deepEqual(await problems(classes.create({metadata: {name: 'system-x'}, value: 1})), [
    "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: system-x is not a known system priority class",
  ]);
});

test('the system priority classes cannot be deleted', async t => {
  const {of} = await startEnvironment();
  await of(kinds.priorityClasses).create({metadata: {name: 'system-node-critical'}, value: 2_000_001_000});

  t.like(await refusal(of(kinds.priorityClasses).delete('system-node-critical')), {
    code: 403,
    message:
      'priorityclasses.scheduling.plat.io "system-node-critical" is forbidden: this is a system priority class and cannot be deleted',
  });
});

test('a runtime class keeps its handler', async t => {
  const {of} = await startEnvironment();
  const made = await of(kinds.runtimeClasses).create({metadata: {name: 'r'}, handler: 'a', overhead: {podFixed: {cpu: '1'}}});

  t.deepEqual(await problems(of(kinds.runtimeClasses).update({...made, handler: 'b'})), [
    'handler: Invalid value: "b": field is immutable',
  ]);
  t.deepEqual(await problems(of(kinds.runtimeClasses).create({metadata: {name: 's'}, handler: 'a', overhead: {podFixed: {odd: '1'}}})), [
    'overhead.limits[odd]: Invalid value: "odd": must be a standard resource type or fully qualified',
    'overhead.limits[odd]: Invalid value: "odd": must be a standard resource for containers',
  ]);
});

test('the emulation version of a candidate is not newer than its binary version', async t => {
  const {of} = await startEnvironment();
  const spec = {leaseName: 'l', binaryVersion: '1.34.0', emulationVersion: '1.35.0', strategy: 'OldestEmulationVersion'};

  t.deepEqual(await problems(of(kinds.leaseCandidates).create({metadata: {name: 'c', namespace}, spec})), [
    'spec.binaryVersion: Invalid value: "1.34.0": must be greater than or equal to `emulationVersion`',
  ]);
});

test('a workload has groups with one policy each', async t => {
  const {of} = await startEnvironment({gate: name => name === 'GenericWorkload'});

  t.deepEqual(
    await problems(
      of(kinds.workloads).create({
        metadata: {name: 'w', namespace},
        spec: {
          podGroups: [
            {name: 'a', policy: {}},
            {name: 'b', policy: {gang: {minCount: 0}}},
          ],
        },
      }),
    ),
    [
      'spec.podGroups[0].policy: Required value: exactly one of `basic`, `gang` is required',
      'spec.podGroups[1].policy.gang.minCount: Invalid value: 0: must be greater than zero',
    ],
  );
});

test('component statuses are computed on request, and never written', async t => {
  const {of, row, clientOf} = await startEnvironment();
  const {items} = await of(kinds.componentStatuses).list();
  t.deepEqual(
    items.map(({metadata, conditions}) => [metadata?.name, conditions?.[0]?.status]),
    [
      ['scheduler', 'False'],
      ['store-0', 'True'],
    ],
  );

  t.deepEqual(await row(kinds.componentStatuses, await of(kinds.componentStatuses).get('scheduler')), {
    Name: 'scheduler',
    Status: 'Unhealthy',
    Message: 'gone',
    Error: '',
  });
  t.is((await refusal(of(kinds.componentStatuses).get('none'))).message, 'componentstatus "none" not found');
  t.is((await refusal(clientOf().request('DELETE', '/api/v1/componentstatuses/scheduler'))).code, 405);
});
