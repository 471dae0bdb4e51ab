import {writeFileSync} from 'node:fs';
import test from 'ava';
import {kinds} from '#src/api/kinds/index.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {aPlane} from '#test/controllers/plane.js';
import {anIssuer, configurationFile} from './issuer.js';

const clock = new VirtualClock();
const issuer = await anIssuer(() => clock.now());
test.after.always(() => issuer[Symbol.asyncDispose]());

const configuration = (prefix: string, url = issuer.url) =>
  JSON.stringify({
    apiVersion: 'apiserver.config.k8s.io/v1',
    kind: 'AuthenticationConfiguration',
    jwt: [{issuer: {url, certificateAuthority: issuer.ca, audiences: ['me']}, claimMappings: {username: {claim: 'sub', prefix}}}],
  });

const aServer = async () => {
  const file = configurationFile(configuration('first:'));
  const plane = await aPlane({
    naming: 'kubernetes',
    controllers: [],
    clock: new VirtualClock(clock.now()),
    apiserverArgs: [`--authentication-config=${file}`],
  });
  const client = plane.client();
  return {
    plane,
    /** Replaces the file and waits until that was noticed. */
    async change(text: string, ms = 61_000) {
      writeFileSync(file, text);
      await plane.clock.advance(ms);
    },
    username: async () => (await client.resource(kinds.tokenReviews).create({spec: {token: issuer.token()}})).status!.user?.username,
    /** The metrics of the configuration, without their prefix and the server. */
    async metrics() {
      const {body} = await plane.api.metrics.exposition();
      return [...body.matchAll(/^apiserver_authentication_config_controller_(.*)$/gm)].map(([, line]) =>
        line!.replace(/apiserver_id_hash="sha256:[0-9a-f]{64}",?/, '').replace(/,}/, '}'),
      );
    },
    [Symbol.asyncDispose]: () => plane[Symbol.asyncDispose](),
  };
};

test('a new configuration is used without a restart', async t => {
  await using server = await aServer();
  t.is(await server.username(), 'first:jane');
  const [before] = (await server.metrics()).filter(line => line.startsWith('last_config_info'));
  await server.change(configuration('second:'));
  const metrics = await server.metrics();
  const after = metrics.filter(line => line.startsWith('last_config_info'));

  t.is(await server.username(), 'second:jane');
  t.is(after.length, 1);
  t.not(after[0], before);
  t.true(metrics.includes('automatic_reloads_total{status="success"} 1'), metrics.join('\n'));
  t.true(metrics.some(line => line.startsWith('automatic_reload_last_timestamp_seconds{status="success"}')));
});

test('the last good configuration is kept while the file is invalid', async t => {
  await using server = await aServer();
  await server.change('kind: Other');
  t.is(await server.username(), 'first:jane');
  t.true((await server.metrics()).includes('automatic_reloads_total{status="failure"} 1'));
  await server.change('kind: Other', 180_000);
  t.true((await server.metrics()).includes('automatic_reloads_total{status="failure"} 1'));
  await server.change(configuration('third:'));

  t.is(await server.username(), 'third:jane');
});

test('a configuration is not used before its issuers are reached', async t => {
  await using own = await anIssuer(() => clock.now());
  const path = '/.well-known/openid-configuration';
  own.answers.set(path, {status: 503, body: ''});
  await using server = await aServer();
  await server.change(configuration('new:', own.url).replace(JSON.stringify(issuer.ca), JSON.stringify(own.ca)), 200_000);
  t.is(await server.username(), 'first:jane');
  own.answers.delete(path);
  await server.plane.clock.advance(130_000);

  t.is(await server.username(), undefined);
  t.true((await server.metrics()).includes('automatic_reloads_total{status="success"} 1'));
});
