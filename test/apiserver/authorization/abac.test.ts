import test from 'ava';
import type {UserInfo} from '#src/api/user.js';
import {aFile, authorizersWith, type TestOptions} from './environment.js';
import {asking, aUser} from './policy.js';

const withPolicy = (content: string, options?: TestOptions) =>
  authorizersWith(['--authorization-mode=ABAC', `--authorization-policy-file=${aFile(content)}`], options);

const policy = (spec: object): string => JSON.stringify({apiVersion: 'abac.authorization.plat.io/v1beta1', kind: 'Policy', spec});

const jane = aUser('jane', 'dev', 'system:authenticated');
const joe = aUser('joe', 'system:authenticated');
const stranger = aUser('system:anonymous', 'system:unauthenticated');

type Question = readonly [user: UserInfo, verb: string, what: string, where?: {readonly namespace?: string; readonly group?: string}];

const cases: readonly (readonly [string, object, readonly Question[], readonly Question[]])[] = [
  [
    'a policy is about the user it names, in one namespace, resource and group',
    {user: 'jane', namespace: 'a', resource: 'pods', apiGroup: ''},
    [
      [jane, 'get', 'pods', {namespace: 'a'}],
      [jane, 'delete', 'pods/log', {namespace: 'a'}],
    ],
    [
      [joe, 'get', 'pods', {namespace: 'a'}],
      [jane, 'get', 'pods', {namespace: 'b'}],
      [jane, 'get', 'secrets', {namespace: 'a'}],
      [jane, 'get', 'pods', {namespace: 'a', group: 'apps'}],
      [jane, 'get', '/healthz'],
    ],
  ],
  [
    'a policy with a user and a group is about users that are both',
    {user: 'jane', group: 'dev', resource: '*', namespace: '*', apiGroup: '*'},
    [[jane, 'get', 'pods', {namespace: 'a', group: 'apps'}]],
    [
      [aUser('jane'), 'get', 'pods'],
      [aUser('joe', 'dev'), 'get', 'pods'],
    ],
  ],
  [
    'a read-only policy allows to get, list and watch',
    {group: 'dev', readonly: true, resource: '*', namespace: '*', nonResourcePath: '*'},
    [
      [jane, 'get', 'pods', {namespace: 'a'}],
      [jane, 'list', 'pods'],
      [jane, 'watch', 'pods'],
      [jane, 'get', '/x'],
    ],
    [
      [jane, 'create', 'pods', {namespace: 'a'}],
      [jane, 'post', '/x'],
    ],
  ],
  [
    'a star for the user matches every authenticated user',
    {user: '*', nonResourcePath: '/version'},
    [
      [jane, 'get', '/version'],
      [joe, 'put', '/version'],
    ],
    [
      [stranger, 'get', '/version'],
      [jane, 'get', '/versions'],
    ],
  ],
  [
    'a policy can be about users that were not authenticated',
    {group: 'system:unauthenticated', nonResourcePath: '/api*'},
    [[stranger, 'get', '/api/v1']],
    [[jane, 'get', '/api']],
  ],
  [
    'a policy that names neither user nor group is about nobody',
    {resource: '*', namespace: '*', nonResourcePath: '*'},
    [],
    [
      [jane, 'get', 'pods'],
      [jane, 'get', '/x'],
    ],
  ],
];
for (const [title, spec, allowed, others] of cases) {
  test(title, async t => {
    using authorizers = await withPolicy(policy(spec));

    for (const [user, verb, what, where] of allowed)
      t.deepEqual(await authorizers.authorize(asking(user, verb, what, where)), {decision: 'allow'}, `${user.name} ${verb} ${what}`);
    for (const [user, verb, what, where] of others) {
      const decision = await authorizers.authorize(asking(user, verb, what, where));
      t.deepEqual(decision, {decision: 'noOpinion', reason: 'No policy matched.'}, `${user.name} ${verb} ${what}`);
    }
  });
}

test('lines that are blank or comments are skipped, and any line may allow', async t => {
  using authorizers = await withPolicy(
    `# staff\n\n  ${policy({user: 'joe', nonResourcePath: '/a'})}\r\n\t\n${policy({user: 'jane', nonResourcePath: '/b'})}`,
  );

  t.like(await authorizers.authorize(asking(joe, 'get', '/a')), {decision: 'allow'});
  t.like(await authorizers.authorize(asking(jane, 'get', '/b')), {decision: 'allow'});
  t.like(await authorizers.authorize(asking(jane, 'get', '/a')), {decision: 'noOpinion'});
});

test('in a line without a version an absent field matches everything', async t => {
  for (const line of [
    '{"user":"jane","readonly":true}',
    '{"apiVersion":"abac.authorization.kubernetes.io/v0","kind":"Policy","user":"jane","readonly":true}',
  ]) {
    using authorizers = await withPolicy(line, {naming: 'kubernetes'});

    t.like(await authorizers.authorize(asking(jane, 'get', 'deployments', {namespace: 'a', group: 'apps'})), {decision: 'allow'});
    t.like(await authorizers.authorize(asking(jane, 'get', '/x')), {decision: 'allow'});
    t.like(await authorizers.authorize(asking(jane, 'create', 'pods')), {decision: 'noOpinion'});
    t.like(await authorizers.authorize(asking(joe, 'get', 'pods')), {decision: 'noOpinion'});
  }
  using forAll = await withPolicy('{"resource":"pods"}');
  t.like(await forAll.authorize(asking(joe, 'delete', 'pods', {namespace: 'b'})), {decision: 'allow'});
  t.like(await forAll.authorize(asking(joe, 'get', '/x')), {decision: 'noOpinion'});
  t.like(await forAll.authorize(asking(stranger, 'get', 'pods')), {decision: 'noOpinion'});
});

test('the rules of a user are listed from the policies of the namespace', async t => {
  const lines = [
    {user: 'jane', namespace: 'a', resource: 'pods', readonly: true},
    {group: 'dev', namespace: '*', resource: '*', apiGroup: 'apps', nonResourcePath: '/x'},
    {user: 'jane', namespace: 'b', resource: 'secrets'},
    {user: 'joe', namespace: 'a', resource: 'secrets'},
  ];
  using authorizers = await withPolicy(lines.map(policy).join('\n'));

  t.deepEqual(await authorizers.rulesFor(jane, 'a'), {
    resourceRules: [
      {verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['pods']},
      {verbs: ['*'], apiGroups: ['apps'], resources: ['*']},
    ],
    nonResourceRules: [{verbs: ['*'], nonResourceURLs: ['/x']}],
    incomplete: false,
  });
});

for (const [what, line, error] of [
  ['that is not JSON', '{"user":', /: couldn't get version\/kind; json parse error: unexpected end of JSON input$/],
  ['with a wrong type', '{"user":"jane","readonly":"yes"}', /cannot unmarshal string into Go struct field Policy\.readonly of type bool$/],
  ['of another kind', '{"apiVersion":"v1","kind":"Pod"}', /: no kind "Pod" is registered for version "v1"$/],
] as const) {
  test(`a line ${what} ends the start and is shown with its number`, async t => {
    const {message} = (await t.throwsAsync(withPolicy(`# one\n{"user":"jane"}\n${line}\n`)))!;

    t.true(message.startsWith('--authorization-policy-file: error reading policy file /'), message);
    t.true(message.includes(`, line 3: ${line}: `), message);
    t.regex(message, error);
  });
}

test('a policy file that is not there ends the start', async t => {
  await t.throwsAsync(authorizersWith(['--authorization-mode=ABAC', '--authorization-policy-file=/none/p']), {
    message: '--authorization-policy-file: open /none/p: no such file or directory',
  });
});
