import test from 'ava';
import {mkdtemp, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {lastValueFrom, take, toArray} from 'rxjs';
import {kinds} from '#src/api/kinds/index.js';
import {isAlreadyExists, isConflict, isNotFound} from '#src/api/status.js';
import type {ConfigMap} from '#src/api/types.js';
import {systemClock} from '#src/base/clock.js';
import {systemFiles} from '#src/base/files/files.js';
import {noLog} from '#src/base/log.js';
import {noMeter} from '#src/base/meter.js';
import {seededRandom} from '#src/base/random.js';
import type {Client} from '#src/client/client.js';
import {chosenNaming, connectedClient} from '#src/client/connected.js';
import {listAll} from '#src/client/pages.js';
import {startPlane} from '#src/plane/plane.js';
import {administration} from '#src/serving/administration/handler.js';
import {configzRoute} from '#src/serving/administration/plain.js';
import {delegatedSecurity} from '#src/serving/delegated/delegated-security.js';
import {connect} from '#src/transport/client/http-connection.js';
import {loadSettings} from '#src/transport/kubeconfig/load-settings.js';

interface Environment extends AsyncDisposable {
  readonly inProcess: Client;
  readonly overHttps: Client;
  /** In the binary form. */
  readonly inBinary: Client;
  readonly inCbor: Client;
}

/** One server, and two ways to it. */
const anEnvironment = async (naming: 'plat' | 'kubernetes'): Promise<Environment> => {
  const plane = await startPlane({
    naming,
    bindAddress: '127.0.0.1',
    securePort: 0,
    freeze: true,
    controllers: 'none',
    apiserverArgs: ['--authorization-mode=AlwaysAllow', '--feature-gates=CBORServingAndStorage=true'],
  });
  const file = join(await mkdtemp(join(tmpdir(), 'plat-client-')), 'kubeconfig');
  await writeFile(file, plane.kubeconfig);
  const connection = await connect(await loadSettings({file, env: {}}), {clock: systemClock});
  const options = {clock: systemClock, meter: noMeter, userAgent: 'tester'};
  const words = await chosenNaming('auto', connection, options);
  return {
    inProcess: plane.client(),
    overHttps: connectedClient(connection, {...options, naming: words}),
    inBinary: connectedClient(connection, {...options, naming: words, contentType: words.protobufMediaType}),
    inCbor: connectedClient(connection, {...options, naming: words, cbor: 'written'}),
    async [Symbol.asyncDispose]() {
      await connection[Symbol.asyncDispose]();
      await plane.stop();
    },
  };
};

const aMap = (name: string, data: Record<string, string> = {}): ConfigMap => ({metadata: {name, namespace: 'default'}, data});

for (const naming of ['plat', 'kubernetes'] as const) {
  test(`${naming}: all ways to a server lead to the same objects and the same refusals`, async t => {
    await using environment = await anEnvironment(naming);

    for (const [how, client, other] of [
      ['in-process', environment.inProcess, environment.overHttps],
      ['https', environment.overHttps, environment.inProcess],
      ['binary', environment.inBinary, environment.overHttps],
      ['cbor', environment.inCbor, environment.inBinary],
    ] as const) {
      t.is(client.naming.name, naming);
      const maps = client.resource(kinds.configMaps);
      const made = await maps.create(aMap(how, {k: 'ü'}));
      const seen = await other.resource(kinds.configMaps).get(how, {namespace: 'default'});
      t.deepEqual(seen, {...made});
      const updated = await maps.update({...seen, data: {k: '2'}});
      t.is(updated.data?.['k'], '2');
      t.true(isConflict(await t.throwsAsync(maps.update({...seen, data: {k: '3'}}))));
      t.true(isAlreadyExists(await t.throwsAsync(maps.create(aMap(how)))));
      const patched = await maps.patch(how, 'merge', {data: {k: null, l: '4'}}, {namespace: 'default'});
      t.deepEqual(patched.data, {l: '4'});
      await maps.delete(how, {namespace: 'default', preconditions: {uid: made.metadata!.uid!}});
      t.true(isNotFound(await t.throwsAsync(other.resource(kinds.configMaps).get(how, {namespace: 'default'}))));
    }
  });
}

test('all ways watch the same events from where a list ended', async t => {
  await using environment = await anEnvironment('plat');
  const clients = [environment.inProcess, environment.overHttps, environment.inBinary, environment.inCbor];
  const maps = environment.inProcess.resource(kinds.configMaps);
  // Controllers write config maps too.
  const labelled = (name: string): ConfigMap => ({metadata: {name, namespace: 'default', labels: {of: 'test'}}, data: {}});
  const ours = {namespace: 'default', labelSelector: 'of=test'};
  await Promise.all(Array.from({length: 7}, (_, index) => maps.create(labelled(`before-${index}`))));

  const followed = clients.map(async client => {
    const resource = client.resource(kinds.configMaps);
    const {items, metadata} = await listAll(resource, {...ours, limit: 3});
    const events = lastValueFrom(resource.watch({...ours, resourceVersion: metadata!.resourceVersion!}).pipe(take(3), toArray()));
    return {count: items.length, events};
  });
  const lists = await Promise.all(followed);
  const made = await maps.create(labelled('during'));
  await maps.update({...made, data: {a: 'b'}});
  await maps.delete('during', {namespace: 'default'});
  const [near, far, binary, cbor] = await Promise.all(lists.map(({events}) => events));

  t.deepEqual(
    lists.map(({count}) => count),
    [7, 7, 7, 7],
  );
  t.deepEqual(
    near!.map(({type}) => type),
    ['ADDED', 'MODIFIED', 'DELETED'],
  );
  t.deepEqual(far, near);
  t.deepEqual(binary, near);
  t.deepEqual(cbor, near);
});

test("a component's port admits the users whom the server authorizes", async t => {
  await using environment = await anEnvironment('plat');
  const delegate = environment.overHttps;
  const security = await delegatedSecurity({
    flags: {
      requestheaderAllowedNames: [],
      requestheaderUsernameHeaders: [],
      requestheaderGroupHeaders: [],
      requestheaderExtraHeadersPrefix: [],
      requestheaderUidHeaders: [],
      authenticationSkipLookup: true,
      authenticationTolerateLookupFailure: false,
      authenticationTokenWebhookCacheTtl: 10_000,
      authorizationAlwaysAllowPaths: [],
      authorizationWebhookCacheAuthorizedTtl: 10_000,
      authorizationWebhookCacheUnauthorizedTtl: 10_000,
    },
    authentication: delegate,
    authorization: delegate,
    naming: delegate.naming,
    clock: systemClock,
    random: seededRandom(1),
    files: systemFiles,
    log: noLog,
    signal: new AbortController().signal,
    withUid: false,
  });
  const handler = administration({...security, routes: [configzRoute(() => ({}))], failed: error => t.fail(String(error))});
  const statusFor = async (user: {name: string; groups: string[]}) =>
    (await handler({method: 'GET', url: '/configz', headers: {}, caller: {user}, remoteAddress: '', signal: new AbortController().signal}))
      .status;
  t.is(await statusFor({name: 'jane', groups: []}), 200);
});
