import test from 'ava';
import type {Attributes} from '#src/api/authorization.js';
import type {Status} from '#src/api/status.js';
import type {UserInfo} from '#src/api/user.js';
import {one, startAudited} from './audit/environment.js';
import {configMaps, startWire} from './wire.js';

const whoAmI = '/apis/authentication.plat.io/v1/selfsubjectreviews';
const group = 'authentication.plat.io';

/**
 * A server with the gate, whose authorizer grants impersonation by `VERB GROUP/RESOURCE[/SUBRESOURCE]
 * [NAMESPACE/]NAME`, and records what it is asked.
 */
const start = async (...granted: readonly string[]) => {
  const asked: string[] = [];
  const env = await startWire({
    gate: name => name === 'ConstrainedImpersonation',
    authorizer: {
      authorize({verb, resource, user}) {
        if (!verb.startsWith('impersonate') || !resource) return {decision: 'allow'};
        const {group: of, resource: plural, subresource, namespace, name} = resource;
        const text = `${verb} ${of}/${plural}${subresource ? `/${subresource}` : ''} ${namespace ? `${namespace}/` : ''}${name}`;
        asked.push(text);
        if (user.extra) asked.push(JSON.stringify(user.extra));
        return {decision: granted.includes(text) ? 'allow' : 'noOpinion'};
      },
    },
  });
  const as = (headers: Record<string, string | string[]>, user?: UserInfo) => env.post(whoAmI, {}, {headers, ...(user ? {user} : {})});
  const become = async (headers: Record<string, string | string[]>, user?: UserInfo) =>
    (await as(headers, user)).json<{status: {userInfo: UserInfo}}>().status.userInfo;
  return {asked, as, become, env};
};

const on = (mode: string) => `impersonate-on:${mode}:create ${group}/selfsubjectreviews `;

test('a user is impersonated by a permission for the user and one for the request', async t => {
  const permissions = [on('user-info'), `impersonate:user-info ${group}/users jane`];
  const {asked, become} = await start(...permissions);

  t.deepEqual(await become({'Impersonate-User': 'jane'}), {username: 'jane', groups: ['system:authenticated']} as never);
  t.deepEqual(asked, permissions);
});

for (const [title, granted] of [
  ['for the request alone', on('user-info')],
  ['for the user alone', `impersonate:user-info ${group}/users jane`],
] as const)
  test(`a permission ${title} does not suffice`, async t => {
    const {as} = await start(granted);

    t.is((await as({'Impersonate-User': 'jane'})).status, 403);
  });

test('the refusal is that of the first mode', async t => {
  const {as, asked} = await start();
  const {message} = (await as({'Impersonate-User': 'jane'})).json<Status>();

  t.is(
    message,
    `selfsubjectreviews.${group} is forbidden: User "admin" cannot impersonate-on:user-info:create resource "selfsubjectreviews" in API group "${group}" at the cluster scope`,
  );
  t.deepEqual(asked, [on('user-info'), 'impersonate /users jane']);
});

test('uid, groups and extra fields of a user need a permission each', async t => {
  const permissions = [
    on('user-info'),
    `impersonate:user-info ${group}/users jane`,
    `impersonate:user-info ${group}/uids 7`,
    `impersonate:user-info ${group}/groups a`,
    `impersonate:user-info ${group}/userextras/example.com/team x`,
  ];
  const headers = {
    'Impersonate-User': 'jane',
    'Impersonate-Uid': '7',
    'Impersonate-Group': 'a',
    'Impersonate-Extra-Example.com%2fteam': 'x',
  };
  const {asked, become} = await start(...permissions);

  t.deepEqual(await become(headers), {
    username: 'jane',
    uid: '7',
    groups: ['a', 'system:authenticated'],
    extra: {'example.com/team': ['x']},
  } as never);
  t.deepEqual(asked, permissions);
  for (const missing of permissions) {
    const {as} = await start(...permissions.filter(each => each !== missing));
    t.is((await as(headers)).status, 403, missing);
  }
});

test('four groups or extra values are allowed by a permission for all', async t => {
  const base = [on('user-info'), `impersonate:user-info ${group}/users jane`];
  const groups = {'Impersonate-User': 'jane', 'Impersonate-Group': ['a', 'b', 'c', 'd']};
  const extra = {'Impersonate-User': 'jane', 'Impersonate-Extra-A.io%2fb': ['1', '2', '3', '4']};

  t.is((await (await start(...base, `impersonate:user-info ${group}/groups *`)).as(groups)).status, 201);
  t.is((await (await start(...base, `impersonate:user-info ${group}/userextras/* *`)).as(extra)).status, 201);
  t.is((await (await start(...base)).as(groups)).status, 403);
});

for (const [headers, detail] of [
  [{'Impersonate-Group': ''}, 'impersonating the empty string group is not allowed'],
  [{'Impersonate-Group': 'system:masters'}, 'impersonating the system:masters group is not allowed'],
  [
    {'Impersonate-Extra-Team': 'x'},
    'impersonating an invalid key in extra is not allowed: extra.key: Invalid value: "team": must be a domain-prefixed path (such as "acme.io/foo")',
  ],
  [{'Impersonate-Extra-A.io%2f%42': 'x'}, 'impersonating a non-lowercase key in extra is not allowed: "a.io/B"'],
  [{'Impersonate-Extra-A.io%2fb': ''}, 'impersonating the empty string value in extra is not allowed'],
] as const) {
  const [name] = Object.entries(headers)[0]!;
  test(`${name} is refused: ${detail}`, async t => {
    const {as} = await start(on('user-info'), `impersonate:user-info ${group}/users jane`);
    // Groups and extra fields have a first refusal of their own.
    const {code, message} = (await as({'Impersonate-User': 'jane', ...headers})).json<Status>();

    t.is(code, 403);
    t.true(message!.endsWith(`at the cluster scope: ${detail}`), message);
  });
}

test('a service account is impersonated by its own mode, with its groups', async t => {
  const permissions = [on('serviceaccount'), `impersonate:serviceaccount ${group}/serviceaccounts ns/sa`];
  const {asked, become} = await start(...permissions);
  const user = await become({'Impersonate-User': 'system:serviceaccount:ns:sa'});

  t.deepEqual(user, {
    username: 'system:serviceaccount:ns:sa',
    groups: ['system:serviceaccounts', 'system:serviceaccounts:ns', 'system:authenticated'],
  } as never);
  t.deepEqual(asked, permissions);
});

test('a node is impersonated by the mode of all nodes, with their group', async t => {
  const permissions = [on('arbitrary-node'), `impersonate:arbitrary-node ${group}/nodes n1`];
  const {asked, become} = await start(...permissions);

  t.deepEqual(await become({'Impersonate-User': 'system:node:n1'}), {
    username: 'system:node:n1',
    groups: ['system:nodes', 'system:authenticated'],
  } as never);
  t.deepEqual(asked, permissions);
});

for (const name of ['system:node:n1', 'system:serviceaccount:ns:sa'])
  test(`${name} with groups is impersonated without constraints only`, async t => {
    const {asked, as} = await start();
    await as({'Impersonate-User': name, 'Impersonate-Group': 'g'});

    t.true(asked.every(each => each.startsWith('impersonate /')));
  });

const agent = (node: string): UserInfo => ({
  name: 'system:serviceaccount:ns:agent',
  groups: ['system:authenticated'],
  extra: {'authentication.plat.io/node-name': [node], 'authentication.plat.io/pod-name': ['p']},
});

test('a service account impersonates the node of its pod by one permission for all nodes', async t => {
  const extra = JSON.stringify({
    'authentication.plat.io/associated-node-keys': ['authentication.plat.io/node-name', 'authentication.plat.io/pod-name'],
  });
  const permissions = [on('associated-node'), `impersonate:associated-node ${group}/nodes *`];
  const {asked, become} = await start(...permissions);
  const user = await become({'Impersonate-User': 'system:node:n1'}, agent('n1'));

  t.deepEqual(user, {username: 'system:node:n1', groups: ['system:nodes', 'system:authenticated']} as never);
  t.deepEqual(asked, [permissions[0], extra, permissions[1], extra]);
});

test('the node of another pod is not associated', async t => {
  const {as, asked} = await start(on('associated-node'), `impersonate:associated-node ${group}/nodes *`);

  t.is((await as({'Impersonate-User': 'system:node:n2'}, agent('n1'))).status, 403);
  t.false(asked.some(each => each.includes('associated-node')));
});

test('the verb impersonate allows everything still, and is tried first once it was what allowed', async t => {
  const {as, asked} = await start('impersonate /users jane');
  t.is((await as({'Impersonate-User': 'jane'})).status, 201);
  asked.length = 0;

  t.is((await as({'Impersonate-User': 'jane'})).status, 201);
  t.deepEqual(asked, ['impersonate /users jane']);
});

test('an identity without a user name is refused as the structure of the original', async t => {
  const {as} = await start();
  const {code, message} = (await as({'Impersonate-Uid': 'u', 'Impersonate-Group': ['a', 'b'], 'Impersonate-Extra-X': 'y'})).json<Status>();

  t.is(code, 400);
  t.is(
    message,
    'requested &user.DefaultInfo{Name:"", UID:"u", Groups:[]string{"a", "b"}, Extra:map[string][]string{"x":[]string{"y"}}} without impersonating a user name',
  );
});

test('the audit event has the verb that allowed it', async t => {
  const {get, log} = await startAudited({gate: name => name === 'ConstrainedImpersonation'});
  await get(configMaps, {headers: {'Impersonate-User': 'joe'}});

  t.like(one(log), {
    impersonatedUser: {username: 'joe', groups: ['system:authenticated']},
    authenticationMetadata: {impersonationConstraint: 'impersonate:user-info'},
  });
});

test('the audit event has no such verb if the verb impersonate allowed it', async t => {
  const authorizer = {authorize: ({verb}: Attributes) => ({decision: verb.includes(':') ? 'noOpinion' : 'allow'}) as const};
  const {get, log} = await startAudited({gate: name => name === 'ConstrainedImpersonation', authorizer});
  await get(configMaps, {headers: {'Impersonate-User': 'joe'}});

  t.truthy(one(log).impersonatedUser);
  t.false('authenticationMetadata' in one(log));
});
