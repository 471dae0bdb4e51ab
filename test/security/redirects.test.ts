import test from 'ava';
import {systemClock} from '#src/base/clock.js';
import {issuerCalls} from '#src/apiserver/authentication/jwt/issuer-calls.js';
import {webhookCaller} from '#src/apiserver/backends/webhook-caller.js';
import {dialer} from '#src/transport/dial.js';
import {systemNetwork} from '#src/transport/network.js';
import {json, startWebhook, type Respond, type TestWebhook} from '#test/apiserver/webhook-server.js';
import {aPair} from '#test/serving/credentials.js';
import {ask1} from '#test/serving/server.js';
import {aBackend} from '#test/transport/backend.js';
import {relaying, to} from '#test/transport/relaying.js';

const codes = [301, 302, 303, 307, 308];
const elsewhere = await startWebhook((_, response) => json(response, {}));
test.after.always(() => elsewhere.close());

/** Leads all callers to the other server, or to another path of its own. */
const leading =
  (code: number, location = `${elsewhere.url}/stolen`): Respond =>
  ({url}, response) =>
    void response.writeHead(code, {Location: url.startsWith('/stolen') ? '/x' : location}).end();

const dial = dialer(systemNetwork(systemClock), systemClock);

test.serial('no webhook leads the server elsewhere, neither with its credentials nor without', async t => {
  const pair = await aPair(elsewhere.authority, {commonName: 'server'}, 'client auth');
  for (const code of codes) {
    await using webhook = await startWebhook(leading(code), {requestsCertificate: true});
    const caller = webhookCaller({
      clock: systemClock,
      userAgent: 'tester',
      resolve: () => Promise.reject(new Error('no service')),
      users: () => Promise.resolve({headers: () => Promise.resolve({authorization: ['Bearer secret']})}),
      clientPair: () => pair,
    });
    await t.throwsAsync(caller.call({url: webhook.url, caBundle: webhook.caBundle}, {}, {timeoutMs: 5000}));
    caller.close();
    t.deepEqual(
      webhook.seen.map(({headers, caller}) => [headers.authorization, caller]),
      [['Bearer secret', 'server']],
    );
  }
  t.deepEqual(elsewhere.seen, []);
});

test.serial('an issuer of tokens may lead the server elsewhere, but not its credentials, nor without end or without TLS', async t => {
  const get = (webhook: TestWebhook) =>
    issuerCalls({
      dial,
      clock: systemClock,
      certificateAuthority: [webhook, elsewhere].map(({caBundle}) => Buffer.from(caBundle, 'base64').toString()).join('\n'),
      signal: new AbortController().signal,
    });
  for (const code of codes) {
    await using issuer = await startWebhook(leading(code));
    t.is((await get(issuer)(`${issuer.url}/claims`, {authorization: 'Bearer secret'})).status, 200);
    t.is(issuer.seen[0]!.headers.authorization, 'Bearer secret');
    t.is(elsewhere.seen.at(-1)!.headers.authorization, undefined);
    t.is(elsewhere.seen.at(-1)!.caller, undefined);
  }
  await using endless = await startWebhook(leading(302, '/again'));
  await t.throwsAsync(get(endless)(endless.url), {message: /stopped after 10 redirects/});
  t.true(endless.seen.length <= 11);
  for (const location of ['http://127.0.0.1:1/', 'file:///etc/passwd', 'unix:/var/run/x.sock', '//', 'data:text/plain,x', 'https://']) {
    await using issuer = await startWebhook(leading(302, location));
    await t.throwsAsync(get(issuer)(issuer.url));
  }
  elsewhere.seen.length = 0;
});

test.serial('a redirect of a proxied backend is left to the client, and only the backend sees the certificate of the server', async t => {
  const pair = await aPair(elsewhere.authority, {commonName: 'server'}, 'client auth');
  for (const code of codes) {
    await using backend = await aBackend((_, response) => response.writeHead(code, {location: `${elsewhere.url}/stolen`}).end(), {
      tls: true,
    });
    await using server = await relaying(backend, {to: to(backend, {tls: {ca: backend.ca, pair}}), headers: {'x-remote-user': 'jane'}});
    const answer = await ask1(server, {headers: {authorization: 'Bearer secret'}});

    t.deepEqual([answer.status, answer.headers['location']], [code, `${elsewhere.url}/stolen`]);
    t.is(backend.requests.length, 1);
  }
  t.deepEqual(elsewhere.seen, []);
});
