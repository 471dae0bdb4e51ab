import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {labelHash} from '#src/observe/label-hash.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {memoryStore} from '#src/storage/memory/index.js';
import type {Store} from '#src/storage/store.js';
import {wire} from '#test/apiserver/wire.js';
import {KmsPlugin} from '#test/storage/encryption/kms-plugin.js';
import {startTogether} from './lockstep.js';

const directory = mkdtempSync(join(tmpdir(), 'plat-encryption-'));
process.on('exit', () => rmSync(directory, {recursive: true, force: true}));
let files = 0;

type Providers = readonly object[];
type Entries = readonly (readonly [resources: readonly string[], providers: Providers])[];

const identity = {identity: {}};
const keyed = (kind: string, ...names: string[]) => ({
  [kind]: {keys: names.map(name => ({name, secret: Buffer.alloc(32, name).toString('base64')}))},
});
const kms = (name: string, {endpoint}: KmsPlugin, rest: object = {}) => ({kms: {apiVersion: 'v2', name, endpoint, ...rest}});

const write = (path: string, entries: Entries): void =>
  writeFileSync(
    path,
    JSON.stringify({
      apiVersion: 'apiserver.config.k8s.io/v1',
      kind: 'EncryptionConfiguration',
      resources: entries.map(([resources, providers]) => ({resources, providers})),
    }),
  );

/** Starts a server whose store is encrypted as given, and resolves to it, its client and the file. */
const start = async (
  entries: Entries | undefined,
  {store, clock = new VirtualClock(), args = []}: {store: Store; clock?: VirtualClock; args?: readonly string[]},
) => {
  const path = join(directory, `${++files}.json`);
  if (entries) write(path, entries);
  const reported: string[] = [];
  const [server] = await startTogether({
    store,
    clock,
    count: 1,
    args: [...(entries ? [`--encryption-provider-config=${path}`] : []), ...args],
    reported: line => void reported.push(line),
  });
  return {
    ...wire(server!.handler),
    server: server!,
    clock,
    path,
    reported,
    async [Symbol.asyncDispose]() {
      const closed = server!.close().then(() => true);
      while (!(await Promise.race([closed, clock.advance(10)])));
    },
  };
};

const url = '/api/v1/namespaces/default/secrets';
const secret = (name: string) => ({metadata: {name}, stringData: {password: 'very-secret-indeed'}});
const plainText = Buffer.from('very-secret-indeed').toString('base64');
const keyOf = (name: string): string => `/registry/secrets/default/${name}`;
const stored = async (store: Store, key: string): Promise<Buffer> => (await store.get(key))!.value;
const prefixOf = async (store: Store, key: string): Promise<string> =>
  /^k8s:enc:(?:[^:]+:){3}|/.exec((await stored(store, key)).toString('latin1'))![0];
/** A store that servers cannot close. */
const kept = (): Store =>
  new Proxy(memoryStore(), {
    get(target, name) {
      if (name === 'close') return async () => {};
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === 'function' ? (member.bind(target) as unknown) : member;
    },
  });

for (const [kind, prefix] of [
  ['aescbc', 'k8s:enc:aescbc:v1:one:'],
  ['aesgcm', 'k8s:enc:aesgcm:v1:one:'],
  ['secretbox', 'k8s:enc:secretbox:v1:one:'],
] as const)
  test(`with ${kind} the store holds no byte of a secret, and clients see nothing of it`, async t => {
    const store = kept();
    await using env = await start([[['secrets'], [keyed(kind, 'one'), identity]]], {store});
    t.is((await env.post(url, secret('one'))).status, 201);

    t.is(await prefixOf(store, keyOf('one')), prefix);
    const bytes = await stored(store, keyOf('one'));
    t.false(bytes.includes('very-secret-indeed') || bytes.includes(plainText));
    t.like((await env.get(`${url}/one`)).json<object>(), {data: {password: plainText}});
    t.like((await env.get(url)).json<{items: object[]}>().items[0], {data: {password: plainText}});
    t.is(
      (await env.patch(`${url}/one`, {metadata: {labels: {a: 'b'}}}, {headers: {'content-type': 'application/merge-patch+json'}})).status,
      200,
    );
    t.is((await env.get(`${url}?labelSelector=a%3Db`)).json<{items: object[]}>().items.length, 1);
    t.is((await env.remove(`${url}/one`)).status, 200);
  });

test('resources that are not named stay as they are, and wildcards name groups or all', async t => {
  const store = kept();
  await using env = await start(
    [
      [['configmaps'], [identity]],
      [['*.apps'], [keyed('aesgcm', 'apps')]],
      [['*.*'], [keyed('secretbox', 'all')]],
    ],
    {store},
  );
  await env.post(url, secret('one'));
  await env.post('/api/v1/namespaces/default/configmaps', {metadata: {name: 'one'}});
  await env.post('/apis/apps/v1/namespaces/default/controllerrevisions', {metadata: {name: 'one'}, revision: 1, data: {a: 1}});
  await env.post('/apis/coordination.k8s.io/v1/namespaces/default/leases', {metadata: {name: 'one'}});

  await env.post('/api/v1/namespaces/default/services', {metadata: {name: 'one'}, spec: {ports: [{port: 80}]}});

  t.is(await prefixOf(store, keyOf('one')), 'k8s:enc:secretbox:v1:all:');
  t.is(await prefixOf(store, '/registry/configmaps/default/one'), '');
  t.is(await prefixOf(store, '/registry/controllerrevisions/default/one'), 'k8s:enc:aesgcm:v1:apps:');
  t.is(await prefixOf(store, '/registry/leases/default/one'), 'k8s:enc:secretbox:v1:all:');
  t.is(await prefixOf(store, '/registry/services/specs/default/one'), 'k8s:enc:secretbox:v1:all:');
});

test('an update that changes nothing encrypts with the first key what was written with another one, or before', async t => {
  const store = kept();
  const clock = new VirtualClock();
  {
    await using env = await start(undefined, {store, clock});
    await env.post(url, secret('plain'));
  }
  {
    await using env = await start([[['secrets'], [keyed('aescbc', 'old'), identity]]], {store, clock});
    await env.post(url, secret('old'));
    t.is(await prefixOf(store, keyOf('plain')), '');
  }
  await using env = await start([[['secrets'], [keyed('aescbc', 'new', 'old'), identity]]], {store, clock});
  for (const name of ['plain', 'old']) {
    const object = (await env.get(`${url}/${name}`)).json<object>();
    t.is((await env.put(`${url}/${name}`, object)).status, 200);
    t.is(await prefixOf(store, keyOf(name)), 'k8s:enc:aescbc:v1:new:');
  }
});

test('a secret whose key is gone answers 500 with the reason, and the rest is served', async t => {
  const store = kept();
  const clock = new VirtualClock();
  {
    await using env = await start([[['secrets'], [keyed('aesgcm', 'old')]]], {store, clock});
    await env.post(url, secret('one'));
  }
  for (const entries of [[[['secrets'], [keyed('aesgcm', 'new'), identity]]], undefined] as (Entries | undefined)[]) {
    await using env = await start(entries, {store, clock});
    const missing = entries ? 'no matching key was found for the provided AES transformer' : 'no matching prefix found';
    const message = `Internal error occurred: unable to transform key "${keyOf('one')}": ${missing}`;
    t.like((await env.get(`${url}/one`)).json<object>(), {code: 500, reason: 'InternalError', message});
    t.is((await env.get(url)).status, 500);
    t.is((await env.get('/api/v1/namespaces/default/configmaps')).status, 200);
  }
});

test('watchers of secrets get decrypted objects', async t => {
  await using env = await start([[['secrets'], [keyed('aesgcm', 'one')]]], {store: kept()});
  const stream = await env.watch(`${url}?watch=1`);
  await env.post(url, secret('one'));
  await env.clock.advance(100);

  t.true(JSON.stringify(stream.events).includes(plainText));
});

test('values are encrypted with a seed of the key management service, and again after its key has changed', async t => {
  await using plugin = await KmsPlugin.start();
  const store = kept();
  const clock = new VirtualClock();
  await using env = await start([[['secrets'], [kms('mine', plugin)]]], {store, clock});
  await env.post(url, secret('one'));
  await env.post(url, secret('two'));

  t.is(await prefixOf(store, keyOf('one')), 'k8s:enc:kms:v2:mine:');
  t.like((await env.get(`${url}/one`)).json<object>(), {data: {password: plainText}});
  t.is(plugin.calls['/v2.KeyManagementService/Encrypt'], 1);
  t.is(plugin.calls['/v2.KeyManagementService/Decrypt'], undefined);

  const before = await stored(store, keyOf('one'));
  plugin.keyId = 'key-2';
  await clock.advance(61_000);
  const object = (await env.get(`${url}/one`)).json<object>();
  t.is((await env.put(`${url}/one`, object)).status, 200);
  t.true(before.includes('key-1'));
  t.true((await stored(store, keyOf('one'))).includes('key-2'));

  // Another server decrypts the seeds by the service, each once.
  await using other = await start([[['secrets'], [kms('mine', plugin)]]], {store, clock});
  t.is((await other.get(url)).json<{items: object[]}>().items.length, 2);
  await other.get(url);
  t.is(plugin.calls['/v2.KeyManagementService/Decrypt'], 2);
});

test('metrics count the keys, calls and caches of key management services', async t => {
  await using plugin = await KmsPlugin.start();
  const store = kept();
  const clock = new VirtualClock();
  await using env = await start([[['secrets'], [kms('mine', plugin)]]], {store, clock});
  await env.post(url, secret('one'));
  await env.get(`${url}/one`);
  plugin.keyId = '';
  await clock.advance(61_000);
  plugin.keyId = 'key-2';
  await clock.advance(61_000);
  await env.post(url, secret('two'));

  const {text} = await env.get('/metrics');
  const hashes = ['key-1', 'key-2'].map(labelHash);
  const value = (name: string, labels: string): string | undefined =>
    new RegExp(`^apiserver_envelope_encryption_${name}\\{${labels}\\} (.*)$`, 'm').exec(text)?.[1];
  const written = (hash: string) =>
    value(
      'key_id_hash_total',
      `transformation_type="to_storage",provider_name="mine",key_id_hash="${hash}",apiserver_id_hash="sha256:[0-9a-f]+"`,
    );
  t.deepEqual(hashes.map(written), ['1', '1']);
  t.regex(text, /key_id_hash_last_timestamp_seconds\{transformation_type="to_storage",provider_name="mine"/);
  t.regex(text, new RegExp(`key_id_hash_status_last_timestamp_seconds\\{provider_name="mine",key_id_hash="${hashes[1]}"`));
  t.is(value('invalid_key_id_from_status_total', 'provider_name="mine",error="empty"'), '1');
  t.is(value('dek_source_cache_size', 'provider_name="mine"'), '2');
  const method = 'provider_name="mine",method_name="/v2.KeyManagementService/Encrypt",grpc_status_code="OK"';
  t.is(value('kms_operations_latency_seconds_count', method), '2');
  t.true(Number(value('dek_cache_inter_arrival_time_seconds_count', 'transformation_type="to_storage"')) >= 1);
});

test('a service that fails is reported by its check, stops writes after three minutes, and never reads of known seeds', async t => {
  await using plugin = await KmsPlugin.start();
  const clock = new VirtualClock();
  await using env = await start([[['secrets'], [kms('mine', plugin)]]], {store: kept(), clock});
  await env.post(url, secret('one'));
  t.is((await env.get('/healthz/kms-provider-0')).status, 200);

  plugin.failing.add('Status');
  await clock.advance(60_000);
  const bad = await env.get('/readyz?verbose');
  t.is(bad.status, 500);
  t.regex(bad.text, /\[-\]kms-provider-0 failed/);
  t.is((await env.post(url, secret('two'))).status, 201);
  await clock.advance(180_000);
  t.regex((await env.post(url, secret('three'))).text, /encryptedDEKSource with keyID hash .* expired at/);
  t.is((await env.get(`${url}/one`)).status, 200);

  plugin.failing.clear();
  await clock.advance(10_000);
  t.is((await env.post(url, secret('three'))).status, 201);
  t.is((await env.get('/readyz')).status, 200);
});

test('a service of version 1 needs its gate', async t => {
  await using plugin = await KmsPlugin.start();
  const provider = kms('mine', plugin, {apiVersion: 'v1'});
  const store = kept();
  await t.throwsAsync(start([[['secrets'], [provider]]], {store}), {message: /KMSv1 is deprecated .*--feature-gates=KMSv1=true/});
  await using env = await start([[['secrets'], [provider]]], {store, args: ['--feature-gates=KMSv1=true']});
  await env.post(url, secret('one'));

  t.is(await prefixOf(store, keyOf('one')), 'k8s:enc:kms:v1:mine:');
  t.like((await env.get(`${url}/one`)).json<object>(), {data: {password: plainText}});
  t.regex((await env.get('/metrics')).text, /^apiserver_envelope_encryption_dek_cache_fill_percent 0\.0/m);
  t.is((await env.get('/healthz/kms-provider-0')).status, 200);
});

test('a changed file is in force without a restart, one that is invalid leaves the last one in force', async t => {
  const store = kept();
  const clock = new VirtualClock();
  const args = ['--encryption-provider-config-automatic-reload=true'];
  await using env = await start([[['secrets'], [keyed('aesgcm', 'one')]]], {store, clock, args});
  t.is((await env.get('/healthz/kms-providers')).status, 200);
  await env.post(url, secret('one'));

  writeFileSync(env.path, 'kind: Nonsense');
  await clock.advance(61_000);
  await env.post(url, secret('two'));
  t.is(await prefixOf(store, keyOf('two')), 'k8s:enc:aesgcm:v1:one:');
  t.true(env.reported.some(line => line.includes('keeping the encryption configuration')));

  write(env.path, [[['secrets'], [keyed('secretbox', 'two'), keyed('aesgcm', 'one')]]]);
  await clock.advance(61_000);
  await env.post(url, secret('three'));
  t.is(await prefixOf(store, keyOf('three')), 'k8s:enc:secretbox:v1:two:');
  t.is((await env.get(`${url}/one`)).status, 200);
  const {text} = await env.get('/metrics');
  t.regex(text, /automatic_reloads_total\{status="success",apiserver_id_hash="sha256:[0-9a-f]{64}"\} 1/);
  t.regex(text, /automatic_reloads_total\{status="failure",apiserver_id_hash="sha256:[0-9a-f]{64}"\} [1-9]/);
  t.regex(text, /apiserver_storage_transformation_operations_total\{[^}]*transformer_prefix="k8s:enc:secretbox:v1:"[^}]*\} \d/);
});
