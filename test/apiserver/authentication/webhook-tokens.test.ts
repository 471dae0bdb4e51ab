import {createServer} from 'node:https';
import type {AddressInfo} from 'node:net';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import type {TokenReview} from '#src/api/types.js';
import {authorityPem} from '#src/pki/authority.js';
import {startPlane} from '#src/plane/plane.js';
import {aPlane} from '#test/controllers/plane.js';
import {aPair, anAuthority} from '#test/serving/credentials.js';
import {configurationFile} from './issuer.js';

type Answer =
  | {readonly code: number; readonly headers?: Record<string, string>}
  | 'break'
  | {readonly status: object; readonly apiVersion?: string};

/** A webhook over HTTPS, the reviews that it received, and the file that names it. */
const aWebhook = async (answer: (token: string, attempt: number) => Answer) => {
  const authority = await anAuthority();
  const pair = await aPair(authority, {commonName: 'webhook'}, 'server auth');
  const reviews: (TokenReview & {readonly url?: string | undefined})[] = [];
  const server = createServer(pair, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const review = JSON.parse(Buffer.concat(chunks).toString()) as TokenReview;
      reviews.push({...review, url: request.url});
      const made = answer(review.spec.token ?? '', reviews.length);
      if (made === 'break') return void request.socket.destroy();
      if ('code' in made) return void response.writeHead(made.code, made.headers).end();
      response.writeHead(200, {'content-type': 'application/json'}).end(JSON.stringify({...review, ...made}));
    });
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const file = configurationFile({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    contexts: [{name: 'c', context: {cluster: 'c', user: 'u'}}],
    users: [{name: 'u', user: {}}],
    clusters: [
      {
        name: 'c',
        cluster: {
          server: `https://127.0.0.1:${(server.address() as AddressInfo).port}/authenticate`,
          'certificate-authority-data': Buffer.from(authorityPem(authority).certificate).toString('base64'),
        },
      },
    ],
  });
  return {
    reviews,
    file,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise(resolve => server.close(resolve));
    },
  };
};

const aServer = async (file: string, ...more: readonly string[]) => {
  const plane = await aPlane({
    naming: 'kubernetes',
    controllers: [],
    apiserverArgs: [`--authentication-token-webhook-config-file=${file}`, ...more],
  });
  const client = plane.client();
  return {
    plane,
    review: async (token: string, audiences: string[] = []) =>
      (await client.resource(kinds.tokenReviews).create({spec: {token, audiences}})).status!,
    [Symbol.asyncDispose]: () => plane[Symbol.asyncDispose](),
  };
};

const jane = {authenticated: true, user: {username: 'jane', uid: '1', groups: ['dev'], extra: {'example.com/a': ['b']}}};

for (const version of ['v1beta1', 'v1'] as const) {
  test(`a webhook authenticates tokens by reviews of version ${version}`, async t => {
    await using webhook = await aWebhook(() => ({status: jane}));
    await using server = await aServer(
      webhook.file,
      ...(version === 'v1' ? ['--authentication-token-webhook-version=v1'] : []),
      '--api-audiences=here',
    );
    const {user} = await server.review('a-token');

    t.deepEqual(user, {...jane.user, groups: ['dev', 'system:authenticated']});
    t.like(webhook.reviews, {
      length: 1,
      0: {
        apiVersion: `authentication.k8s.io/${version}`,
        kind: 'TokenReview',
        spec: {token: 'a-token', audiences: ['here']},
        url: '/authenticate?timeout=30s',
      },
    });
  });
}

test('answers of a webhook are cached for the time of the flag, failures are not', async t => {
  let code = 0;
  await using webhook = await aWebhook(token =>
    code ? {code} : token === 'bad' ? {status: {authenticated: false, error: 'bad'}} : {status: token === 'jane' ? jane : {}},
  );
  await using server = await aServer(webhook.file, '--authentication-token-webhook-cache-ttl=1m');
  for (const token of ['jane', 'jane', 'unknown', 'unknown', 'bad', 'bad']) await server.review(token);
  t.is(webhook.reviews.length, 4);
  t.regex((await server.review('bad')).error!, /bad/);
  await server.plane.clock.advance(61_000);
  code = 400;
  t.regex((await server.review('jane')).error!, /the server rejected our request for an unknown reason/);
  code = 0;

  t.true((await server.review('jane')).authenticated);
});

for (const [code, times] of [
  [500, 5],
  [504, 5],
  [429, 5],
  [503, 1],
  [403, 1],
] as const)
  test(`a webhook that answers ${code} is asked ${times === 1 ? 'once' : 'five times, a little later each time'}`, async t => {
    await using webhook = await aWebhook(() => ({code}));
    await using server = await aServer(webhook.file);
    const reviewing = server.review('a-token');
    await server.plane.clock.advance(10_000);

    t.truthy((await reviewing).error);
    t.is(webhook.reviews.length, times);
  });

test('a webhook whose connection breaks is asked again', async t => {
  await using webhook = await aWebhook((_, attempt) => (attempt < 3 ? 'break' : {status: jane}));
  await using server = await aServer(webhook.file);
  const reviewing = server.review('a-token');
  await server.plane.clock.advance(10_000);

  t.true((await reviewing).authenticated);
  t.is(webhook.reviews.length, 3);
});

test('a webhook that does not listen is asked once', async t => {
  const webhook = await aWebhook(() => ({status: jane}));
  await webhook[Symbol.asyncDispose]();
  await using server = await aServer(webhook.file);

  t.regex((await server.review('a-token')).error!, /connection refused/);
});

for (const code of [429, 503])
  test(`a webhook that answers ${code} and says when to come back is asked again, not before that time`, async t => {
    await using webhook = await aWebhook((_, attempt) => (attempt < 2 ? {code, headers: {'retry-after': '7'}} : {status: jane}));
    await using server = await aServer(webhook.file);
    const reviewing = server.review('a-token');
    await server.plane.clock.advance(6999);
    t.is(webhook.reviews.length, 1);
    await server.plane.clock.advance(2);

    t.true((await reviewing).authenticated);
    t.is(webhook.reviews.length, 2);
  });

test('lookups in the cache of tokens are counted and timed', async t => {
  await using webhook = await aWebhook(token => (token === 'bad' ? {code: 400} : {status: jane}));
  await using server = await aServer(webhook.file);
  for (const token of ['good', 'good', 'good', 'bad']) await server.review(token);
  const {metrics} = server.plane.api;
  const name = (rest: string) => `authentication_token_cache_${rest}`;

  t.deepEqual(
    [
      metrics.value(name('request_total'), {status: 'hit'}),
      metrics.value(name('request_total'), {status: 'miss'}),
      metrics.value(name('request_duration_seconds'), {status: 'hit'}),
      metrics.value(name('fetch_total'), {status: 'ok'}),
      metrics.value(name('fetch_total'), {status: 'error'}),
      metrics.value(name('active_fetch_count'), {status: 'blocked'}),
      metrics.value(name('active_fetch_count'), {status: 'in_flight'}),
    ],
    [2, 2, 2, 1, 1, 0, 0],
  );
});

test('an answer of a webhook that has too many values is refused', async t => {
  await using webhook = await aWebhook(() => ({status: {...jane, user: {...jane.user, groups: Array.from({length: 20_000}, () => 'g')}}}));
  await using server = await aServer(webhook.file);

  t.falsy((await server.review('a-token')).authenticated);
});

test('a token that the webhook grants for other audiences is not accepted', async t => {
  await using webhook = await aWebhook(token => ({status: {...jane, ...(token === 'none' ? {} : {audiences: [token]})}}));
  await using server = await aServer(webhook.file, '--api-audiences=here');

  t.falsy((await server.review('there')).authenticated);
  t.deepEqual((await server.review('here')).audiences, ['here']);
  t.deepEqual((await server.review('none')).audiences, ['here']);
  t.deepEqual((await server.review('there', ['there', 'else'])).audiences, ['there']);
  t.falsy((await server.review('none', ['there'])).authenticated);
});

test('an answer that is no review of the version, or that names no user, accepts nothing', async t => {
  await using webhook = await aWebhook(token => ({
    status: token === 'nameless' ? {authenticated: true, user: {}} : jane,
    ...(token === 'other' ? {apiVersion: 'authentication.k8s.io/v1'} : {}),
  }));
  await using server = await aServer(webhook.file);

  t.regex((await server.review('nameless')).error!, /the webhook named no user/);
  t.regex((await server.review('other')).error!, /not a TokenReview of authentication.k8s.io\/v1beta1/);
});

test('a file for the webhook that cannot be used stops the start with one line', async t => {
  const flag = '--authentication-token-webhook-config-file';
  const error = await t.throwsAsync(startPlane({listen: false, apiserverArgs: [`${flag}=/nowhere`]}));

  t.regex(error!.message, /^--authentication-token-webhook-config-file \/nowhere: .*no such file/);
});
