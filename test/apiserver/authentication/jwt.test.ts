import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {generatePrivateKey} from '#src/pki/keys/keys.js';
import {jsonWebKey, tokenKey} from '#src/pki/keys/token.js';
import {aPlane} from '#test/controllers/plane.js';
import {anIssuer, configurationFile, type TestIssuer} from './issuer.js';

const clock = new VirtualClock();
const issuer = await anIssuer(() => clock.now());
test.after.always(() => issuer[Symbol.asyncDispose]());

const settingsOf = ({url, ca}: TestIssuer, more: object = {}, issuerMore: object = {}) => ({
  issuer: {url, certificateAuthority: ca, audiences: ['me'], ...issuerMore},
  claimMappings: {username: {claim: 'sub', prefix: 'o:'}},
  ...more,
});

const configuration = (...jwt: readonly object[]) => ({
  apiVersion: 'apiserver.config.k8s.io/v1',
  kind: 'AuthenticationConfiguration',
  jwt,
});

/** A server with these flags, and functions that show what it makes of a token. */
const aServer = async (...apiserverArgs: readonly string[]) => {
  const plane = await aPlane({naming: 'kubernetes', controllers: [], clock: new VirtualClock(clock.now()), apiserverArgs});
  const client = plane.client();
  return {
    plane,
    review: async (token: string) => (await client.resource(kinds.tokenReviews).create({spec: {token}})).status!,
    /** The status of a request with the token, and its user. */
    async whoAmI(token: string) {
      const {status, body} = await plane.api.handler({
        method: 'POST',
        url: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
        headers: {'content-type': 'application/json', authorization: `Bearer ${token}`},
        caller: {credentials: {certificates: []}},
        remoteAddress: '127.0.0.1',
        body: {kind: 'object', value: {}},
        signal: new AbortController().signal,
      });
      const object = body.kind === 'object' ? (body.object() as {status?: {userInfo?: object}}) : {};
      return {status, user: object.status?.userInfo};
    },
    [Symbol.asyncDispose]: () => plane[Symbol.asyncDispose](),
  };
};

const configured = (...jwt: readonly object[]) => aServer(`--authentication-config=${configurationFile(configuration(...jwt))}`);

const flagged = (...more: readonly string[]) =>
  aServer(`--oidc-issuer-url=${issuer.url}`, '--oidc-client-id=me', `--oidc-ca-file=${issuer.caFile}`, ...more);

test('a token of the issuer of the flags authenticates, with the issuer before its subject', async t => {
  await using server = await flagged();

  t.deepEqual(await server.whoAmI(issuer.token()), {
    status: 201,
    user: {username: `${issuer.url}#jane`, groups: ['system:authenticated']},
  });
});

test('each flag of the issuer has its effect', async t => {
  await using server = await flagged(
    '--oidc-username-claim=name',
    '--oidc-username-prefix=oidc:',
    '--oidc-groups-claim=teams',
    '--oidc-groups-prefix=team:',
    '--oidc-required-claim=realm=here',
    '--oidc-signing-algs=RS256,ES256',
  );
  const claims = {name: 'Jane', teams: ['a', 'b'], realm: 'here'};
  const {user} = await server.review(issuer.token(claims));

  t.deepEqual(user, {username: 'oidc:Jane', groups: ['team:a', 'team:b', 'system:authenticated']});
  t.deepEqual((await server.review(issuer.token({...claims, teams: 'one'}))).user?.groups, ['team:one', 'system:authenticated']);
  t.regex((await server.review(issuer.token({...claims, realm: 'there'}))).error!, /required claim realm value does not match/);
  t.regex((await server.review(issuer.token({...claims, realm: undefined}))).error!, /required claim realm not present in ID token/);
});

test('names are not prefixed if the prefix is a dash, and neither are addresses', async t => {
  await using dashed = await flagged('--oidc-username-prefix=-');
  await using addressed = await flagged('--oidc-username-claim=email');
  const email = 'jane@example.com';

  t.is((await dashed.review(issuer.token())).user?.username, 'jane');
  t.is((await addressed.review(issuer.token({email}))).user?.username, email);
  t.is((await addressed.review(issuer.token({email, email_verified: true}))).user?.username, email);
  t.regex((await addressed.review(issuer.token({email, email_verified: false}))).error!, /oidc: email not verified/);
});

const refusals: readonly (readonly [string, () => string | Promise<string>, RegExp])[] = [
  ['has expired', () => issuer.token({exp: clock.now() / 1000 - 1}), /token is expired/],
  ['has no expiry', () => issuer.token({exp: undefined}), /token is expired/],
  ['is not valid yet', () => issuer.token({nbf: clock.now() / 1000 + 3600}), /before the nbf/],
  ['is for another audience', () => issuer.token({aud: 'you'}), /expected audience in \["me"\] got \["you"\]/],
  ['has no subject', () => issuer.token({sub: undefined}), /parse username claims "sub": claim not present/],
  ['has an empty subject', () => issuer.token({sub: ''}), /oidc/],
  [
    'is signed by another key',
    async () => issuer.token({}, {...tokenKey(await generatePrivateKey({kind: 'rsa'})), id: issuer.key.id}),
    /failed to verify id token signature/,
  ],
  [
    'is signed by an algorithm that is not allowed',
    async () => issuer.token({}, tokenKey(await generatePrivateKey())),
    /signed with unsupported algorithm, expected \["RS256"\] got "ES256"/,
  ],
  ['is not signed', () => issuer.token().replace(/\.[^.]*$/, '.'), /verify/],
];
for (const [what, token, error] of refusals) {
  test.serial(`a token that ${what} is refused`, async t => {
    await using server = await flagged('--oidc-username-prefix=-');
    const text = await token();
    const status = await server.review(text);

    t.falsy(status.authenticated);
    t.regex(status.error!, error);
    t.is((await server.whoAmI(text)).status, 401);
  });
}

test('claims are mapped to users by expressions', async t => {
  await using server = await configured(
    settingsOf(issuer, {
      claimMappings: {
        username: {expression: 'claims.given + "." + claims.family'},
        groups: {expression: 'claims.roles.split(",")'},
        uid: {claim: 'id'},
        extra: [
          {key: 'example.com/tenant', valueExpression: 'claims.tenant'},
          {key: 'example.com/none', valueExpression: 'claims.?absent.orValue(null)'},
        ],
      },
      claimValidationRules: [{expression: 'claims.exp - claims.iat <= 3600', message: 'it lives too long'}],
      userValidationRules: [{expression: "!user.username.startsWith('system:')", message: 'the prefix is reserved'}],
    }),
  );
  const claims = {given: 'jane', family: 'doe', roles: 'a,b', id: '42', tenant: 'here'};

  t.deepEqual((await server.review(issuer.token(claims))).user, {
    username: 'jane.doe',
    uid: '42',
    groups: ['a', 'b', 'system:authenticated'],
    extra: {'example.com/tenant': ['here']},
  });
  const error = async (more: object) => (await server.review(issuer.token({...claims, ...more}))).error ?? '';
  t.regex(
    await error({exp: clock.now() / 1000 + 7200}),
    /validation expression 'claims.exp - claims.iat <= 3600' failed: it lives too long/,
  );
  t.regex(await error({given: 'system:x'}), /validation rule: validation expression '.*' failed: the prefix is reserved/);
  t.regex(
    await error({given: undefined}),
    /error evaluating username claim expression: expression '.*' resulted in error: no such key: given/,
  );
  t.regex(await error({given: 1, family: 2}), /error evaluating username claim expression/);
});

test('several issuers are trusted, each with its own keys and mappings', async t => {
  await using other = await anIssuer(() => clock.now());
  await using server = await configured(
    settingsOf(issuer),
    settingsOf(other, {claimMappings: {username: {claim: 'sub', prefix: 'other:'}}}),
  );

  t.is((await server.review(issuer.token())).user?.username, 'o:jane');
  t.is((await server.review(other.token())).user?.username, 'other:jane');
  t.falsy((await server.review(issuer.token({iss: other.url}))).authenticated);
  t.falsy((await server.review(issuer.token({iss: 'https://elsewhere'}))).authenticated);
});

test('one of several audiences is enough', async t => {
  await using server = await configured(settingsOf(issuer, {}, {audiences: ['me', 'us'], audienceMatchPolicy: 'MatchAny'}));

  t.true((await server.review(issuer.token({aud: 'us'}))).authenticated);
  t.falsy((await server.review(issuer.token({aud: 'them'}))).authenticated);
});

test('the discovery document may be at another address', async t => {
  await using own = await anIssuer(() => clock.now());
  own.answers.set('/.well-known/openid-configuration', {status: 404, body: ''});
  await using server = await configured(settingsOf(own, {}, {discoveryURL: `${own.url}/discovery`}));

  t.true((await server.review(own.token())).authenticated);
  t.deepEqual(own.requests, ['/discovery', '/keys']);
});

test('tokens are refused until the issuer is found, which is tried every ten seconds', async t => {
  await using own = await anIssuer(() => clock.now());
  const path = '/.well-known/openid-configuration';
  own.answers.set(path, {body: JSON.stringify({issuer: 'https://elsewhere', jwks_uri: `${own.url}/keys`})});
  await using server = await configured(settingsOf(own));
  t.regex((await server.review(own.token())).error!, /oidc: authenticator not initialized/);
  own.answers.set(path, {status: 500, body: 'later'});
  await server.plane.clock.advance(10_000);
  t.regex((await server.review(own.token())).error!, /oidc: authenticator not initialized/);
  own.answers.delete(path);
  await server.plane.clock.advance(10_000);

  t.true((await server.review(own.token())).authenticated);
  t.is(own.requests.filter(request => request === path).length, 3);
});

test('an issuer whose certificate is not trusted is not believed', async t => {
  await using own = await anIssuer(() => clock.now());
  await using server = await configured(settingsOf(own, {}, {certificateAuthority: issuer.ca}));

  t.regex((await server.review(own.token())).error!, /not initialized/);
  t.deepEqual(own.requests, []);
});

test('keys are kept, and fetched again for a key that is not known, once a second at most', async t => {
  await using own = await anIssuer(() => clock.now());
  await using server = await configured(settingsOf(own));
  const fetches = () => own.requests.filter(path => path === '/keys').length;
  t.true((await server.review(own.token())).authenticated);
  t.true((await server.review(own.token({jti: '2'}))).authenticated);
  t.is(fetches(), 1);
  await own.rotate();
  await server.plane.clock.advance(1000);
  t.true((await server.review(own.token())).authenticated);
  t.is(fetches(), 2);
  const foreign = tokenKey(await generatePrivateKey({kind: 'rsa'}));
  await Promise.all(Array.from({length: 20}, (_, jti) => server.review(own.token({jti: String(jti)}, foreign))));

  t.is(fetches(), 2);
});

test('keys are not fetched again while the issuer says that they are valid', async t => {
  await using own = await anIssuer(() => clock.now());
  own.answers.set('/keys', {headers: {'cache-control': 'public, max-age=600'}, body: JSON.stringify({keys: [jsonWebKey(own.key)]})});
  await using server = await configured(settingsOf(own));
  t.true((await server.review(own.token())).authenticated);
  await own.rotate();
  own.answers.delete('/keys');
  await server.plane.clock.advance(599_000);
  t.falsy((await server.review(own.token({exp: clock.now() / 1000 + 36_000}))).authenticated);
  await server.plane.clock.advance(2000);

  t.true((await server.review(own.token({exp: clock.now() / 1000 + 36_000}))).authenticated);
});

test('the time that tokens took is measured by issuer and result', async t => {
  await using server = await flagged();
  await server.review(issuer.token());
  await server.review(issuer.token({aud: 'you'}));
  const {body: text} = await server.plane.api.metrics.exposition();

  t.regex(
    text,
    /apiserver_authentication_jwt_authenticator_latency_seconds_count\{result="success",jwt_issuer_hash="sha256:[0-9a-f]{64}"\} 1/,
  );
  t.regex(
    text,
    /apiserver_authentication_jwt_authenticator_latency_seconds_count\{result="failure",jwt_issuer_hash="sha256:[0-9a-f]{64}"\} 1/,
  );
  const own = 'jwt_issuer_hash="sha256:[0-9a-f]{64}",apiserver_id_hash="sha256:[0-9a-f]{64}"';
  const name = 'apiserver_authentication_jwt_authenticator_jwks_fetch_last';
  t.regex(text, new RegExp(`^${name}_timestamp_seconds\\{result="success",${own}\\} [1-9]`, 'm'));
  t.regex(text, new RegExp(`^${name}_key_set_info\\{${own},hash="sha256:[0-9a-f]{64}"\\} 1$`, 'm'));
});

test('the flag about anonymous requests cannot be set beside the section of the file', async t => {
  const file = configurationFile({...configuration(), anonymous: {enabled: true}});

  await t.throwsAsync(aServer(`--authentication-config=${file}`, '--anonymous-auth=true'), {
    message:
      'anonymous: Forbidden: --anonymous-auth flag cannot be set when anonymous field is configured in authentication configuration file',
  });
});

for (const [name, section, expected] of [
  ['on some paths', {enabled: true, conditions: [{path: '/livez'}]}, {'/livez': 200, '/healthz': 401, '/livez/ping': 401}],
  ['not at all', {enabled: false}, {'/livez': 401}],
  ['everywhere', {enabled: true}, {'/livez': 200, '/healthz': 200}],
] as const) {
  test(`anonymous requests are served ${name} if the file says so`, async t => {
    await using server = await aServer(`--authentication-config=${configurationFile({...configuration(), anonymous: section})}`);
    const statusOf = async (url: string) =>
      (
        await server.plane.api.handler({
          method: 'GET',
          url,
          headers: {},
          caller: {credentials: {certificates: []}},
          remoteAddress: '127.0.0.1',
          signal: new AbortController().signal,
        })
      ).status;
    const found = Object.fromEntries(await Promise.all(Object.keys(expected).map(async path => [path, await statusOf(path)] as const)));

    t.deepEqual(found, expected);
  });
}
