import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {StatusError} from '#src/api/status.js';
import {jsonWebKey, readToken, tokenKey} from '#src/pki/keys/token.js';
import {signerMetrics} from '#src/apiserver/authentication/external-signer/metrics.js';
import {SignerService} from '#src/apiserver/authentication/external-signer/service.js';
import {noLog} from '#src/base/log.js';
import {noMeter} from '#src/base/meter.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {wire} from '#test/apiserver/wire.js';
import {aPlane, issuer, namespace, own} from './accounts.js';
import {aKey, SignerPlugin} from './signer-plugin.js';

const flag = ({socket}: SignerPlugin): string => `--service-account-signing-endpoint=${socket}`;
const startWith = async (plugin: SignerPlugin, ...args: readonly string[]) => aPlane([flag(plugin), ...args]);
const failure = async (plugin: SignerPlugin, ...args: readonly string[]): Promise<string> =>
  startWith(plugin, ...args).then(
    async ({plane}) => {
      await plane[Symbol.asyncDispose]();
      return 'started';
    },
    (error: unknown) => (error as Error).message,
  );
const metric = (text: string, name: string): string | undefined =>
  text
    .split('\n')
    .find(line => line.startsWith(`apiserver_externaljwt_${name} `))
    ?.split(' ')[1];

test('tokens are signed by the external signer, verified by its keys, and discoverable', async t => {
  await using plugin = await SignerPlugin.start('one', 'two');
  plugin.keys = [plugin.keys[0]!, {...plugin.keys[1]!, isUndiscoverable: true}];
  const env = await startWith(plugin);
  await using _ = env.plane;
  const made = await env.request();
  const {token} = made.status!;

  t.is(readToken(token)!.keyId, 'one');
  t.like(own(made), {iss: issuer, sub: 'system:serviceaccount:default:robot', aud: [issuer]});
  t.true((await env.review(token)).authenticated);
  const client = wire(env.plane.api.handler);
  const keySet = await client.get('/openid/v1/jwks');
  t.deepEqual(JSON.parse(keySet.text), {keys: [{...jsonWebKey(tokenKey(plugin.keys[0]!.key)), kid: 'one'}]});
  t.is(keySet.header('Cache-Control'), 'public, max-age=60');
  t.deepEqual(JSON.parse((await client.get('/.well-known/openid-configuration')).text).id_token_signing_alg_values_supported, ['ES256']);

  const {text} = await client.get('/metrics');
  t.is(metric(text, 'sign_request_total{code="OK"}'), '1');
  t.is(metric(text, 'fetch_keys_request_total{code="OK"}'), '1');
  t.is(metric(text, 'fetch_keys_data_timestamp'), '1700000000.5');
  t.is(metric(text, 'fetch_keys_success_timestamp'), String(env.clock.now() / 1000));
  for (const method of ['Sign', 'FetchKeys', 'Metadata'])
    t.is(metric(text, `request_duration_seconds_count{method="/v1.ExternalJWTSigner/${method}",code="OK"}`), '1');
});

test('no token is valid longer than the signer supports', async t => {
  await using plugin = await SignerPlugin.start('one');
  const env = await startWith(plugin);
  await using _ = env.plane;
  const {plane, client, request} = env;
  const pod = {serviceAccountName: 'robot', automountServiceAccountToken: false, containers: [{name: 'c', image: 'i'}]};
  await client.resource(kinds.pods).create({metadata: {name: 'p', namespace}, spec: pod});
  const lifeOf = (made: Awaited<ReturnType<typeof request>>): number => own(made).exp! - own(made).iat!;

  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/robot/token`;
  const shortened = await wire(plane.api.handler).post(path, {spec: {expirationSeconds: 90_000}});
  t.regex(String(shortened.header('Warning')), /requested expiration of 90000 seconds shortened to 86400 seconds/);
  t.is(lifeOf(await request({expirationSeconds: 90_000})), 86_400);
  const extended = await request({expirationSeconds: 3607, boundObjectRef: {apiVersion: 'v1', kind: 'Pod', name: 'p'}});
  t.is(lifeOf(extended), 86_400);
  t.is(extended.spec.expirationSeconds, 3607);
});

test('the keys are fetched as often as the signer advises, and revoked ones verify no longer', async t => {
  await using plugin = await SignerPlugin.start('one');
  const env = await startWith(plugin);
  await using _ = env.plane;
  const {clock, request, review} = env;
  const {token} = (await request()).status!;
  t.true((await review(token)).authenticated);
  t.is(plugin.count('FetchKeys'), 1);

  plugin.keys = [await aKey('two')];
  await clock.advance(59_000);
  t.true((await review(token)).authenticated);
  await clock.advance(2000);
  t.is(plugin.count('FetchKeys'), 2);
  t.is((await review(token)).error, '[invalid bearer token, invalid signature, no keys found]');
  t.true((await review((await request()).status!.token)).authenticated);
});

test('keys stay in force while they cannot be fetched, which is tried again after ten seconds', async t => {
  await using plugin = await SignerPlugin.start('one');
  const env = await startWith(plugin);
  await using _ = env.plane;
  const {clock, request, review} = env;
  const {token} = (await request()).status!;

  plugin.failing.add('FetchKeys');
  await clock.advance(61_000);
  t.is(plugin.count('FetchKeys'), 2);
  t.true((await review(token)).authenticated);
  plugin.failing.clear();
  plugin.keys = [await aKey('two')];
  await clock.advance(10_000);
  t.is(plugin.count('FetchKeys'), 3);
  t.is((await review(token)).error, '[invalid bearer token, invalid signature, no keys found]');
  const {text} = await wire(env.plane.api.handler).get('/metrics');
  t.is(metric(text, 'fetch_keys_request_total{code="Unavailable"}'), '1');
});

test('a key that appears after the last fetch is fetched for the first token with its id', async t => {
  await using plugin = await SignerPlugin.start('one');
  const env = await startWith(plugin);
  await using _ = env.plane;
  plugin.keys = [await aKey('two'), ...plugin.keys];
  const {token} = (await env.request()).status!;

  t.is(plugin.count('FetchKeys'), 2);
  t.true((await env.review(token)).authenticated);
  t.is(plugin.count('FetchKeys'), 2);
});

test('a call waits until the signer listens, or its time is over', async t => {
  await using plugin = new SignerPlugin();
  const clock = new VirtualClock();
  await using service = new SignerService(plugin.socket, {clock, log: noLog, metrics: signerMetrics(noMeter, clock)});

  const late = t.throwsAsync(service.maxTokenSeconds(5000));
  await clock.advance(6000);
  t.is(
    (await late)?.message,
    `rpc error: code = DeadlineExceeded desc = context deadline exceeded: unix://${plugin.socket}: transport: Error while dialing: dial unix ${plugin.socket}: connect: no such file or directory`,
  );
  const waiting = service.maxTokenSeconds(5000);
  await clock.advance(1000);
  await plugin.listen();
  await clock.advance(1000);
  t.is(await waiting, 86_400);
});

const unusable: readonly (readonly [string, (plugin: SignerPlugin) => void])[] = [
  ['while signing jwt: rpc error: code = Unavailable desc = Sign is out of order', plugin => plugin.failing.add('Sign')],
  ['while validating header: bad type', plugin => (plugin.header = {typ: 'at+jwt'})],
  ['while validating header: key id missing', plugin => (plugin.header = {kid: ''})],
  ['while validating header: key id longer than 1 kb', plugin => (plugin.header = {kid: 'x'.repeat(1025)})],
  ['while validating header: bad signing algorithm "none"', plugin => (plugin.header = {alg: 'none'})],
  ['while validating header: while parsing header JSON: json: unknown field "crit"', plugin => (plugin.header = {crit: ['b64']})],
  [
    'while validating header: key used for signing JWT (kid: old) is excluded from OIDC discovery docs',
    plugin => (plugin.header = {kid: 'old'}),
  ],
  ['empty signature returned', plugin => (plugin.signature = '')],
];

test('what the signer returns is checked, and refused with the reason', async t => {
  await using plugin = await SignerPlugin.start('one', 'old');
  plugin.keys = [plugin.keys[0]!, {...plugin.keys[1]!, isUndiscoverable: true}];
  const env = await startWith(plugin);
  await using _ = env.plane;

  for (const [message, spoil] of unusable) {
    spoil(plugin);
    const error = await t.throwsAsync(env.request());
    t.is((error as StatusError).status.code, 500);
    t.is(error.message, `Internal error occurred: failed to generate token: ${message}`);
    plugin.failing.clear();
    plugin.header = {};
    plugin.signature = undefined;
  }
  const {text} = await wire(env.plane.api.handler).get('/metrics');
  t.is(metric(text, 'sign_request_total{code="Unavailable"}'), '1');
  t.is(metric(text, 'sign_request_total{code="unknown-non-grpc"}'), String(unusable.length - 1));
});

const prefix = '--service-account-signing-endpoint: while setting up external-jwt-signer: ';
const filling = `${prefix}while initially filling key cache: while performing initial cache fill: while fetching token verification keys: `;
const wrongStarts: readonly (readonly [string, (plugin: SignerPlugin) => void, string?])[] = [
  [`${filling}found invalid refresh hint (0s)`, plugin => (plugin.refreshSeconds = 0)],
  [`${filling}found no keys`, plugin => (plugin.keys = [])],
  [`${filling}invalid data timestamp: proto: invalid nil Timestamp`, plugin => (plugin.dataAt = undefined)],
  [`${filling}found invalid public key id ""`, plugin => (plugin.keys = [{...plugin.keys[0]!, id: ''}])],
  [
    `${filling}while getting externally supported jwt signing keys: rpc error: code = Unavailable desc = FetchKeys is out of order`,
    plugin => plugin.failing.add('FetchKeys'),
  ],
  [`${prefix}rpc error: code = Unavailable desc = Metadata is out of order`, plugin => plugin.failing.add('Metadata')],
  [
    `${prefix}max token life supported by external-jwt-signer (599s) is less than acceptable (min 600s)`,
    plugin => (plugin.maxSeconds = 599),
  ],
  [
    '--service-account-max-token-expiration cannot be set longer than the token expiration supported by --service-account-signing-endpoint: 25h0m0s > 24h0m0s',
    () => {},
    '--service-account-max-token-expiration=25h',
  ],
];

for (const [message, spoil, arg] of wrongStarts) {
  test(`the server does not start with: ${message.slice(message.lastIndexOf(': ') + 2)}`, async t => {
    await using plugin = await SignerPlugin.start('one');
    spoil(plugin);

    t.is(await failure(plugin, ...(arg ? [arg] : [])), message);
  });
}
