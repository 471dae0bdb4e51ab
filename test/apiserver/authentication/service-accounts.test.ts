import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {KubeObject, TokenRequest} from '#src/api/types.js';
import {generatePrivateKey, privateKeyPem, publicKeyPem} from '#src/pki/keys/keys.js';
import {signToken, tokenKey} from '#src/pki/keys/token.js';
import type {Plane} from '#src/plane/plane.js';
import {refusal} from '#test/resources/environment.js';
import {aPlane, issuer, minutes, namespace, own} from './accounts.js';

const get = async (plane: Plane, url: string, headers: Record<string, string> = {}) => {
  const answer = await plane.api.handler({
    method: 'GET',
    url,
    headers,
    caller: {credentials: {certificates: []}},
    remoteAddress: '',
    signal: new AbortController().signal,
  });
  const {body} = answer;
  const text =
    body.kind === 'bytes' || body.kind === 'object' ? (typeof body.bytes === 'function' ? body.bytes() : body.bytes).toString() : '';
  return {status: answer.status, headers: answer.headers, json: (text.startsWith('{') ? JSON.parse(text) : {}) as Record<string, never>};
};

test('a service account gets a token for the server, for an hour, which authenticates it', async t => {
  const {plane, clock, account, request, review} = await aPlane();
  await using _ = plane;
  const made = await request();
  const now = Math.floor(clock.now() / 1000);

  t.like(made, {
    kind: 'TokenRequest',
    apiVersion: 'authentication.plat.io/v1',
    metadata: {name: 'robot', namespace},
    spec: {audiences: [issuer], expirationSeconds: 3600},
  });
  t.is(made.status!.expirationTimestamp, new Date((now + 3600) * 1000).toISOString().replace('.000', ''));
  t.like(own(made), {iss: issuer, sub: 'system:serviceaccount:default:robot', aud: [issuer], iat: now, nbf: now, exp: now + 3600});
  t.deepEqual(own(made)['plat.io'] as unknown, {namespace, serviceaccount: {name: 'robot', uid: account.metadata!.uid}});

  const {user, ...rest} = await review(made.status!.token);
  t.deepEqual(rest, {authenticated: true, audiences: [issuer]} as never);
  t.deepEqual(user, {
    username: 'system:serviceaccount:default:robot',
    uid: account.metadata!.uid!,
    groups: ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated'],
    extra: {'authentication.plat.io/credential-id': [`JTI=${own(made).jti}`]},
  });
  t.is((await get(plane, '/api', {authorization: `Bearer ${made.status!.token}`})).status, 200);
});

test('a token ends when its time is over, or its account is another one', async t => {
  const {plane, clock, client, request, review} = await aPlane();
  await using _ = plane;
  const {token} = (await request({expirationSeconds: 600})).status!;
  const longer = (await request({expirationSeconds: 7200})).status!.token;

  await clock.advance(minutes(10.9));
  t.true((await review(token)).authenticated);
  await clock.advance(minutes(0.2));
  t.deepEqual(await review(token), {user: {}, error: '[invalid bearer token, service account token has expired]'});

  await client.resource(kinds.serviceAccounts).delete('robot', {namespace});
  t.deepEqual(await review(longer), {user: {}, error: '[invalid bearer token, serviceaccounts "robot" not found]'});
  const again = await client.resource(kinds.serviceAccounts).create({metadata: {name: 'robot', namespace}});
  t.is(
    (await review(longer)).error,
    `[invalid bearer token, service account UID (${again.metadata!.uid}) does not match claim (${own({status: {token: longer}} as TokenRequest)['plat.io']['serviceaccount']!['uid']})]`,
  );
  t.is((await get(plane, '/api', {authorization: `Bearer ${longer}`})).status, 401);
});

test('a token is valid for its audiences alone', async t => {
  const {plane, request, review} = await aPlane();
  await using _ = plane;
  const {token} = (await request({audiences: ['vault', 'bank']})).status!;

  t.deepEqual((await review(token, ['vault', 'other'])).audiences, ['vault']);
  t.deepEqual(await review(token), {
    user: {},
    error: `[invalid bearer token, token audiences ["vault" "bank"] is invalid for the target audiences ["${issuer}"]]`,
  });
  t.is((await get(plane, '/api', {authorization: `Bearer ${token}`})).status, 401);
});

test('a token bound to a secret or a node is invalid once that is deleted', async t => {
  const {plane, client, request, review} = await aPlane();
  await using _ = plane;
  const secret = await client.resource(kinds.secrets).create({metadata: {name: 'tied', namespace}});
  const node = await client.resource(kinds.nodes).create({metadata: {name: 'one'}});
  const bySecret = await request({boundObjectRef: {apiVersion: 'v1', kind: 'Secret', name: 'tied', uid: secret.metadata!.uid!}});
  const byNode = await request({boundObjectRef: {apiVersion: 'v1', kind: 'Node', name: 'one'}});

  t.deepEqual(own(bySecret)['plat.io']['secret'], {name: 'tied', uid: secret.metadata!.uid} as never);
  t.true((await review(bySecret.status!.token)).authenticated);
  t.like((await review(byNode.status!.token)).user?.extra, {
    'authentication.plat.io/node-name': ['one'],
    'authentication.plat.io/node-uid': [node.metadata!.uid],
  });

  await client.resource(kinds.secrets).delete('tied', {namespace});
  await client.resource(kinds.nodes).delete('one');
  t.is((await review(bySecret.status!.token)).error, '[invalid bearer token, service account token has been invalidated]');
  t.is((await review(byNode.status!.token)).error, '[invalid bearer token, service account token has been invalidated]');
});

const refused: readonly [title: string, spec: Partial<TokenRequest['spec']>, metadata: object, code: number, message: string][] = [
  [
    'ten minutes',
    {expirationSeconds: 599},
    {},
    422,
    'TokenRequest.authentication.plat.io "" is invalid: spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes',
  ],
  [
    '2^32 seconds',
    {expirationSeconds: 2 ** 32 + 1},
    {},
    422,
    'TokenRequest.authentication.plat.io "" is invalid: spec.expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds',
  ],
  [
    'its own name',
    {},
    {name: 'other'},
    422,
    'TokenRequest.authentication.plat.io "robot" is invalid: metadata.name: Invalid value: "other": must match the service account name if specified',
  ],
  [
    'the very account',
    {},
    {uid: 'u'},
    409,
    'Operation cannot be fulfilled on TokenRequest.authentication.plat.io "robot": the UID in the token request (u) does not match the UID of the service account (UID)',
  ],
  [
    'kinds that end',
    {boundObjectRef: {apiVersion: 'v1', kind: 'ConfigMap', name: 'x'}},
    {},
    400,
    'cannot bind token to object of type /v1, Kind=ConfigMap',
  ],
  [
    'kinds of the core group',
    {boundObjectRef: {apiVersion: 'apps/v1', kind: 'Pod', name: 'x'}},
    {},
    400,
    'cannot bind token to object of type apps/v1, Kind=Pod',
  ],
  ['objects with names', {boundObjectRef: {apiVersion: 'v1', kind: 'Pod'}}, {}, 400, 'Name parameter required.'],
  [
    'objects that are there, of whatever is no version',
    {boundObjectRef: {apiVersion: 'a/b/c', kind: 'Secret', name: 'x'}},
    {},
    404,
    'secrets "x" not found',
  ],
  ['objects that are there', {boundObjectRef: {apiVersion: 'v1', kind: 'Secret', name: 'x'}}, {}, 404, 'secrets "x" not found'],
  [
    'the very object',
    {boundObjectRef: {apiVersion: 'v1', kind: 'Secret', name: 'tied', uid: 'u'}},
    {},
    409,
    'Operation cannot be fulfilled on Secret "tied": the UID in the bound object reference (u) does not match the UID in record. The object might have been deleted and then recreated',
  ],
];

test('a token request is validated', async t => {
  const {plane, client, account, request} = await aPlane();
  await using _ = plane;
  await client.resource(kinds.secrets).create({metadata: {name: 'tied', namespace}});

  for (const [title, spec, metadata, code, message] of refused) {
    const status = await refusal(request(spec, metadata));
    t.is(status.message, message.replace('UID)', `${account.metadata!.uid})`), title);
    t.is(status.code, code, title);
  }
  const {message} = await refusal(
    client
      .resource(kinds.serviceAccounts)
      .create({metadata: {namespace}, spec: {}} as KubeObject, {subresource: 'token', name: 'nobody', namespace}),
  );
  t.is(message, 'serviceaccounts "nobody" not found');
});

test('a token is issued for the account in the path, whatever the body names', async t => {
  const {plane, account, request} = await aPlane(['--feature-gates=TokenRequestServiceAccountUIDValidation=false']);
  await using _ = plane;

  t.is((await request()).metadata?.uid, account.metadata!.uid);
  const other = await request({}, {uid: 'u'});
  t.is(other.metadata?.uid, 'u');
  t.like(own(other)['plat.io'], {serviceaccount: {name: 'robot', uid: account.metadata!.uid}} as never);
});

test('no token outlives the maximum expiration', async t => {
  const {plane, request} = await aPlane(['--service-account-max-token-expiration=1h']);
  await using _ = plane;
  const made = await request({expirationSeconds: 7200});

  t.is(made.spec.expirationSeconds, 3600);
  t.is(own(made).exp! - own(made).iat!, 3600);
});

test('keys may change and issuers be several: each of them is believed, the first one issues', async t => {
  const directory = mkdtempSync(join(tmpdir(), 'plat-test-'));
  t.teardown(() => rmSync(directory, {recursive: true}));
  const file = (name: string, content: string): string => {
    writeFileSync(join(directory, name), content);
    return join(directory, name);
  };
  const [old, current, foreign] = await Promise.all([generatePrivateKey({kind: 'rsa'}), generatePrivateKey(), generatePrivateKey()]);
  const keyFile = (name: string, key: typeof old): string => `--service-account-key-file=${file(name, publicKeyPem(key))}`;
  const {plane, clock, account, request, review} = await aPlane([
    keyFile('old.pub', old),
    keyFile('new.pub', current),
    `--service-account-signing-key-file=${file('new.key', privateKeyPem(current))}`,
    '--service-account-issuer=https://new.example.com',
    '--service-account-issuer=https://old.example.com',
    '--api-audiences=here',
  ]);
  await using _ = plane;
  const made = await request();
  const now = Math.floor(clock.now() / 1000);
  const forged = (iss: string, key: typeof old) =>
    signToken(
      {
        iss,
        sub: 'system:serviceaccount:default:robot',
        aud: ['here'],
        exp: now + 60,
        'plat.io': {namespace, serviceaccount: {name: 'robot', uid: account.metadata!.uid}},
      },
      tokenKey(key),
    );

  t.like(own(made), {iss: 'https://new.example.com', aud: ['here']});
  t.true((await review(made.status!.token)).authenticated);
  t.true((await review(forged('https://old.example.com', old))).authenticated);
  t.is((await review(forged('https://old.example.com', foreign))).error, '[invalid bearer token, invalid signature, no keys found]');
  t.is((await review(forged('https://other.example.com', current))).error, 'invalid bearer token');

  const {status, headers, json} = await get(plane, '/openid/v1/jwks');
  t.is(status, 403); // The anonymous may not discover the issuer.
  t.truthy(headers);
  t.truthy(json);
});

test('accounts discover the issuer and its keys', async t => {
  const {plane, request} = await aPlane(['--service-account-jwks-uri=https://keys.example.com/set']);
  await using _ = plane;
  const headers = {authorization: `Bearer ${(await request()).status!.token}`};
  const document = await get(plane, '/.well-known/openid-configuration', headers);
  const set = await get(plane, '/openid/v1/jwks/', headers);

  t.deepEqual(document.json as unknown, {
    issuer,
    jwks_uri: 'https://keys.example.com/set',
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256'],
  });
  t.is(document.headers['Cache-Control'], 'public, max-age=3600');
  t.like(set.json, {keys: {length: 1}});
  for (const accept of ['application/jwk-set+json', 'text/html, */*;q=0.1'])
    t.like((await get(plane, '/openid/v1/jwks', {...headers, accept})).json, {keys: {length: 1}}, accept);
  t.like((await get(plane, '/openid/v1/jwks', {...headers, accept: 'application/json'})).json, {
    code: 406,
    message: '406: Not Acceptable\n\nAvailable representations: application/jwk-set+json',
    details: {},
  });
});

test('a token kept in a secret is valid as long as the secret contains it', async t => {
  const directory = mkdtempSync(join(tmpdir(), 'plat-test-'));
  t.teardown(() => rmSync(directory, {recursive: true}));
  const key = await generatePrivateKey();
  writeFileSync(join(directory, 'sa.key'), privateKeyPem(key));
  const {plane, clock, client, account, review} = await aPlane([
    `--service-account-key-file=${join(directory, 'sa.key')}`,
    `--service-account-signing-key-file=${join(directory, 'sa.key')}`,
  ]);
  await using _ = plane;
  const claim = (what: string): string => `plat.io/serviceaccount/${what}`;
  const claims = {
    iss: 'plat/serviceaccount',
    sub: 'system:serviceaccount:default:robot',
    [claim('namespace')]: namespace,
    [claim('secret.name')]: 'kept',
    [claim('service-account.name')]: 'robot',
    [claim('service-account.uid')]: account.metadata!.uid,
  };
  const token = signToken(claims, tokenKey(key));
  const secrets = client.resource(kinds.secrets);
  const why = async (text: string): Promise<string | undefined> => (await review(text)).error;

  t.is(await why(token), '[invalid bearer token, Token has been invalidated]');
  await secrets.create({
    metadata: {name: 'kept', namespace, annotations: {'plat.io/service-account.name': 'robot'}},
    type: 'plat.io/service-account-token',
    data: {token: Buffer.from(token).toString('base64')},
  });
  t.like(await review(token), {
    authenticated: true,
    audiences: [issuer],
    user: {username: 'system:serviceaccount:default:robot', uid: account.metadata!.uid!},
  });
  t.is(
    (await secrets.get('kept', {namespace})).metadata!.labels!['plat.io/legacy-token-last-used'],
    new Date(clock.now()).toISOString().slice(0, 10),
  );

  t.is(await why(signToken({...claims, jti: 'x'}, tokenKey(key))), "[invalid bearer token, Token does not match server's copy]");
  t.is(await why(signToken({...claims, sub: 'x'}, tokenKey(key))), '[invalid bearer token, sub claim is invalid]');
  t.is(await why(signToken({...claims, [claim('secret.name')]: ''}, tokenKey(key))), '[invalid bearer token, secretName claim is missing]');

  await secrets.patch('kept', 'merge', {metadata: {labels: {'plat.io/legacy-token-invalid-since': '2026-01-01'}}}, {namespace});
  t.regex((await why(token)) ?? '', /the token in secret default\/kept for service account default\/robot has been marked invalid/);
});

test('without a signing key no token is issued, and invalid key files are reported by flag and name', async t => {
  const {plane, request} = await aPlane(['--service-account-signing-key-file=']);
  await using _ = plane;

  t.is((await refusal(request())).code, 404);
  await t.throwsAsync(aPlane(['--service-account-key-file=/nowhere']), {message: /^--service-account-key-file: .*\/nowhere/});
  await t.throwsAsync(aPlane(['--service-account-signing-key-file=/dev/null']), {
    message: '--service-account-signing-key-file: /dev/null: data does not contain a valid RSA, ECDSA or Ed25519 private key',
  });
});

test('validating admission sees a token request with its account and audiences', async t => {
  const {plane, client, account, request} = await aPlane();
  await using _ = plane;
  const apiVersion = plane.naming.apiVersion('admissionregistration', 'v1');
  await client.resource(kinds.validatingAdmissionPolicies).create({
    apiVersion,
    metadata: {name: 'tokens'},
    spec: {
      matchConstraints: {
        resourceRules: [{apiGroups: [''], apiVersions: ['*'], operations: ['CREATE'], resources: ['serviceaccounts/token']}],
      },
      validations: [
        {expression: 'false', messageExpression: "[object.metadata.name, object.metadata.uid, object.spec.audiences[0]].join(' ')"},
      ],
    },
  } as never);
  await client.resource(kinds.validatingAdmissionPolicyBindings).create({
    apiVersion,
    metadata: {name: 'tokens'},
    spec: {policyName: 'tokens', validationActions: ['Deny']},
  } as never);

  const {message} = (await t.throwsAsync(request()))!;
  t.true(message.endsWith(`denied request: robot ${account.metadata!.uid} ${issuer}`), message);
});
