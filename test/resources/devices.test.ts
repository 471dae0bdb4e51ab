import test from 'ava';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import {problems, startEnvironment} from './environment.js';

type Claim = ObjectOf<typeof kinds.resourceClaims>;
type Request = NonNullable<NonNullable<Claim['spec']['devices']>['requests']>[number];
type Result = NonNullable<NonNullable<NonNullable<NonNullable<Claim['status']>['allocation']>['devices']>['results']>[number];
type Slice = ObjectOf<typeof kinds.resourceSlices>;

const namespace = 'default';
/** Gates as they are unless set. */
const gate = (name: string): boolean => ['DRAPrioritizedList', 'DRAAdminAccess', 'DRAResourceClaimDeviceStatus'].includes(name);
const older = {gate, runtimeConfig: new Map([['api/all', 'true']])};
const exactly = {deviceClassName: 'gpus'};

const aClaim = (...requests: Request[]): Claim => ({
  metadata: {name: 'c', namespace},
  spec: {devices: {requests: requests.length > 0 ? requests : [{name: 'r', exactly}]}},
});
const aSlice = (spec: object = {}): Slice =>
  ({
    metadata: {name: 's'},
    spec: {driver: 'example.com', pool: {name: 'p', generation: 1, resourceSliceCount: 1}, nodeName: 'n', ...spec},
  }) as Slice;
const aRule = (taint: object = {}, deviceSelector: object = {}): KubeObject & {spec: object} => ({
  metadata: {name: 'rule'},
  spec: {deviceSelector, taint: {key: 'a', effect: 'NoSchedule', ...taint}},
});

test('a claim requests one device by default', async t => {
  const {of} = await startEnvironment({gate});
  const made = await of(kinds.resourceClaims).create(
    aClaim(
      {name: 'a', exactly},
      {name: 'b', firstAvailable: [{name: 'x', ...exactly}]},
      {name: 'c', exactly: {...exactly, allocationMode: 'All'}},
    ),
  );

  t.deepEqual(made.spec.devices?.requests, [
    {name: 'a', exactly: {...exactly, allocationMode: 'ExactCount', count: 1}},
    {name: 'b', firstAvailable: [{name: 'x', ...exactly, allocationMode: 'ExactCount', count: 1}]},
    {name: 'c', exactly: {...exactly, allocationMode: 'All'}},
  ]);
  t.deepEqual(made.status, {});
});

const path = 'spec.devices.requests[0]';
const reference = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";
const claims: [title: string, spec: Claim['spec'], expected: string[]][] = [
  ['is complete', aClaim().spec, []],
  [
    'requests nothing',
    {devices: {requests: [{name: 'r'}]}},
    [`${path}: Required value: exactly one of \`exactly\` or \`firstAvailable\` is required`],
  ],
  [
    'requests in two ways',
    {devices: {requests: [{name: 'r', exactly, firstAvailable: [{name: 'x', ...exactly}]}]}},
    [`${path}: Invalid value: null: exactly one of \`exactly\` or \`firstAvailable\` is required, but multiple fields are set`],
  ],
  [
    'names no class',
    {devices: {requests: [{name: 'r', exactly: {deviceClassName: ''}}]}},
    [`${path}.exactly.deviceClassName: Required value`],
  ],
  ['has a request twice', aClaim({name: 'r', exactly}, {name: 'r', exactly}).spec, ['spec.devices.requests[1]: Duplicate value: "r"']],
  [
    'counts what is all',
    {devices: {requests: [{name: 'r', exactly: {...exactly, allocationMode: 'All', count: 2}}]}},
    [`${path}.exactly.count: Invalid value: 2: must not be specified when allocationMode is 'All'`],
  ],
  [
    'counts in an unknown way',
    {devices: {requests: [{name: 'r', exactly: {...exactly, allocationMode: 'Odd'}}]}},
    [`${path}.exactly.allocationMode: Unsupported value: "Odd": supported values: "All", "ExactCount"`],
  ],
  [
    'has a selector without content',
    {devices: {requests: [{name: 'r', exactly: {...exactly, selectors: [{}]}}]}},
    [`${path}.exactly.selectors[0].cel: Required value`],
  ],
  [
    'constrains what it does not ask for',
    {devices: {...aClaim().spec.devices, constraints: [{requests: ['o'], matchAttribute: 'example.com/model'}]}},
    [`spec.devices.constraints[0].requests[0]: Invalid value: "o": ${reference}`],
  ],
  [
    'constrains by nothing',
    {devices: {...aClaim().spec.devices, constraints: [{}]}},
    ['spec.devices.constraints[0].matchAttribute: Required value'],
  ],
  [
    'constrains by half a name',
    {devices: {...aClaim().spec.devices, constraints: [{matchAttribute: 'model'}]}},
    [
      'spec.devices.constraints[0].matchAttribute: Invalid value: "model": a fully qualified name must be a domain and a name separated by a slash',
    ],
  ],
  ['configures nothing', {devices: {...aClaim().spec.devices, config: [{}]}}, ['spec.devices.config[0].opaque: Required value']],
];

for (const [title, spec, expected] of claims) {
  test(`a claim that ${title} is ${expected.length > 0 ? 'refused' : 'taken'}`, async t => {
    const {of} = await startEnvironment({gate});
    const made = of(kinds.resourceClaims).create({metadata: {name: 'c', namespace}, spec});

    if (expected.length === 0) await t.notThrowsAsync(made);
    else t.deepEqual(await problems(made), expected);
  });
}

test('the spec of a claim and of a template is immutable', async t => {
  const {of} = await startEnvironment({gate});
  const made = await of(kinds.resourceClaims).create(aClaim());
  const template = await of(kinds.resourceClaimTemplates).create({metadata: {name: 't', namespace}, spec: {spec: aClaim().spec}});
  const changed = aClaim({name: 'other', exactly}).spec;

  t.regex(
    (await problems(of(kinds.resourceClaims).update({...made, spec: changed}))).join(),
    /^spec: Invalid value: .*: field is immutable$/,
  );
  t.regex(
    (await problems(of(kinds.resourceClaimTemplates).update({...template, spec: {spec: changed}}))).join(),
    /^spec: Invalid value: .*: field is immutable$/,
  );
});

test('a template gives claims labels and annotations only', async t => {
  const {of} = await startEnvironment({gate});

  t.deepEqual(
    await problems(
      of(kinds.resourceClaimTemplates).create({metadata: {name: 't', namespace}, spec: {metadata: {name: 'x'}, spec: aClaim().spec}}),
    ),
    ['spec.metadata.name: Forbidden: cannot be set'],
  );
});

test('admin access is for namespaces that are marked for it', async t => {
  const {of} = await startEnvironment({gate});
  const claim = aClaim({name: 'r', exactly: {...exactly, adminAccess: true}});
  t.deepEqual(await problems(of(kinds.resourceClaims).create(claim)), [
    'spec.devices.requests[0].adminAccess: Forbidden: admin access to devices requires the `resource.plat.io/admin-access: true` label on the containing namespace',
  ]);

  await of(kinds.namespaces).create({metadata: {name: 'admins', labels: {'resource.plat.io/admin-access': 'true'}}});
  t.true(
    (await of(kinds.resourceClaims).create({...claim, metadata: {name: 'c', namespace: 'admins'}})).spec.devices?.requests?.[0]?.exactly
      ?.adminAccess,
  );
});

test('an allocation is made whole, reserved, kept, and shown', async t => {
  const {of, row} = await startEnvironment({gate});
  const claims = of(kinds.resourceClaims);
  const made = await claims.create(aClaim());
  t.is((await row(kinds.resourceClaims, made))['State'], 'pending');
  const write = (status: Claim['status'], now: Claim = made) => {
    const metadata = {...now.metadata};
    delete metadata.resourceVersion;
    return claims.update({...now, metadata, status: status!}, {subresource: 'status'});
  };
  const result: Result = {request: 'r', driver: 'example.com', pool: 'p', device: 'd'};
  const consumer = {resource: 'pods', name: 'p', uid: 'u'};

  t.deepEqual(await problems(write({reservedFor: [consumer]})), [
    'status.reservedFor: Forbidden: may not be specified when `allocated` is not set',
  ]);
  t.deepEqual(await problems(write({allocation: {devices: {results: [{...result, request: 'o'}]}}})), [
    `status.allocation.devices.results[0].request: Invalid value: "o": ${reference}`,
  ]);
  t.deepEqual(await problems(write({devices: [{driver: 'example.com', pool: 'p', device: 'd'}]})), [
    'status.devices[0]: Invalid value: {"Driver":"example.com","Pool":"p","Device":"d","ShareID":""}: must be an allocated device in the claim',
  ]);

  const allocated = await write({
    allocation: {devices: {results: [{...result, tolerations: [{key: 'k', value: 'v'}]}]}},
    reservedFor: [consumer],
    devices: [{driver: 'example.com', pool: 'p', device: 'd'}],
  });
  t.deepEqual(allocated.status?.allocation?.devices?.results?.[0]?.tolerations, [{key: 'k', operator: 'Equal', value: 'v'}]);
  t.is((await row(kinds.resourceClaims, allocated))['State'], 'allocated,reserved');
  t.regex(
    (await problems(write({allocation: {devices: {results: [{...result, device: 'e'}]}}}, allocated))).join(),
    /^status.allocation: Invalid value: .*: field is immutable$/,
  );
  t.deepEqual((await write({devices: allocated.status!.devices!}, allocated)).status, {});
});

test('the older version has requests flat and devices within', async t => {
  const {of} = await startEnvironment(older);
  await of(kinds.resourceClaimsV1beta1).create({
    metadata: {name: 'c', namespace},
    spec: {
      devices: {
        requests: [
          {name: 'a', deviceClassName: 'gpus'},
          {name: 'b', firstAvailable: [{name: 'x', deviceClassName: 'gpus'}]},
        ],
      },
    },
  });
  await of(kinds.resourceSlices).create(aSlice({devices: [{name: 'd', attributes: {model: {string: 'x'}}}]}));

  t.deepEqual((await of(kinds.resourceClaims).get('c', {namespace})).spec.devices?.requests?.[0], {
    name: 'a',
    exactly: {...exactly, allocationMode: 'ExactCount', count: 1},
  });
  t.deepEqual((await of(kinds.resourceClaimsV1beta1).get('c', {namespace})).spec.devices?.requests?.[0], {
    name: 'a',
    deviceClassName: 'gpus',
    allocationMode: 'ExactCount',
    count: 1,
  });
  t.deepEqual((await of(kinds.resourceSlicesV1beta1).get('s')).spec.devices as unknown, [
    {name: 'd', basic: {attributes: {model: {string: 'x'}}}},
  ]);
  t.deepEqual((await of(kinds.resourceSlicesV1beta2).get('s')).spec.devices as unknown, [{name: 'd', attributes: {model: {string: 'x'}}}]);
});

test('the generation of a slice counts spec changes, even of fields whose gate is off', async t => {
  const {of} = await startEnvironment({gate: name => name !== 'DRADeviceTaints'});
  const made = await of(kinds.resourceSlices).create(aSlice({devices: [{name: 'd'}]}));
  const changed = await of(kinds.resourceSlices).update({
    ...made,
    spec: {...made.spec, devices: [{name: 'd', taints: [{key: 'a', effect: 'NoExecute'}]}]},
  } as Slice);

  t.deepEqual([changed.spec.devices as unknown, changed.metadata?.generation], [[{name: 'd'}], 2]);
});

const place = 'exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required';
const slices: [title: string, spec: object, expected: string[]][] = [
  ['is complete', {devices: [{name: 'd', attributes: {'example.com/v': {version: '1.2.3-a+b'}}, capacity: {memory: {value: '1'}}}]}, []],
  ['names no driver', {driver: ''}, ['spec.driver: Required value']],
  ['is nowhere', {nodeName: undefined}, [`spec: Required value: ${place}`]],
  ['is at two places', {allNodes: true}, [`spec: Invalid value: "{\`nodeName\`, \`allNodes\`}": ${place}, but multiple fields are set`]],
  [
    'counts no slices',
    {pool: {name: 'p', generation: -1, resourceSliceCount: 0}},
    [
      'spec.pool.resourceSliceCount: Invalid value: 0: must be greater than zero',
      'spec.pool.generation: Invalid value: -1: must be greater than or equal to zero',
    ],
  ],
  ['has a device twice', {devices: [{name: 'd'}, {name: 'd'}]}, ['spec.devices[1]: Duplicate value: "d"']],
  [
    'has too many devices',
    {devices: Array.from({length: 129}, (_, i) => ({name: `d${i}`}))},
    ['spec.devices: Too many: 129: must have at most 128 items'],
  ],
  [
    'has an attribute of two kinds',
    {devices: [{name: 'd', attributes: {a: {int: 1, bool: true}}}]},
    [
      'spec.devices[0].attributes[a]: Invalid value: {"IntValue":1,"BoolValue":true,"StringValue":null,"VersionValue":null}: exactly one value must be specified',
    ],
  ],
  [
    'has a version that is none',
    {devices: [{name: 'd', attributes: {a: {version: '1'}}}]},
    ['spec.devices[0].attributes[a].version: Invalid value: "1": must be a string compatible with semver.org spec 2.0.0'],
  ],
  [
    'places a device on its own',
    {devices: [{name: 'd', nodeName: 'n'}]},
    [
      'spec.devices[0]: Invalid value: null: `nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec',
    ],
  ],
  [
    'shares what is not to be shared',
    {devices: [{name: 'd', capacity: {m: {value: '4', requestPolicy: {default: '1', validValues: ['1']}}}}]},
    ['spec.devices[0].capacity[m].requestPolicy: Forbidden: allowMultipleAllocations must be true'],
  ],
  [
    'shares in odd steps',
    {
      devices: [
        {
          name: 'd',
          allowMultipleAllocations: true,
          capacity: {m: {value: '9', requestPolicy: {default: '4', validRange: {min: '1', step: '2'}}}},
        },
      ],
    },
    ['spec.devices[0].capacity[m].requestPolicy.validRange.step: Invalid value: "4": value is not a multiple of a given step (2) from (1)'],
  ],
  [
    'binds without end',
    {devices: [{name: 'd', bindingConditions: ['ready']}]},
    ['spec.devices[0].bindingFailureConditions: Invalid value: null: bindingFailureConditions are required to use bindingConditions'],
  ],
];

for (const [title, spec, expected] of slices) {
  test(`a slice that ${title} is ${expected.length > 0 ? 'refused' : 'taken'}`, async t => {
    const {of} = await startEnvironment({gate: () => true});
    const made = of(kinds.resourceSlices).create(aSlice(spec));

    if (expected.length === 0) await t.notThrowsAsync(made);
    else
      t.deepEqual(
        (await problems(made)).filter(problem => !problem.includes('RFC 1123')),
        expected,
      );
  });
}

test('slices are found by driver and node, count their changes, and belong where they began', async t => {
  const {of, row} = await startEnvironment({gate});
  const made = await of(kinds.resourceSlices).create(aSlice({devices: [{name: 'd', taints: [{key: 'a', effect: 'NoSchedule'}]}]}));
  t.deepEqual(made.spec.devices, [{name: 'd'}] as never);
  t.like(await row(kinds.resourceSlices, made), {Name: 's', Node: 'n', Driver: 'example.com', Pool: 'p'});
  t.is((await of(kinds.resourceSlices).list({fieldSelector: 'spec.nodeName=n,spec.driver=example.com'})).items.length, 1);
  t.is((await of(kinds.resourceSlices).list({fieldSelector: 'spec.nodeName=m'})).items.length, 0);

  t.is(
    (await of(kinds.resourceSlices).update({...made, spec: {...made.spec, pool: {...made.spec.pool, generation: 2}}})).metadata?.generation,
    2,
  );
  t.deepEqual(await problems(of(kinds.resourceSlices).update(aSlice({nodeName: 'm'}))), [
    'spec.nodeName: Invalid value: "m": field is immutable',
  ]);
});

test('a class is a name, selectors and configurations', async t => {
  const {of} = await startEnvironment({gate});

  t.deepEqual((await of(kinds.deviceClasses).create({metadata: {name: 'a'}, spec: {}})).spec, {});
  t.deepEqual(
    await problems(
      of(kinds.deviceClasses).create({
        metadata: {name: 'b'},
        spec: {selectors: [{}], config: [{opaque: {driver: 'example.com', parameters: []}}]},
      }),
    ),
    [
      'spec.selectors[0].cel: Required value',
      'spec.config[0].opaque.parameters: Invalid value: "<value omitted>": must be a valid JSON object',
    ],
  );
});

test('a taint counts from when its effect was chosen', async t => {
  const {of, clock} = await startEnvironment(older);
  const rules = of<KubeObject & {spec: object}>(kinds.deviceTaintRules as never);
  const made = await rules.create(aRule());
  t.like(made.spec, {taint: {timeAdded: '2026-01-01T00:00:00Z'}});

  await clock.advance(60_000);
  t.like((await rules.update({...made, spec: {taint: {...(made.spec as {taint: object}).taint, effect: 'NoExecute'}}})).spec, {
    taint: {timeAdded: '2026-01-01T00:01:00Z'},
  });
  t.deepEqual(
    await problems(rules.create(aRule({effect: 'Odd'}, {driver: 'example.com', device: 'd_'}))).then(all =>
      all.filter(one => !one.includes('RFC 1123')),
    ),
    ['spec.taint.effect: Unsupported value: "Odd": supported values: "NoExecute", "NoSchedule", "None"'],
  );
});
