import test, {type ExecutionContext} from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {aPlane} from '#test/controllers/plane.js';
import {aConnectProxy} from '#test/transport/connect-proxy.js';
import {anIssuer, configurationFile, type TestIssuer} from './issuer.js';

const clock = new VirtualClock();

/** A server whose tokens have their groups in the claim `groups`, and its issuer. */
const aServer = async (t: ExecutionContext, groups: object = {claim: 'groups', prefix: ''}, egress: readonly string[] = []) => {
  const issuer = await anIssuer(() => clock.now());
  const settings = {
    issuer: {
      url: issuer.url,
      certificateAuthority: issuer.ca,
      audiences: ['me'],
      ...(egress.length > 0 ? {egressSelectorType: 'cluster'} : {}),
    },
    claimMappings: {username: {claim: 'sub', prefix: ''}, groups},
  };
  const file = configurationFile({apiVersion: 'apiserver.config.k8s.io/v1', kind: 'AuthenticationConfiguration', jwt: [settings]});
  const plane = await aPlane({
    naming: 'kubernetes',
    controllers: [],
    clock: new VirtualClock(clock.now()),
    apiserverArgs: [`--authentication-config=${file}`, ...egress],
  });
  t.teardown(async () => {
    await plane[Symbol.asyncDispose]();
    await issuer[Symbol.asyncDispose]();
  });
  const client = plane.client();
  const review = async (token: string) => (await client.resource(kinds.tokenReviews).create({spec: {token}})).status!;
  return {plane, issuer, review};
};

/** The claims of a token whose groups are at an endpoint. */
const elsewhere = ({url}: TestIssuer, endpoint = `${url}/groups`) => ({
  _claim_names: {groups: 'src1'},
  _claim_sources: {src1: {endpoint, access_token: 'pass'}},
});

test('groups are fetched from the endpoint that the token names, with its access token', async t => {
  const {issuer, review} = await aServer(t);
  issuer.answers.set('/groups', {body: issuer.token({groups: ['a', 'b']})});
  const {user} = await review(issuer.token(elsewhere(issuer)));

  t.deepEqual(user, {username: 'jane', groups: ['a', 'b', 'system:authenticated']});
  t.is(issuer.credentials.get('/groups'), 'Bearer pass');
});

test('groups in the token itself are used, and nothing is fetched', async t => {
  const {issuer, review} = await aServer(t);
  const {user} = await review(issuer.token({...elsewhere(issuer), groups: ['own']}));

  t.deepEqual(user?.groups, ['own', 'system:authenticated']);
  t.false(issuer.requests.includes('/groups'));
});

test('the claim is not resolved if groups are mapped by an expression', async t => {
  const {issuer, review} = await aServer(t, {expression: '["fixed"]'});
  const {user} = await review(issuer.token(elsewhere(issuer)));

  t.deepEqual(user?.groups, ['fixed', 'system:authenticated']);
  t.false(issuer.requests.includes('/groups'));
});

test('the endpoint of another issuer is believed if its own keys verify the answer', async t => {
  const {issuer, review} = await aServer(t);
  const other = `${issuer.url}/other`;
  issuer.answers.set('/other/.well-known/openid-configuration', {body: JSON.stringify({issuer: other, jwks_uri: `${issuer.url}/keys`})});
  issuer.answers.set('/groups', {body: issuer.token({iss: other, groups: ['theirs']})});

  t.deepEqual((await review(issuer.token(elsewhere(issuer)))).user?.groups, ['theirs', 'system:authenticated']);
});

test('of the issuers of distributed claims the last sixteen are remembered', async t => {
  const {issuer, review} = await aServer(t);
  const documents = () => issuer.requests.filter(path => path.startsWith('/other')).length;
  const askedOf = async (index: number) => {
    const other = `${issuer.url}/other${index}`;
    issuer.answers.set(`/other${index}/.well-known/openid-configuration`, {
      body: JSON.stringify({issuer: other, jwks_uri: `${issuer.url}/keys`}),
    });
    issuer.answers.set('/groups', {body: issuer.token({iss: other, groups: ['theirs']})});
    return (await review(issuer.token({...elsewhere(issuer), jti: `${index} ${documents()}`}))).authenticated;
  };
  for (let index = 0; index < 17; index++) t.true(await askedOf(index));
  t.is(documents(), 17);
  t.true(await askedOf(16));
  t.is(documents(), 17);
  t.true(await askedOf(0));

  t.is(documents(), 18);
});

const get = (issuer: TestIssuer) => `${issuer.url}/groups`;
const refusals: readonly (readonly [
  what: string,
  claims: (issuer: TestIssuer) => object,
  answer: (issuer: TestIssuer) => {status?: number; headers?: Record<string, string>; body: string},
  error: (issuer: TestIssuer) => string,
])[] = [
  [
    'names a source that is missing',
    () => ({_claim_names: {groups: 'x'}, _claim_sources: {}}),
    () => ({body: ''}),
    () => 'id token _claim_names contained a source x missing in _claims_sources',
  ],
  ['names no sources', () => ({_claim_names: {groups: 'x'}}), () => ({body: ''}), () => 'oidc: no claim sources'],
  [
    'has names that are no texts',
    () => ({_claim_names: {groups: 1}, _claim_sources: {}}),
    () => ({body: ''}),
    () => 'oidc: error parsing distributed claim names: json: cannot unmarshal number into Go value of type string',
  ],
  [
    'has a list of sources',
    () => ({_claim_names: {groups: 'x'}, _claim_sources: []}),
    () => ({body: ''}),
    () => 'oidc: could not parse claim sources: json: cannot unmarshal array into Go value of type map[string]oidc.endpoint',
  ],
  [
    'names an endpoint that fails',
    elsewhere,
    () => ({status: 500, body: ''}),
    () => 'while getting distributed claim "groups": error while getting distributed claim JWT: 500',
  ],
  [
    'names an endpoint without TLS',
    issuer => elsewhere(issuer, 'http://127.0.0.1:1/groups'),
    () => ({body: ''}),
    () => 'while getting distributed claim "groups": Get "http://127.0.0.1:1/groups": the URL scheme must be https',
  ],
  [
    'names an endpoint that returns no token',
    elsewhere,
    () => ({body: '{"groups":["a"]}'}),
    issuer => `getting untrusted issuer from endpoint ${get(issuer)} failed for claim "groups": token is not compact JWT`,
  ],
  [
    'names an endpoint whose token lacks the claim',
    elsewhere,
    issuer => ({body: issuer.token()}),
    issuer => `jwt returned by distributed claim endpoint "${get(issuer)}" did not contain claim: groups`,
  ],
  [
    'names an endpoint whose token is for others',
    elsewhere,
    issuer => ({body: issuer.token({aud: 'you', groups: ['a']})}),
    () => 'verify distributed claim token: oidc: expected audience in ["me"] got ["you"]',
  ],
  [
    'names an endpoint whose token has expired',
    elsewhere,
    issuer => ({body: issuer.token({exp: 1, groups: ['a']})}),
    () => 'verify distributed claim token: oidc: token is expired (Token Expiry: 1970-01-01T00:00:01.000Z)',
  ],
  [
    'names an endpoint whose issuer is not reached',
    elsewhere,
    issuer => ({body: issuer.token({iss: `${issuer.url}/gone`, groups: ['a']})}),
    ({url}) => `verifying untrusted issuer ${url}/gone failed: verifier not initialized for issuer: "${url}/gone"`,
  ],
];
for (const [what, claims, answer, error] of refusals) {
  test(`a token that ${what} is refused`, async t => {
    const {issuer, review} = await aServer(t);
    issuer.answers.set('/groups', answer(issuer));
    const status = await review(issuer.token(claims(issuer) as Record<string, unknown>));

    t.falsy(status.authenticated);
    t.true(status.error!.includes(`oidc: could not expand distributed claims: ${error(issuer)}`), status.error);
  });
}

test('an endpoint whose answer is longer than a megabyte is refused', async t => {
  const {issuer, review} = await aServer(t);
  issuer.answers.set('/groups', {body: 'x'.repeat((1 << 20) + 1)});
  const {error} = await review(issuer.token(elsewhere(issuer)));

  t.regex(error!, /while getting distributed claim "groups": Get /);
});

test('endpoints are reached through the egress selection of the issuer', async t => {
  using proxy = await aConnectProxy();
  const selections = [
    {name: 'cluster', connection: {proxyProtocol: 'HTTPConnect', transport: {tcp: {url: `http://127.0.0.1:${proxy.port}`}}}},
  ];
  const configuration = {apiVersion: 'apiserver.k8s.io/v1beta1', kind: 'EgressSelectorConfiguration', egressSelections: selections};
  const {issuer, review} = await aServer(t, undefined, [`--egress-selector-config-file=${configurationFile(configuration)}`]);
  issuer.answers.set('/groups', {body: issuer.token({groups: ['a']})});
  await review(issuer.token());
  const before = proxy.tunnels.length;

  t.deepEqual((await review(issuer.token(elsewhere(issuer)))).user?.groups, ['a', 'system:authenticated']);
  t.true(proxy.tunnels.length > before);
});

test('the access token does not follow a redirect to another host', async t => {
  const {issuer, review} = await aServer(t);
  issuer.answers.set('/groups', {status: 302, headers: {location: `${issuer.url.replace('127.0.0.1', 'localhost')}/moved`}, body: ''});
  issuer.answers.set('/moved', {body: issuer.token({groups: ['a']})});

  t.deepEqual((await review(issuer.token(elsewhere(issuer)))).user?.groups, ['a', 'system:authenticated']);
  t.is(issuer.credentials.get('/moved'), undefined);
});
