import test from 'ava';
import type {Status} from '#src/api/status.js';
import type {UserInfo} from '#src/api/user.js';
import {startWire} from './wire.js';

const whoAmI = '/apis/authentication.plat.io/v1/selfsubjectreviews';
const body = {};

/** A server that records authorizations of impersonation, and denies the names given. */
const start = async (...refusedNames: string[]) => {
  const checked: string[] = [];
  const env = await startWire({
    authorizer: {
      authorize({verb, resource}) {
        if (verb !== 'impersonate' || !resource) return {decision: 'allow'};
        checked.push([resource.group, resource.resource, resource.subresource, resource.namespace, resource.name].join('|'));
        return {decision: refusedNames.includes(resource.name) ? 'noOpinion' : 'allow'};
      },
    },
  });
  const as = (headers: Record<string, string | string[]>) => env.post(whoAmI, body, {headers});
  const become = async (headers: Record<string, string | string[]>) =>
    (await as(headers)).json<{status: {userInfo: UserInfo}}>().status.userInfo;
  return {checked, as, become};
};

const authentication = 'authentication.plat.io';
for (const [title, headers, user, questions] of [
  ['a user', {'Impersonate-User': 'jane'}, {username: 'jane', groups: ['system:authenticated']}, ['|users|||jane']],
  [
    'a user of groups',
    {'Impersonate-User': 'jane', 'Impersonate-Group': ['a', 'b']},
    {username: 'jane', groups: ['a', 'b', 'system:authenticated']},
    ['|users|||jane', '|groups|||a', '|groups|||b'],
  ],
  [
    'a user of one group',
    {'Impersonate-User': 'jane', 'Impersonate-Group': 'system:authenticated'},
    {username: 'jane', groups: ['system:authenticated']},
    ['|users|||jane', '|groups|||system:authenticated'],
  ],
  [
    'a user with a uid',
    {'Impersonate-User': 'jane', 'Impersonate-Uid': 'u1'},
    {username: 'jane', uid: 'u1', groups: ['system:authenticated']},
    ['|users|||jane', `${authentication}|uids|||u1`],
  ],
  [
    'a user with extras',
    {'Impersonate-User': 'jane', 'Impersonate-Extra-Example.com%2FTeam': ['x', 'y'], 'Impersonate-Extra-__proto__': 'z'},
    {username: 'jane', groups: ['system:authenticated'], extra: {'example.com/team': ['x', 'y'], ['__proto__']: ['z']}},
    [
      '|users|||jane',
      `${authentication}|userextras|example.com/team||x`,
      `${authentication}|userextras|example.com/team||y`,
      `${authentication}|userextras|__proto__||z`,
    ],
  ],
  [
    'a service account',
    {'Impersonate-User': 'system:serviceaccount:ns:sa'},
    {username: 'system:serviceaccount:ns:sa', groups: ['system:serviceaccounts', 'system:serviceaccounts:ns', 'system:authenticated']},
    ['|serviceaccounts||ns|sa'],
  ],
  [
    'a service account of other groups',
    {'Impersonate-User': 'system:serviceaccount:ns:sa', 'Impersonate-Group': 'g'},
    {username: 'system:serviceaccount:ns:sa', groups: ['g', 'system:authenticated']},
    ['|serviceaccounts||ns|sa', '|groups|||g'],
  ],
  [
    'the anonymous user',
    {'Impersonate-User': 'system:anonymous'},
    {username: 'system:anonymous', groups: ['system:unauthenticated']},
    ['|users|||system:anonymous'],
  ],
  [
    'a user whose name only looks like that of a service account',
    {'Impersonate-User': 'x-system:serviceaccount:ns:sa'},
    {username: 'x-system:serviceaccount:ns:sa', groups: ['system:authenticated']},
    ['|users|||x-system:serviceaccount:ns:sa'],
  ],
  [
    'a service account with a word too many',
    {'Impersonate-User': 'system:serviceaccount:ns:sa:x'},
    {username: 'system:serviceaccount:ns:sa:x', groups: ['system:authenticated']},
    ['|users|||system:serviceaccount:ns:sa:x'],
  ],
  [
    'a service account no namespace could hold',
    {'Impersonate-User': 'system:serviceaccount:Ns:sa'},
    {username: 'system:serviceaccount:Ns:sa', groups: ['system:authenticated']},
    ['|users|||system:serviceaccount:Ns:sa'],
  ],
] as const) {
  test(`a permitted user impersonates ${title}`, async t => {
    const {checked, become} = await start();

    t.deepEqual(await become(headers as never), user as never);
    t.deepEqual(checked, questions as never);
  });
}

for (const [name, headers, message] of [
  [
    'jane',
    {'Impersonate-User': 'jane'},
    'users "jane" is forbidden: User "admin" cannot impersonate resource "users" in API group "" at the cluster scope',
  ],
  [
    'g',
    {'Impersonate-User': 'jane', 'Impersonate-Group': 'g'},
    'groups "g" is forbidden: User "admin" cannot impersonate resource "groups" in API group "" at the cluster scope',
  ],
  [
    'sa',
    {'Impersonate-User': 'system:serviceaccount:ns:sa'},
    'serviceaccounts "sa" is forbidden: User "admin" cannot impersonate resource "serviceaccounts" in API group "" in the namespace "ns"',
  ],
  [
    'u1',
    {'Impersonate-User': 'jane', 'Impersonate-Uid': 'u1'},
    'uids.authentication.plat.io "u1" is forbidden: User "admin" cannot impersonate resource "uids" in API group "authentication.plat.io" at the cluster scope',
  ],
  [
    'x',
    {'Impersonate-User': 'jane', 'Impersonate-Extra-Team': 'x'},
    'userextras.authentication.plat.io "x" is forbidden: User "admin" cannot impersonate resource "userextras/team" in API group "authentication.plat.io" at the cluster scope',
  ],
] as const) {
  test(`impersonating ${name} without permission is refused`, async t => {
    const {as} = await start(name);

    t.like((await as(headers)).json<Status>(), {code: 403, reason: 'Forbidden', message});
  });
}

test('the uid is authorized last', async t => {
  const {as, checked} = await start();
  await as({'Impersonate-User': 'jane', 'Impersonate-Uid': 'u1', 'Impersonate-Group': 'g', 'Impersonate-Extra-Team': 'x'});

  t.deepEqual(checked, ['|users|||jane', '|groups|||g', `${authentication}|userextras|team||x`, `${authentication}|uids|||u1`]);
});

for (const [headers, parts] of [
  [{'Impersonate-Group': 'g'}, '{Group  g    }'],
  [{'Impersonate-Uid': 'u'}, '{UID  u  authentication.plat.io/v1  }'],
  [{'Impersonate-Extra-X': 'y', 'Impersonate-Group': 'g'}, '{Group  g    } {UserExtra  y  authentication.plat.io/v1  x}'],
] as const) {
  test(`${Object.keys(headers)[0]} without a user is refused`, async t => {
    const {as, checked} = await start();
    const {status, json, header} = await as(headers);

    t.is(status, 400);
    t.is(header('x-content-type-options'), 'nosniff');
    t.is(json<Status>().message, `requested [${parts}] without impersonating a user`);
    t.deepEqual(checked, []);
  });
}

test('a refusal holds nothing that a browser takes for HTML', async t => {
  const env = await startWire({
    authorizer: {authorize: ({user}) => (user.name === 'admin' ? {decision: 'allow'} : {decision: 'noOpinion', reason: 'because <so>'})},
  });
  const user = {name: '<b>&', groups: []};
  const {message} = (await env.get('/apis/<script>', {user})).json<Status>();

  t.is(message, 'forbidden: User "&lt;b&gt;&amp;" cannot get path "/apis/&lt;script&gt;": because <so>');
});

test('letters of the keys of extra fields that are encoded keep their case', async t => {
  const {become} = await start();

  t.deepEqual((await become({'Impersonate-User': 'jane', 'Impersonate-Extra-%41B': 'x'})).extra, {Ab: ['x']});
});
