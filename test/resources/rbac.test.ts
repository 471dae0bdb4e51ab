import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {ClusterRole, RoleBinding} from '#src/api/types.js';
import {jane, problems, refusal, startEnvironment, words} from './environment.js';
import {namespace} from './namespace.js';

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
