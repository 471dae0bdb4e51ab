import test from 'ava';
import type {AuthenticationRequest, Authenticator} from '#src/api/authentication.js';
import {parseTokenFile, tokenFileAuthenticator} from '#src/apiserver/authentication/token-file.js';
import {authenticate} from '#src/serving/authenticators/union.js';

const users = parseTokenFile('good,jane,1,"dev, ops"\nbare,joe,2\nempty,ann,3,\n');
const everybody = {allows: () => true};

const askWith = (authenticators: readonly Authenticator[], authorization: string | undefined) => {
  const warnings: string[] = [];
  const request: AuthenticationRequest = {credentials: {certificates: []}, headers: authorization === undefined ? {} : {authorization}, warn: text => void warnings.push(text)};
  try {
    return {user: authenticate(authenticators, everybody, request, '/'), warnings};
  } catch (error) {
    return {refused: (error as Error).message, warnings};
  }
};

const anonymous = {name: 'system:anonymous', groups: ['system:unauthenticated']};
const jane = {name: 'jane', uid: '1', groups: ['dev', ' ops', 'system:authenticated']};
const spaced = ['the provided Authorization header contains extra space before the bearer token, and is ignored'];

for (const [header, outcome] of [
  [undefined, {user: anonymous, warnings: []}],
  ['', {user: anonymous, warnings: []}],
  ['Bearer', {user: anonymous, warnings: []}],
  ['Bearer ', {user: anonymous, warnings: []}],
  ['Basic Z29vZDo=', {user: anonymous, warnings: []}],
  ['good', {user: anonymous, warnings: []}],
  ['Bearer  good', {user: anonymous, warnings: spaced}],
  ['Bearer good', {user: jane, warnings: []}],
  ['bEARER good ', {user: jane, warnings: []}],
  ['Bearer good bad', {user: jane, warnings: []}],
  ['Bearer bad', {refused: 'Unauthorized', warnings: []}],
] as const) {
  test(`the header ${JSON.stringify(header ?? 'left out')} makes its sender ${'user' in outcome ? outcome.user.name : 'nobody who is let in'}`, t => {
    t.deepEqual(askWith([tokenFileAuthenticator(users)], header), outcome as never);
  });
}

test('a token is no credential where nobody takes tokens', t => {
  t.deepEqual(askWith([], 'Bearer bad'), {user: anonymous, warnings: []});
  t.deepEqual(askWith([{name: 'other', authenticate: () => undefined}], 'Bearer bad'), {user: anonymous, warnings: []});
  t.deepEqual(askWith([{name: 'signed', takesTokens: true, authenticate: () => undefined}], 'Bearer bad'), {refused: 'Unauthorized', warnings: []});
});

test('groups of a token file are taken as they stand, an empty column for the group without a name', t => {
  t.deepEqual([...users.values()].map(({groups}) => groups), [['dev', ' ops'], [], ['']]);
});
