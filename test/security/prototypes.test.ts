import {mkdtempSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import test from 'ava';
import {naming} from '#src/api/naming.js';
import {readAuthenticationConfiguration} from '#src/apiserver/authentication/jwt/configuration.js';
import {readEncryptionConfiguration} from '#src/apiserver/encryption/configuration.js';
import {encodeCbor} from '#src/schema/cbor/encode.js';
import {loadSettings} from '#src/transport/kubeconfig/load-settings.js';
import {aDefinition, aVersion, definitions, startCustom, widgets} from '#test/apiserver/custom.js';
import {configMaps} from '#test/apiserver/wire.js';

/** Everything that an attack could have changed: the properties that all objects inherit. */
const inherited = () =>
  [Object, Array, Function, String, Map, Promise, Buffer].map(one => [
    Object.getOwnPropertyNames(one.prototype).sort(),
    Object.getOwnPropertyNames(one).sort(),
  ]);
const before = inherited();
const poison = '{"__proto__":{"polluted":"yes"},"constructor":{"prototype":{"polluted":"yes"}},"prototype":{"polluted":"yes"}}';
const texts = '{"__proto__":"a","constructor":"b","hasOwnProperty":"c","toString":"d"}';

const {get, post, put, patch, send, clock} = await startCustom({gate: name => name === 'CBORServingAndStorage'});
const type = (media: string) => ({headers: {'content-type': `application/${media}`}});
const named = (name: string, rest: string) => `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"${name}"},${rest}}`;
const sorted = (text: string) => Object.entries(JSON.parse(text) as object).sort(([a], [b]) => (a < b ? -1 : 1));
/** What is stored under `data`, by its own keys. */
const dataOf = async (name: string) =>
  Object.entries((await get(`${configMaps}/${name}`)).json<{data: object}>().data).sort(([a], [b]) => (a < b ? -1 : 1));

test.afterEach.always('no prototype has changed', t => {
  t.deepEqual(inherited(), before);
  t.is(({} as Record<string, unknown>)['polluted'], undefined);
});

test('keys with the names of inherited properties are data in every encoding of a body', async t => {
  const body = (name: string) => named(name, `"data":${texts}`);
  t.is((await post(configMaps, body('json'))).status, 201);
  t.is((await post(configMaps, body('yaml'), type('yaml'))).status, 201);
  t.is((await post(configMaps, Buffer.from(encodeCbor(JSON.parse(body('cbor')))), type('cbor'))).status, 201);
  t.is((await put(`${configMaps}/json`, body('json'))).status, 200);

  for (const name of ['json', 'yaml', 'cbor']) t.deepEqual(await dataOf(name), sorted(texts), name);
});

test('patches of every kind set and remove such keys and reach no prototype', async t => {
  for (const [name, media] of [
    ['merge', 'merge-patch+json'],
    ['strategic', 'strategic-merge-patch+json'],
    ['apply', 'apply-patch+yaml'],
  ] as const) {
    const query = name === 'apply' ? '?fieldManager=m&force=true' : '';
    await post(configMaps, named(name, '"data":{"kept":"x"}'));
    const patched = await patch(`${configMaps}/${name}${query}`, named(name, `"data":${texts}`), type(media));
    t.is(patched.status, 200, patched.text);
    t.deepEqual(
      await dataOf(name),
      [...sorted(texts), ['kept', 'x']].sort(([a], [b]) => (a! < b! ? -1 : 1)),
      name,
    );
    for (const bad of [poison, named(name, `"metadata":${poison}`), named(name, `"data":${poison}`), named(name, `"__proto__":${poison}`)])
      await patch(`${configMaps}/${name}${query}`, bad, type(media));
    const removed = await patch(
      `${configMaps}/${name}?fieldManager=m`,
      '{"data":{"__proto__":null,"constructor":null}}',
      type('merge-patch+json'),
    );
    t.deepEqual(Object.keys(removed.json<{data: object}>().data).sort(), ['hasOwnProperty', 'kept', 'toString'], name);
  }
});

test('a JSON patch walks through no inherited property', async t => {
  await post(configMaps, named('walked', '"data":{"kept":"x"}'));
  for (const path of [
    '/__proto__/polluted',
    '/data/__proto__/polluted',
    '/constructor/prototype/polluted',
    '/data/constructor/prototype/polluted',
    '/data/kept/__proto__/polluted',
  ])
    for (const op of ['add', 'replace']) {
      const {status} = await patch(`${configMaps}/walked`, JSON.stringify([{op, path, value: 'yes'}]), type('json-patch+json'));
      t.true(status >= 400 && status < 500, `${op} ${path}: ${status}`);
    }
  for (const op of ['copy', 'move', 'test', 'remove']) {
    const {status} = await patch(
      `${configMaps}/walked`,
      JSON.stringify([{op, value: 'x', from: '/data/constructor', path: op === 'copy' || op === 'move' ? '/data/x' : '/data/constructor'}]),
      type('json-patch+json'),
    );
    // As the original's, a copy of what is not there is null, which is empty as a text.
    t.true(op === 'copy' ? status === 200 : status >= 400 && status < 500, `${op}: ${status}`);
  }
  t.deepEqual(await dataOf('walked'), [
    ['kept', 'x'],
    ['x', ''],
  ]);
});

test('labels, annotations, owners and managed fields with such names are data or refused', async t => {
  for (const [field, value] of [
    ['labels', '{"constructor":"b","hasOwnProperty":"c","toString":"d"}'],
    ['annotations', texts],
    ['labels', poison],
    ['ownerReferences', `[${poison}]`],
    [
      'managedFields',
      `[{"manager":"m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:__proto__":{},"f:constructor":{}},"f:__proto__":{"f:polluted":{}}}}]`,
    ],
  ]) {
    const {status} = await post(configMaps, `{"metadata":{"generateName":"m-","${field}":${value}}}`);
    t.true(status < 500, `${field}: ${status}`);
  }
  const selected = await get(`${configMaps}?labelSelector=constructor,toString`);
  t.is(selected.status, 200);
  t.deepEqual(
    selected.json<{items: {metadata: {labels: object}}[]}>().items.map(({metadata}) => Object.keys(metadata.labels).length),
    [3],
  );
  t.is((await get(`${configMaps}?labelSelector=valueOf`)).json<{items: object[]}>().items.length, 0);
});

test('custom schemas with such properties validate, default and prune them as others', async t => {
  const properties = JSON.parse(
    '{"__proto__":{"type":"string","default":"p"},"constructor":{"type":"object","default":{},"properties":{"prototype":{"type":"string","default":"q"}}},"toString":{"type":"string"}}',
  ) as object;
  const made = await post(definitions, aDefinition([aVersion({spec: {properties}})]));
  t.is(made.status, 201, made.text);
  await clock.drain();
  const plain = await post(
    widgets,
    '{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"w"},"spec":{"hasOwnProperty":"x"}}',
  );
  t.is(plain.status, 201, plain.text);
  t.is(JSON.stringify(plain.json<{spec: object}>().spec), '{"__proto__":"p","constructor":{"prototype":"q"}}');
  const wrong = await post(
    widgets,
    '{"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"v"},"spec":{"toString":1,"__proto__":{"polluted":"yes"}}}',
  );
  t.is(wrong.status, 422);
  const head = '"kind":"Widget","apiVersion":"example.com/v1","metadata":{"name":"w"}';
  const merged = await patch(`${widgets}/w`, '{"spec":{"constructor":{"prototype":"s","__proto__":{"polluted":"yes"}}}}');
  const applied = await patch(`${widgets}/w?fieldManager=m&force=true`, `{${head},"spec":{"__proto__":"r"}}`, type('apply-patch+yaml'));
  t.deepEqual([merged.status, applied.status], [200, 200]);
  t.is(JSON.stringify((await get(`${widgets}/w`)).json<{spec: object}>().spec), '{"__proto__":"r","constructor":{"prototype":"s"}}');
});

test('paths, queries and headers with such names find nothing', async t => {
  for (const name of ['__proto__', 'constructor', 'hasOwnProperty', 'toString', 'prototype'])
    for (const url of [
      `/${name}`,
      `/api/${name}`,
      `/apis/${name}/v1/x`,
      `/api/v1/${name}`,
      `/api/v1/namespaces/default/${name}/x`,
      `${configMaps}/x/${name}`,
      `/openapi/v3/apis/${name}`,
    ]) {
      const {status} = await send('GET', `${url}?${name}=x&fieldSelector=${name}%3Dx&labelSelector=${name}`, {
        headers: {[name]: 'x', accept: name},
      });
      t.true(status >= 400 && status < 500, `${url}: ${status}`);
    }
});

test('configuration files with such keys are refused or read as others', async t => {
  const file = join(mkdtempSync(join(tmpdir(), 'plat-prototypes-')), 'config');
  const kubeconfig = {
    clusters: [{name: '__proto__', cluster: {server: 'https://a:1'}}],
    contexts: [{name: 'constructor', context: {cluster: '__proto__', user: 'toString'}}],
    users: [{name: 'toString', user: {token: 't', 'as-user-extra': JSON.parse(texts.replaceAll(/"(\w)"/g, '["$1"]')) as object}}],
  };
  writeFileSync(file, JSON.stringify({...kubeconfig, 'current-context': 'constructor'}).replace('{', `{"__proto__":${poison},`));
  const settings = await loadSettings({file, env: {}});
  t.is(settings.server, 'https://a:1');
  writeFileSync(file, JSON.stringify({...kubeconfig, 'current-context': 'valueOf'}));
  await t.throwsAsync(loadSettings({file, env: {}}), {message: /valueOf/});

  const words = naming('kubernetes');
  for (const read of [
    (text: string) => readAuthenticationConfiguration(text, words),
    (text: string) => readEncryptionConfiguration(text, words, false),
  ])
    for (const kind of ['AuthenticationConfiguration', 'EncryptionConfiguration'])
      t.throws(() => read(poison.replace('{', `{"apiVersion":"apiserver.config.k8s.io/v1","kind":"${kind}",`)));
});
