import test from 'ava';
import type {Authentication, AuthenticationRequest, Authenticator} from '#src/api/authentication.js';
import {naming} from '#src/api/naming.js';
import {caches} from '#src/base/cache-bound.js';
import {systemClock} from '#src/base/clock.js';
import {authorityPem} from '#src/pki/authority.js';
import {parseCertificateBundle} from '#src/pki/certificate.js';
import {trustAnchors} from '#src/pki/chain.js';
import {parseTokenFile, tokenFileAuthenticator} from '#src/apiserver/authentication/token-file.js';
import {authenticate, Unauthenticated} from '#src/serving/authenticators/union.js';
import {x509Authenticator} from '#src/serving/authenticators/x509.js';
import {anAuthority, aPair} from './credentials.js';

const users = parseTokenFile('good,jane,1,"dev, ops"\nbare,joe,2\nempty,ann,3,\n');
const everybody = {allows: () => true};

const kept = () => caches().find(({name}) => name === 'verified_certificates')!.bytes;

test('a chain that was verified on one connection is known on others, until it runs out or its authority is no longer trusted', async t => {
  const [authority, other] = [await anAuthority(), await anAuthority()];
  const certificates = [parseCertificateBundle((await aPair(authority, {commonName: 'jane'}, 'client auth')).cert)[0]!.raw];
  const [trusted, others] = [authority, other].map(each => trustAnchors(parseCertificateBundle(authorityPem(each).certificate)));
  const authorities = {current: trusted!};
  const clock = {...systemClock, now: () => Date.now() + passed};
  let passed = 0;
  const authenticator = x509Authenticator(authorities, {clock, naming: naming('kubernetes'), withUid: false});
  const before = kept();
  const answer = (chain = certificates) => {
    const outcome = authenticator.authenticate({credentials: {certificates: chain, connection: {}}, headers: {}}) as Authentication;
    return outcome && ('user' in outcome ? outcome.user : outcome.rejected);
  };
  const first = answer();

  t.like(first, {name: 'jane'});
  t.is(answer(), first);
  const held = kept();
  t.true(held > before);
  t.is(typeof answer([Buffer.from('nothing')]), 'string');
  t.is(kept(), held, 'what is refused is not kept');
  authorities.current = others!;
  t.regex(String(answer()), /unknown authority/);
  authorities.current = trusted!;
  t.like(answer(), {name: 'jane'});
  passed = 20 * 365 * 86_400_000;
  t.regex(String(answer()), /expired/);
});

const askWith = (authenticators: readonly Authenticator[], authorization: string | undefined) => {
  const warnings: string[] = [];
  const request: AuthenticationRequest = {
    credentials: {certificates: []},
    headers: authorization === undefined ? {} : {authorization},
    warn: text => void warnings.push(text),
  };
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
  test(`the header ${JSON.stringify(header ?? 'left out')} authenticates ${'user' in outcome ? outcome.user.name : 'no user'}`, t => {
    t.deepEqual(askWith([tokenFileAuthenticator(users)], header), outcome as never);
  });
}

test('a token is no credential where tokens are not accepted', t => {
  t.deepEqual(askWith([], 'Bearer bad'), {user: anonymous, warnings: []});
  t.deepEqual(askWith([{name: 'other', authenticate: () => undefined}], 'Bearer bad'), {user: anonymous, warnings: []});
  t.deepEqual(askWith([{name: 'signed', takesTokens: true, authenticate: () => undefined}], 'Bearer bad'), {
    refused: 'Unauthorized',
    warnings: [],
  });
});

test('a refusal has the reasons of all authenticators, which its status does not show', t => {
  const refusing = (name: string, rejected: string): Authenticator => ({name, takesTokens: true, authenticate: () => ({rejected})});
  const request = {credentials: {certificates: []}, headers: {authorization: 'Bearer bad'}};
  const refusal = (authenticators: readonly Authenticator[]) =>
    t.throws(() => authenticate(authenticators, everybody, request, '/'), {instanceOf: Unauthenticated});

  const both = refusal([refusing('one', 'the signature is wrong'), refusing('other', 'the token has expired')]);
  t.deepEqual(both?.reasons, ['the signature is wrong', 'the token has expired']);
  t.is(both?.status.message, 'Unauthorized');
  t.deepEqual(refusal([{name: 'signed', takesTokens: true, authenticate: () => undefined}])?.reasons, ['invalid bearer token']);
});

test('groups of a token file are taken as they stand, an empty column for the group without a name', t => {
  t.deepEqual(
    [...users.values()].map(({groups}) => groups),
    [['dev', ' ops'], [], ['']],
  );
});
