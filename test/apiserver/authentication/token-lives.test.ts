import {mkdtempSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import type {AuthenticationRequest} from '#src/api/authentication.js';
import {kinds} from '#src/api/kinds/index.js';
import type {TokenRequest} from '#src/api/types.js';
import {boundTokens} from '#src/apiserver/authentication/service-account/bound-tokens.js';
import {secretTokens} from '#src/apiserver/authentication/service-account/secret-tokens.js';
import {tokenUses} from '#src/apiserver/authentication/service-account/token-uses.js';
import {registryReader} from '#src/apiserver/registry/read/reader.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {generatePrivateKey, privateKeyPem, publicKeyPem} from '#src/pki/keys/keys.js';
import {signToken, tokenKey} from '#src/pki/keys/token.js';
import {fixedKeys} from '#src/apiserver/authentication/service-account/verifying-keys.js';
import {parseVerifyingKeys} from '#src/pki/keys/token-keys.js';
import {wire} from '#test/apiserver/wire.js';
import {startEnvironment, words} from '#test/resources/environment.js';
import {aPlane, issuer, minutes, namespace, own} from './accounts.js';

type Environment = Awaited<ReturnType<typeof aPlane>>;

const ended = '[invalid bearer token, service account token has been invalidated]';

const key = await generatePrivateKey();
const aFile = (content: string): string => {
  const file = join(mkdtempSync(join(tmpdir(), 'plat-tokens-')), 'key');
  writeFileSync(file, content);
  return file;
};
const keyFile = aFile(privateKeyPem(key));

/** The claims of a token in the secret `kept`. */
const secretClaims = (uid: string, more: object = {}) => ({
  iss: 'plat/serviceaccount',
  sub: 'system:serviceaccount:default:robot',
  'plat.io/serviceaccount/namespace': namespace,
  'plat.io/serviceaccount/secret.name': 'kept',
  'plat.io/serviceaccount/service-account.name': 'robot',
  'plat.io/serviceaccount/service-account.uid': uid,
  ...more,
});

const aPod = async ({client}: Environment, name: string, spec: object = {}) =>
  client.resource(kinds.pods).create({
    metadata: {name, namespace},
    spec: {serviceAccountName: 'robot', automountServiceAccountToken: false, containers: [{name: 'c', image: 'i'}], ...spec},
  });

const forPod = async (env: Environment, name: string, seconds = 3600): Promise<TokenRequest> =>
  env.request({expirationSeconds: seconds, boundObjectRef: {apiVersion: 'v1', kind: 'Pod', name}});

/** The metrics of token use, by name. */
const metricsIn = (text: string): Record<string, number> =>
  Object.fromEntries([...text.matchAll(/^serviceaccount_(\w+) (\d+)$/gm)].map(([, name = '', value]) => [name, Number(value)]));

test('a bound token names its pod and is invalid after the pod is deleted', async t => {
  const env = await aPlane();
  await using _ = env.plane;
  const {client, review} = env;
  const pods = client.resource(kinds.pods);
  const pod = await aPod(env, 'p');
  const {token} = (await forPod(env, 'p')).status!;

  t.like((await review(token)).user?.extra, {
    'authentication.plat.io/pod-name': ['p'],
    'authentication.plat.io/pod-uid': [pod.metadata!.uid],
  });
  await pods.delete('p', {namespace, gracePeriodSeconds: 0});
  t.is((await review(token)).error, ended);
  const again = await aPod(env, 'p');
  t.is(
    (await review(token)).error,
    `[invalid bearer token, pod UID (${again.metadata!.uid}) does not match service account pod ref claim (${pod.metadata!.uid})]`,
  );
});

test('a token of a pod that is ending is valid until a minute after the pod should be gone, wherever its node went', async t => {
  const env = await aPlane();
  await using _ = env.plane;
  const {client, clock, review} = env;
  const node = await client.resource(kinds.nodes).create({metadata: {name: 'n'}});
  await aPod(env, 'p', {nodeName: 'n'});
  const made = await forPod(env, 'p');
  const {token} = made.status!;
  t.deepEqual(own(made)['plat.io']['node'], {name: 'n', uid: node.metadata!.uid} as never);

  await client.resource(kinds.nodes).delete('n');
  t.like((await review(token)).user?.extra, {
    'authentication.plat.io/node-name': ['n'],
    'authentication.plat.io/node-uid': [node.metadata!.uid],
  });
  await client.resource(kinds.pods).delete('p', {namespace, gracePeriodSeconds: 30});
  await clock.advance(minutes(1.5));
  t.true((await review(token)).authenticated);
  await clock.advance(1000);
  t.is((await review(token)).error, ended);
});

test('a token that admission requests is valid for a year, with a time after which it is stale', async t => {
  const env = await aPlane();
  await using _ = env.plane;
  await aPod(env, 'p');
  const made = await forPod(env, 'p', 3607);
  const now = Math.floor(env.clock.now() / 1000);

  t.is(made.spec.expirationSeconds, 3607);
  t.is(made.status!.expirationTimestamp, new Date((now + 3607) * 1000).toISOString().replace('.000', ''));
  t.is(own(made).exp! - now, 365 * 24 * 3600);
  t.is(own(made)['plat.io']['warnafter'] as unknown, now + 3607);
  t.true((await env.review(made.status!.token)).authenticated);
  t.like(metricsIn((await wire(env.plane.api.handler).get('/metrics')).text), {valid_tokens_total: 1, stale_tokens_total: 0});
});

test('a token for another time, another audience, or bound to no pod is valid as long as requested', async t => {
  const env = await aPlane();
  await using _ = env.plane;
  await aPod(env, 'p');
  const pod = {boundObjectRef: {apiVersion: 'v1', kind: 'Pod', name: 'p'}};
  for (const spec of [
    {expirationSeconds: 3600, ...pod},
    {expirationSeconds: 3607, audiences: ['vault'], ...pod},
    {expirationSeconds: 3607},
  ]) {
    const made = await env.request(spec);
    t.is(own(made).exp! - own(made).iat!, spec.expirationSeconds);
    t.is(own(made)['plat.io']['warnafter'], undefined);
  }
});

test('no token is valid longer than requested where extension is off', async t => {
  const env = await aPlane(['--service-account-extend-token-expiration=false']);
  await using _ = env.plane;
  await aPod(env, 'p');
  const made = await forPod(env, 'p', 3607);

  t.is(own(made).exp! - own(made).iat!, 3607);
});

test('a token kept in a secret is believed for its signature where nothing is looked up; one that was issued never is', async t => {
  const env = await aPlane([
    `--service-account-key-file=${keyFile}`,
    `--service-account-signing-key-file=${keyFile}`,
    '--service-account-lookup=false',
  ]);
  await using _ = env.plane;
  const {client, review, request} = env;
  const issued = (await request()).status!.token;
  await client.resource(kinds.serviceAccounts).delete('robot', {namespace});

  t.like(await review(signToken(secretClaims('gone'), tokenKey(key))), {
    authenticated: true,
    user: {username: 'system:serviceaccount:default:robot', uid: 'gone'},
  });
  t.is((await review(issued)).error, '[invalid bearer token, serviceaccounts "robot" not found]');
});

test('without files of keys the TLS key of the server verifies tokens, and issues none', async t => {
  const env = await aPlane([
    '--service-account-key-file=',
    '--service-account-signing-key-file=',
    `--tls-private-key-file=${keyFile}`,
    `--tls-cert-file=${aFile('')}`,
    '--service-account-lookup=false',
  ]);
  await using _ = env.plane;
  const token = signToken(secretClaims('u'), tokenKey(key));

  t.true((await env.review(token)).authenticated);
  t.is(
    (await env.review(signToken(secretClaims('u'), tokenKey(await generatePrivateKey())))).error,
    '[invalid bearer token, invalid signature, no keys found]',
  );
  await t.throwsAsync(env.request(), {message: /could not find the requested resource|not found/});
});

test('without any key no token of an account is believed', async t => {
  const env = await aPlane([
    '--service-account-key-file=',
    '--service-account-signing-key-file=',
    '--service-account-lookup=false',
    `--cert-dir=${mkdtempSync(join(tmpdir(), 'plat-tokens-'))}`,
  ]);
  await using _ = env.plane;

  t.is((await env.review(signToken(secretClaims('u'), tokenKey(key)))).error, 'invalid bearer token');
});

/** The token authenticators alone, over a server with the account `robot` and its token in the secret `kept`. */
const someAuthenticators = async () => {
  const {of, clock, server} = await startEnvironment();
  const metrics = new MetricsRegistry();
  const [secrets, accounts] = [of(kinds.secrets), of(kinds.serviceAccounts)];
  const account = await accounts.create({metadata: {name: 'robot', namespace}});
  const token = signToken(secretClaims(account.metadata!.uid!), tokenKey(key));
  const data = {token: Buffer.from(token).toString('base64')};
  await secrets.create({
    metadata: {name: 'kept', namespace, annotations: {'plat.io/service-account.name': 'robot'}},
    type: 'plat.io/service-account-token',
    data,
  });
  const days: string[] = [];
  const shared = {
    naming: words,
    clock,
    reader: registryReader(server.registry),
    keys: fixedKeys(parseVerifyingKeys(Buffer.from(publicKeyPem(key)))),
    audiences: [issuer],
    note: tokenUses(metrics, words),
  };
  const used = (_: unknown, day: string) => Promise.resolve(void days.push(day));
  const authenticators = [secretTokens({...shared, lookup: true, used}), boundTokens({...shared, issuers: [issuer]})];
  const use = async (own = token) => {
    const reported: string[] = [];
    const request: AuthenticationRequest = {
      credentials: {certificates: []},
      headers: {authorization: `Bearer ${own}`},
      annotate: (name, text) => void reported.push(`${name}: ${text}`),
      warn: text => void reported.push(text),
    };
    for (const authenticator of authenticators) await authenticator.authenticate(request);
    return reported;
  };
  const labelled = (labels: Record<string, string>) => secrets.patch('kept', 'merge', {metadata: {labels}}, {namespace});
  const counted = async () => metricsIn((await metrics.exposition()).body);
  return {use, days, clock, accounts, account, labelled, counted};
};

const legacy = 'authentication.plat.io/legacy-token: system:serviceaccount:default:robot';
const manual = [legacy, 'authentication.plat.io/legacy-token-manual-secret: kept'];

test('a token kept in a secret is noted, with the day of its use unless another server did', async t => {
  const {use, days, clock, labelled, counted} = await someAuthenticators();

  t.deepEqual(await use(), manual);
  await labelled({'plat.io/legacy-token-last-used': '2026-01-01'});
  await use();
  await clock.advance(24 * 3_600_000);
  await use();
  await labelled({'plat.io/legacy-token-last-used': '2026-01-03'});
  await use();
  t.deepEqual(days, ['2026-01-01', '2026-01-02']);
  t.like(await counted(), {legacy_tokens_total: 4, legacy_manual_token_uses_total: 4, legacy_auto_token_uses_total: 0});
});

test('a token that was made for its account is warned of, one marked invalid is refused and noted nevertheless', async t => {
  const {use, days, accounts, labelled, counted} = await someAuthenticators();
  await accounts.patch('robot', 'merge', {secrets: [{name: 'kept'}]}, {namespace});

  t.deepEqual(await use(), [
    legacy,
    'Use tokens from the TokenRequest API or manually created secret-based tokens instead of auto-generated secret-based tokens.',
    'authentication.plat.io/legacy-token-autogenerated-secret: kept',
  ]);
  await labelled({'plat.io/legacy-token-invalid-since': '2026-01-01'});
  t.deepEqual(await use(), [legacy, 'authentication.plat.io/legacy-token-invalidated: kept/default']);
  t.is(days.length, 2);
  t.like(await counted(), {legacy_auto_token_uses_total: 1, invalid_legacy_auto_token_uses_total: 1});
});

test('a token that should have been renewed is noted with how late it is', async t => {
  const {use, clock, account, counted} = await someAuthenticators();
  const now = Math.floor(clock.now() / 1000);
  const own = {namespace, serviceaccount: {name: 'robot', uid: account.metadata!.uid}, warnafter: now + 60};
  const token = signToken(
    {iss: issuer, sub: 'system:serviceaccount:default:robot', aud: [issuer], exp: now + 3600, 'plat.io': own},
    tokenKey(key),
  );

  t.deepEqual(await use(token), []);
  await clock.advance(63_000);
  t.deepEqual(await use(token), [
    'authentication.plat.io/stale-token: subject: system:serviceaccount:default:robot, seconds after warning threshold: 3',
  ]);
  t.like(await counted(), {valid_tokens_total: 1, stale_tokens_total: 1});
});
