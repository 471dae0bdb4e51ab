import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {ClusterRole, CoreEvent, EventsEvent, KubeObject, Lease, Node, RoleBinding} from '#src/api/types.js';
import {jane, problems, refusal, startEnvironment, words} from './environment.js';

const now = '2026-01-01T00:00:00.000000Z';
const namespace = 'default';

const anEvent = (more: Partial<CoreEvent> = {}): CoreEvent => ({
  metadata: {name: 'e', namespace},
  involvedObject: {kind: 'Pod', name: 'p', namespace},
  reason: 'Started',
  message: ' it runs ',
  type: 'Normal',
  source: {component: 'agent', host: 'one'},
  firstTimestamp: '2025-12-31T23:50:00Z',
  lastTimestamp: '2025-12-31T23:59:00Z',
  count: 3,
  ...more,
});

const aNewEvent = (more: Partial<EventsEvent> = {}): EventsEvent => ({
  metadata: {name: 'e', namespace},
  regarding: {kind: 'Pod', name: 'p', namespace},
  reason: 'Started',
  note: 'it runs',
  type: 'Normal',
  eventTime: now,
  action: 'Start',
  reportingController: 'example.com/agent',
  reportingInstance: 'one',
  ...more,
});

test('an event written through one group is read through the other', async t => {
  const {of} = await startEnvironment();
  await of(kinds.coreEvents).create(anEvent());
  const seen = await of(kinds.events).get('e', {namespace});

  t.like(seen, {
    apiVersion: 'events.plat.io/v1',
    regarding: {kind: 'Pod', name: 'p'},
    note: ' it runs ',
    deprecatedSource: {component: 'agent', host: 'one'},
    deprecatedCount: 3,
    deprecatedFirstTimestamp: '2025-12-31T23:50:00Z',
  });
  t.false('reportingController' in seen);

  await of(kinds.events).create(aNewEvent({metadata: {name: 'new', namespace}}));
  t.like(await of(kinds.coreEvents).get('new', {namespace}), {
    message: 'it runs',
    reportingComponent: 'example.com/agent',
    source: {},
    firstTimestamp: null,
  });
});

const strict: [title: string, event: Partial<EventsEvent>, expected: string[]][] = [
  ['is complete', {}, []],
  ['has a time', {eventTime: undefined as never}, ['eventTime: Required value']],
  ['is of a known type', {type: 'Odd'}, ['type: Invalid value: "": has invalid value: Odd']],
  ['counts nothing in the old manner', {deprecatedCount: 1}, ['count: Invalid value: "": needs to be unset']],
  ['is a series from two on', {series: {count: 1, lastObservedTime: now}}, ['series.count: Invalid value: "": should be at least 2']],
  [
    'names its reporter',
    {reportingController: ''},
    [
      'reportingController: Required value',
      'reportingController: Invalid value: "": name part must be non-empty',
      "reportingController: Invalid value: \"\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
    ],
  ],
  ['has a short note', {note: 'x'.repeat(1025)}, ['message: Invalid value: "": can have at most 1024 characters']],
];

for (const [title, event, expected] of strict) {
  test(`an event of the newer group ${title}`, async t => {
    const {of} = await startEnvironment();
    const act = of(kinds.events).create(aNewEvent(event));

    if (expected.length > 0) t.deepEqual(await problems(act), expected);
    else await t.notThrowsAsync(act);
  });
}

test('an event of the newer group changes in its series alone', async t => {
  const {of} = await startEnvironment();
  const made = await of(kinds.events).create(aNewEvent());

  await t.notThrowsAsync(of(kinds.events).update({...made, series: {count: 2, lastObservedTime: now}}));
  t.deepEqual(await problems(of(kinds.events).update({...made, metadata: {name: 'e', namespace}, note: 'other'})), [
    'message: Invalid value: "other": field is immutable',
  ]);
  t.deepEqual(await problems(of(kinds.events).update({...made, metadata: {name: 'e', namespace}, note: ''})), [
    'message: Invalid value: "": field is immutable',
  ]);
  await t.notThrowsAsync(of(kinds.coreEvents).update(anEvent({message: 'other'})));
});

test('an event is in the namespace of the object it regards', async t => {
  const {of} = await startEnvironment();

  t.deepEqual(await problems(of(kinds.coreEvents).create(anEvent({involvedObject: {namespace: 'elsewhere'}}))), [
    'involvedObject.namespace: Invalid value: "elsewhere": does not match event.namespace',
  ]);
  await t.notThrowsAsync(of(kinds.coreEvents).create(anEvent({involvedObject: {kind: 'Node', name: 'n'}})));
});

test('events are selected by the names of their version', async t => {
  const {of} = await startEnvironment();
  await of(kinds.coreEvents).create(anEvent());
  const found = async (kind: typeof kinds.coreEvents | typeof kinds.events, fieldSelector: string) =>
    (await of(kind as typeof kinds.events).list({namespace, fieldSelector})).items.length;

  t.is(await found(kinds.coreEvents, 'involvedObject.name=p,source=agent'), 1);
  t.is(await found(kinds.events, 'regarding.name=p,reportingController='), 1);
  t.is((await refusal(found(kinds.events, 'involvedObject.name=p'))).code, 400);
});

test('the table of events shows both manners of counting', async t => {
  const {row} = await startEnvironment();

  t.deepEqual(await row(kinds.coreEvents, anEvent()), {
    'Last Seen': '60s',
    Type: 'Normal',
    Reason: 'Started',
    Object: 'pod/p',
    Subobject: '',
    Source: 'agent, one',
    Message: 'it runs',
    'First Seen': '10m',
    Count: 3,
    Name: 'e',
  });
  const series = anEvent({
    source: {},
    firstTimestamp: null as never,
    lastTimestamp: null as never,
    count: 0,
    eventTime: '2025-12-31T23:50:00.000000Z',
    reportingComponent: 'x',
    series: {count: 9, lastObservedTime: '2025-12-31T23:59:30.000000Z'},
  });
  t.like(await row(kinds.coreEvents, series), {'Last Seen': '30s', 'First Seen': '10m', Count: 9, Source: 'x'});
});

const leaseCases: [title: string, spec: Lease['spec'], expected: string[]][] = [
  ['lasts some time', {leaseDurationSeconds: 0}, ['spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0']],
  ['has not gone back', {leaseTransitions: -1}, ['spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0']],
  [
    'may be chosen for by a known strategy',
    {strategy: 'Odd'},
    ['spec.strategy.strategy: Unsupported value: "Odd": supported values: "OldestEmulationVersion"'],
  ],
  [
    'prefers a holder by a strategy',
    {preferredHolder: 'me'},
    ['spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined'],
  ],
];

for (const [title, spec, expected] of leaseCases) {
  test(`a lease ${title}`, async t => {
    const {of} = await startEnvironment({gate: () => true});

    t.deepEqual(await problems(of(kinds.leases).create({metadata: {name: 'l', namespace}, ...(spec ? {spec} : {})})), expected);
  });
}

test('a lease knows no strategy while the gate is off', async t => {
  const {of} = await startEnvironment();

  t.deepEqual(
    (
      await of(kinds.leases).create({
        metadata: {name: 'l', namespace},
        spec: {holderIdentity: 'me', strategy: 'Odd', preferredHolder: 'you'},
      })
    ).spec,
    {holderIdentity: 'me'},
  );
});

test('a lease is made by an update, and updated with its version only', async t => {
  const {of} = await startEnvironment();
  const made = await of(kinds.leases).update({metadata: {name: 'l', namespace}});
  const {resourceVersion: _, ...metadata} = made.metadata!;

  t.is(
    (await refusal(of(kinds.leases).update({metadata}))).message,
    'leases.coordination.plat.io "l" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update',
  );
});

const nodeCases: [title: string, node: Partial<Node>, expected: string[]][] = [
  [
    'effects are known',
    {spec: {taints: [{key: 'a', effect: 'No'}]}},
    ['metadata.taints[0].effect: Unsupported value: "No": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"'],
  ],
  [
    'a key has one taint an effect',
    {
      spec: {
        taints: [
          {key: 'a', effect: 'NoSchedule'},
          {key: 'a', effect: 'NoSchedule', value: 'b'},
        ],
      },
    },
    [
      'metadata.taints[1]: Duplicate value: {"Key":"a","Value":"b","Effect":"NoSchedule","TimeAdded":null}: taints must be unique by key and effect pair',
    ],
  ],
  [
    'ranges are ranges',
    {spec: {podCIDRs: ['10.0.0.0/33']}},
    ['spec.podCIDRs[0]: Invalid value: "10.0.0.0/33": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'],
  ],
  [
    'one range a family',
    {spec: {podCIDRs: ['10.0.0.0/8', '11.0.0.0/8']}},
    ['spec.podCIDRs: Invalid value: ["10.0.0.0/8","11.0.0.0/8"]: may specify no more than one CIDR for each IP family'],
  ],
  [
    'amounts are not negative',
    {status: {capacity: {cpu: '-1'}}},
    [
      'status.capacity.cpu: Invalid value: "-1": must be greater than or equal to 0',
      'status.allocatable.cpu: Invalid value: "-1": must be greater than or equal to 0',
    ],
  ],
  [
    'pods come whole',
    {status: {capacity: {pods: '1.5'}, allocatable: {cpu: '1'}}},
    ['status.capacity.pods: Invalid value: "1500m": must be an integer'],
  ],
];

for (const [title, node, expected] of nodeCases) {
  test(`nodes: ${title}`, async t => {
    const {of} = await startEnvironment();

    t.deepEqual(await problems(of(kinds.nodes).create({metadata: {name: 'n'}, ...node})), expected);
  });
}

test('a node registers with its status, and allocatable defaults to capacity', async t => {
  const {of} = await startEnvironment();
  const made = await of(kinds.nodes).create({metadata: {name: 'n'}, spec: {podCIDR: '10.0.0.0/24'}, status: {capacity: {cpu: '4'}}});

  t.deepEqual(made.status?.allocatable, {cpu: '4'});
  t.deepEqual(made.spec?.podCIDRs, ['10.0.0.0/24']);
});

test('ranges and the provider of a node are given once', async t => {
  const {of} = await startEnvironment();
  const made = await of(kinds.nodes).create({metadata: {name: 'n'}, spec: {podCIDR: '10.0.0.0/24', providerID: 'a://1'}});

  t.deepEqual(await problems(of(kinds.nodes).update({...made, spec: {podCIDR: '10.0.1.0/24', providerID: 'a://2'}})), [
    'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid',
    'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid',
  ]);
});

test('the table of nodes shows roles and readiness', async t => {
  const {row} = await startEnvironment();
  const node: Node = {
    metadata: {name: 'n', labels: {'node-role.plat.io/worker': '', 'node-role.plat.io/control-plane': '', 'plat.io/role': 'edge'}},
    spec: {unschedulable: true},
    status: {conditions: [{type: 'Ready', status: 'True'}], addresses: [{type: 'InternalIP', address: '10.0.0.1'}]},
  };

  t.like(await row(kinds.nodes, node), {
    Status: 'Ready,SchedulingDisabled',
    Roles: 'control-plane,edge,worker',
    'Internal-IP': '10.0.0.1',
    'External-IP': '<none>',
    'OS-Image': '<unknown>',
  });
  t.like(await row(kinds.nodes, {metadata: {name: 'n'}}), {Status: 'Unknown', Roles: '<none>'});
});

const roleCases: [title: string, role: Partial<ClusterRole>, expected: string[]][] = [
  [
    'verbs',
    {rules: [{verbs: [], apiGroups: [''], resources: ['pods']}]},
    ['rules[0].verbs: Required value: verbs must contain at least one value'],
  ],
  [
    'groups and resources',
    {rules: [{verbs: ['get']}]},
    [
      'rules[0].apiGroups: Required value: resource rules must supply at least one api group',
      'rules[0].resources: Required value: resource rules must supply at least one resource',
    ],
  ],
  [
    'resources or paths, not both',
    {rules: [{verbs: ['get'], nonResourceURLs: ['/x'], resources: ['pods']}]},
    ['rules[0].nonResourceURLs: Invalid value: ["/x"]: rules cannot apply to both regular resources and non-resource URLs'],
  ],
  [
    'selectors to gather by',
    {aggregationRule: {}},
    ['aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil'],
  ],
  [
    'selectors that make sense',
    {aggregationRule: {clusterRoleSelectors: [{matchExpressions: [{key: 'a', operator: 'In'}]}]}},
    [
      "aggregationRule.clusterRoleSelectors[0].matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
      'aggregationRule.clusterRoleSelectors[0]: Invalid value: null: invalid label selector.',
    ],
  ],
];

for (const [title, role, expected] of roleCases) {
  test(`a cluster role has ${title}`, async t => {
    const {of} = await startEnvironment();

    t.deepEqual(await problems(of(kinds.clusterRoles).create({metadata: {name: 'system:any:name'}, ...role})), expected);
  });
}

test('a role in a namespace grants no paths', async t => {
  const {of} = await startEnvironment();

  t.deepEqual(
    await problems(of(kinds.roles).create({metadata: {name: 'r', namespace}, rules: [{verbs: ['get'], nonResourceURLs: ['/x']}]})),
    ['rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs'],
  );
});

const aBinding = (more: Partial<RoleBinding> = {}): RoleBinding =>
  ({
    metadata: {name: 'b', namespace},
    roleRef: {kind: 'Role', name: 'r'},
    subjects: [{kind: 'User', name: 'jane'}],
    ...more,
  }) as RoleBinding;
const group = words.group('rbac.authorization');

test('a binding names roles and users in their group', async t => {
  const {of} = await startEnvironment();
  const made = await of(kinds.roleBindings).create(
    aBinding({
      subjects: [
        {kind: 'Group', name: 'g'},
        {kind: 'ServiceAccount', name: 'a'},
      ],
    }),
  );

  t.deepEqual(made.roleRef, {apiGroup: group, kind: 'Role', name: 'r'});
  t.deepEqual(made.subjects, [
    {apiGroup: group, kind: 'Group', name: 'g'},
    {kind: 'ServiceAccount', name: 'a'},
  ]);
});

test('a binding keeps its role', async t => {
  const {of} = await startEnvironment();
  const made = await of(kinds.roleBindings).create(aBinding());
  const other = {...made.roleRef, name: 'other'};

  t.deepEqual(await problems(of(kinds.roleBindings).update({...made, roleRef: other})), [
    `roleRef: Invalid value: ${JSON.stringify({APIGroup: other.apiGroup, Kind: other.kind, Name: other.name})}: cannot change roleRef`,
  ]);
});

const bindingCases: [title: string, binding: Partial<RoleBinding>, expected: string[]][] = [
  ['a role by name', {roleRef: {kind: 'Role', name: ''} as never}, ['roleRef.name: Required value']],
  [
    'a kind of role',
    {roleRef: {kind: 'Pod', name: 'x'} as never},
    ['roleRef.kind: Unsupported value: "Pod": supported values: "Role", "ClusterRole"'],
  ],
  [
    'a kind of subject',
    {subjects: [{kind: 'Pod', name: 'x'}]},
    ['subjects[0].kind: Unsupported value: "Pod": supported values: "ServiceAccount", "User", "Group"'],
  ],
  ['a user by name', {subjects: [{kind: 'User', name: ''}]}, ['subjects[0].name: Required value']],
  [
    'an account of no group',
    {subjects: [{kind: 'ServiceAccount', name: 'a', apiGroup: 'x'}]},
    ['subjects[0].apiGroup: Unsupported value: "x": supported values: ""'],
  ],
];

for (const [title, binding, expected] of bindingCases) {
  test(`a binding has ${title}`, async t => {
    const {of} = await startEnvironment();

    t.deepEqual(await problems(of(kinds.roleBindings).create(aBinding(binding))), expected);
  });
}

test('a cluster role binding refers to cluster roles, and to accounts with their namespace', async t => {
  const {of} = await startEnvironment();
  const {metadata: _, ...binding} = aBinding({subjects: [{kind: 'ServiceAccount', name: 'a'}]});

  t.deepEqual(await problems(of(kinds.clusterRoleBindings).create({...binding, metadata: {name: 'b'}})), [
    'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
    'subjects[0].namespace: Required value',
  ]);
});

test('the table of bindings names everyone', async t => {
  const {row} = await startEnvironment();
  const subjects = [
    {kind: 'User', name: 'a'},
    {kind: 'User', name: 'b'},
    {kind: 'Group', name: 'g'},
    {kind: 'ServiceAccount', name: 's', namespace: 'n'},
  ];

  t.deepEqual(await row(kinds.roleBindings, aBinding({subjects})), {
    Name: 'b',
    Role: 'Role/r',
    Age: '<unknown>',
    Users: 'a, b',
    Groups: 'g',
    ServiceAccounts: 'n/s',
  });
});

test('access reviews ask the authorizer', async t => {
  const requested: unknown[] = [];
  const {of} = await startEnvironment({
    authorizer: {
      authorize: attributes => {
        if (attributes.verb === 'fly') requested.push(attributes);
        return attributes.verb === 'fly' ? {decision: 'deny', reason: 'no wings', error: 'dizzy'} : {decision: 'allow'};
      },
    },
  });
  const resourceAttributes = {
    verb: 'fly',
    resource: 'pods',
    namespace,
    labelSelector: {requirements: [{key: 'a', operator: 'In', values: ['b']}]},
  };
  const sar = await of(kinds.subjectAccessReviews).create({spec: {user: 'joe', groups: ['g'], resourceAttributes}});
  const local = await of(kinds.localSubjectAccessReviews).create({metadata: {namespace}, spec: {user: 'joe', resourceAttributes}});
  const self = await of(kinds.selfSubjectAccessReviews).create({spec: {nonResourceAttributes: {path: '/x', verb: 'get'}}});

  t.deepEqual(sar.status, {allowed: false, denied: true, reason: 'no wings', evaluationError: 'dizzy'});
  t.deepEqual(local.status, sar.status);
  t.deepEqual(self.status, {allowed: true});
  t.deepEqual(requested[0], {
    user: {name: 'joe', groups: ['g']},
    verb: 'fly',
    resource: {group: '', version: '*', resource: 'pods', subresource: '', namespace, name: '', labelSelector: 'a in (b)'},
    path: '',
  });
});

test('an access review has one subject and one set of attributes', async t => {
  const {of} = await startEnvironment();

  t.deepEqual(await problems(of(kinds.subjectAccessReviews).create({metadata: {name: 'x'}, spec: {}})), [
    'spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified',
    'spec.user: Invalid value: "": at least one of user or group must be specified',
    'metadata: Invalid value: {"name":"x"}: must be empty',
  ]);
  t.deepEqual(
    await problems(
      of(kinds.localSubjectAccessReviews).create({metadata: {namespace}, spec: {user: 'a', resourceAttributes: {namespace: 'other'}}}),
    ),
    ['spec.resourceAttributes.namespace: Invalid value: "other": must match metadata.namespace'],
  );
});

test('a token review returns the user of the token', async t => {
  const {of} = await startEnvironment({
    authenticateToken: (token, audiences) =>
      Promise.resolve(token === 'good' ? {user: jane, audiences} : token === 'bad' ? {rejected: 'expired'} : undefined),
  });
  const review = async (token: string) => (await of(kinds.tokenReviews).create({spec: {token, audiences: ['a']}})).status;

  t.deepEqual(await review('good'), {
    authenticated: true,
    user: {username: 'jane', uid: 'u1', groups: [...jane.groups], extra: {'example.com/team': ['a', 'b']}},
    audiences: ['a'],
  });
  t.deepEqual(await review('bad'), {user: {}, error: 'expired'});
  t.deepEqual(await review('other'), {user: {}});
  t.is((await refusal(review(''))).message, 'token is required for TokenReview in authentication');
});

test('every user can request a review of their own attributes and rules', async t => {
  const rules = {resourceRules: [{verbs: ['get']}], nonResourceRules: [], incomplete: true, error: 'unsure'};
  const {of} = await startEnvironment({rulesFor: () => Promise.resolve(rules)});

  t.like((await of(kinds.selfSubjectReviews).create({})).status?.userInfo, {username: 'jane', uid: 'u1'});
  t.deepEqual((await of(kinds.selfSubjectRulesReviews).create({spec: {namespace}})).status, {
    resourceRules: [{verbs: ['get']}],
    nonResourceRules: [],
    incomplete: true,
    evaluationError: 'unsure',
  } as never);
  t.is((await refusal(of(kinds.selfSubjectRulesReviews).create({spec: {}}))).code, 400);
});

const ownedBy = ({metadata}: KubeObject): object | undefined => metadata?.managedFields?.[0]?.fieldsV1;

test('a new manager owns no fields of others, those of another group by their names there, and unstructured fields as a whole', async t => {
  const {of} = await startEnvironment();
  const node = await of(kinds.nodes).create({metadata: {name: 'n'}, spec: {providerID: 'x'}, status: {phase: 'Running'}});
  const event = await of(kinds.events).create({
    metadata: {name: 'e', namespace},
    eventTime: '2026-01-01T00:00:00.000000Z',
    reportingController: 'a.b/c',
    reportingInstance: 'i',
    action: 'a',
    reason: 'r',
    type: 'Normal',
    note: 'n',
    regarding: {kind: 'Pod', namespace, name: 'p'},
  });
  const revision = await of(kinds.controllerRevisions).create({metadata: {name: 'r', namespace}, revision: 1, data: {a: 1} as never});

  t.deepEqual(ownedBy(node), {'f:spec': {'f:providerID': {}}});
  t.like(ownedBy(event), {'f:note': {}, 'f:regarding': {}, 'f:reportingController': {}});
  t.deepEqual(ownedBy(revision), {'f:data': {}, 'f:revision': {}});
});
