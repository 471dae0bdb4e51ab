import {existsSync, readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {naming} from '#src/api/naming.js';
import {DecodeError} from '#src/schema/decode/error.js';
import type {PlainObject} from '#src/schema/decode/plain.js';
import {parseYaml} from '#src/schema/decode/yaml.js';
import {yamlText} from '#src/schema/encode/yaml-text.js';
import {protobufCodec} from '#src/schema/protobuf/codec.js';
import {decodeEnvelope, decodeInPieces, decodeObject} from '#src/schema/protobuf/decode.js';
import {encodeObject, encodeWatchFrame, hasProtobuf} from '#src/schema/protobuf/encode.js';
import {message} from '#src/schema/protobuf/messages.js';
import {tables} from '#src/schema/protobuf/tables/index.js';
import {decoded, number, part, plat, specimens, wrapped} from './wire-fields.js';

const oracle = process.env['PLAT_ORACLE'];
const samples = oracle ? join(oracle, 'roundtrip') : '';
const names = existsSync(samples)
  ? readdirSync(samples)
      .filter(file => file.endsWith('.pb'))
      .map(file => file.slice(0, -'.pb'.length))
  : [];

console.log(
  oracle
    ? `${names.length} kinds are compared with the original as JSON, YAML and protobuf`
    : 'PLAT_ORACLE is unset: no form is compared with the original',
);

const kubernetes = naming('kubernetes');

for (const name of names) {
  test(`${name} has the same fields and bytes in every form`, t => {
    const expected = JSON.parse(readFileSync(join(samples, `${name}.json`), 'utf8')) as PlainObject;
    const bytes = readFileSync(join(samples, `${name}.pb`));
    // A watch event is the one kind that does not carry its type.
    const untyped = {apiVersion: 'v1', kind: 'WatchEvent'};

    const {apiVersion, kind, ...rest} = decodeObject(bytes, kubernetes, untyped);

    t.deepEqual(expected['kind'] === undefined ? rest : {apiVersion, kind, ...rest}, expected);
    t.deepEqual(encodeObject(expected, kubernetes, untyped), bytes);
    const yaml = readFileSync(join(samples, `${name}.yaml`), 'utf8');
    t.deepEqual(parseYaml(yaml), {value: expected, problems: []});
    t.is(yamlText(expected), yaml);
  });
}

test('an envelope has the kind and leaves the object encoded', t => {
  const raw = part(1, part(1, 'a'));

  const envelope = decodeEnvelope(wrapped('v1', 'ConfigMap', raw), plat);

  t.like(envelope, {apiVersion: 'v1', kind: 'ConfigMap', contentEncoding: '', contentType: ''});
  t.deepEqual(envelope.raw, raw);
});

test('the group is read in the vocabulary of the wire', t => {
  t.deepEqual(decoded('coordination.plat.io/v1', 'Lease', part(1, part(1, 'a'))), {
    apiVersion: 'coordination.plat.io/v1',
    kind: 'Lease',
    metadata: {name: 'a'},
  });
  t.throws(() => decoded('coordination.k8s.io/v1', 'Lease', part(1)), {instanceOf: DecodeError, message: /no kind "Lease" is registered/});
});

test('fields that JSON leaves out as empty are absent, and optional ones keep their zero', t => {
  t.deepEqual(decoded('apps/v1', 'Deployment', part(1, part(1, 'a'), part(2, ''), number(7, 0)), part(3)), {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {name: 'a'},
    status: {},
  });
  t.deepEqual(decoded('apps/v1', 'Deployment', part(2, number(1, 0), part(2), number(6, 0), number(7, 0))), {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    spec: {replicas: 0, selector: {}, revisionHistoryLimit: 0},
  });
});

test('fields held by value are written even when unset', t => {
  const metadata = part(1, part(1, 'a'), part(2), part(3), part(4), part(5), part(6), number(7, 0), part(8));

  t.deepEqual(
    encodeObject({apiVersion: 'v1', kind: 'Namespace', metadata: {name: 'a'}}, plat),
    Buffer.concat([wrapped('v1', 'Namespace', metadata, part(2), part(3, part(1))), part(3), part(4)]),
  );
});

test('maps are written in the order of their bytes', t => {
  const data = {b: '', '\u{1f600}': '3', '\uff5e': '2', a: '1'};

  const bytes = encodeObject({apiVersion: 'v1', kind: 'ConfigMap', data}, plat);

  t.deepEqual(Object.keys(decodeObject(bytes, plat)['data'] as object), ['a', 'b', '\uff5e', '\u{1f600}']);
});

for (const specimen of specimens) {
  test(`a ${String(specimen['kind'])} survives being written and read`, t => {
    t.deepEqual(decodeObject(encodeObject(specimen, plat), plat), specimen);
  });
}

test('an object embedded in the binary form is read like one embedded as JSON', t => {
  const pod = encodeObject({apiVersion: 'v1', kind: 'Pod', metadata: {name: 'a'}, spec: {containers: [{name: 'c'}]}}, plat);

  const list = decoded('v1', 'List', part(2, part(1, pod))) as {items: readonly PlainObject[]};

  t.like(list.items[0], {kind: 'Pod', metadata: {name: 'a'}});
});

test('the kinds of every group version are known in each of them', t => {
  for (const apiVersion of ['v1', 'apps/v1', 'certificates.plat.io/v1', 'example.com/v7']) {
    t.deepEqual(decoded(apiVersion, 'DeleteOptions', number(1, 0), part(4, 'Orphan')), {
      apiVersion,
      kind: 'DeleteOptions',
      gracePeriodSeconds: 0,
      propagationPolicy: 'Orphan',
    });
  }
  t.like(decoded('v1', 'Status', part(1), part(2, 'Failure'), number(6, 0x94, 0x03)), {status: 'Failure', code: 404});
  t.like(decoded('meta.plat.io/v1beta1', 'PartialObjectMetadata', part(1, part(1, 'a'))), {metadata: {name: 'a'}});
});

test('only kinds have a binary form of their own', t => {
  t.true(hasProtobuf('rbac.authorization.plat.io/v1', 'Role', plat));
  t.false(hasProtobuf('rbac.authorization.plat.io/v1', 'PolicyRule', plat));
  t.false(hasProtobuf('example.com/v1', 'Role', plat));
  t.false(hasProtobuf('v1', 'constructor', plat));
  t.throws(() => encodeObject({apiVersion: 'example.com/v1', kind: 'Role'}, plat), {instanceOf: TypeError, message: /has no binary form/});
  t.throws(() => encodeObject({apiVersion: 'v1', kind: 'ConfigMap', data: {a: 1}}, plat), {
    instanceOf: TypeError,
    message: /the field data holds 1/,
  });
});

test('a frame of a watch stream is its length and an event that holds the whole object', t => {
  const object = encodeObject({apiVersion: 'v1', kind: 'ConfigMap'}, plat);
  const event = Buffer.concat([part(1, 'ADDED'), part(2, part(1, object))]);

  t.deepEqual(encodeWatchFrame('ADDED', object), Buffer.concat([Buffer.of(0, 0, 0, event.length), event]));
});

test('unknown fields are skipped, whatever their type', t => {
  const group = Buffer.concat([Buffer.of(0xfb, 0x01), number(1, 1), Buffer.of(0xfc, 0x01)]);
  const unknown = [
    number(15, 1),
    part(14, 'x'),
    Buffer.of((13 << 3) | 1, 0, 0, 0, 0, 0, 0, 0, 0),
    Buffer.of((12 << 3) | 5, 0, 0, 0, 0),
    group,
  ];

  t.deepEqual(decoded('v1', 'ConfigMap', ...unknown, part(1, part(1, 'a')), part(2, part(1, 'k'), ...unknown.slice(0, 2))), {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {name: 'a'},
    data: {k: ''},
  });
});

test('a message given in parts is put together, and the last of other values counts', t => {
  const twice = decoded('v1', 'ConfigMap', part(1, part(1, 'a'), part(2, 'g')), part(1, part(1, 'b'), part(2)), number(4, 1), number(4, 0));

  t.deepEqual(twice, {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'b'}, immutable: false});
});

test('numbers of a list may be packed', t => {
  const spec = part(2, part(14, part(4, 1, 2), number(4, 3)));

  t.like(decoded('v1', 'Pod', spec), {spec: {securityContext: {supplementalGroups: [1, 2, 3]}}});
});

test('a key named __proto__ is data', t => {
  const {data} = decoded('v1', 'ConfigMap', part(2, part(1, '__proto__'), part(2, 'x'))) as {data: object};

  t.deepEqual(Object.getOwnPropertyNames(data), ['__proto__']);
});

test('every table can be read, ascends by number and names only messages there are', t => {
  for (const [group, versions] of Object.entries(tables)) {
    for (const [version, messages] of Object.entries(versions)) {
      for (const name of Object.keys(messages)) {
        const fields = message(group, version, name)?.fields ?? [];
        const numbers = fields.map(field => field.number);
        t.deepEqual(
          numbers,
          [...new Set(numbers)].sort((a, b) => a - b),
          `${group}/${version}.${name}`,
        );
        for (const field of fields) t.true(field.name !== '' || field.shape === 'inline', `${group}/${version}.${name}`);
      }
    }
  }
});

test('the whole codec is loaded when it is first needed', async t => {
  const codec = await protobufCodec();

  t.is(codec, await protobufCodec());
  t.true(codec.isEnvelope(codec.encodeObject({apiVersion: 'v1', kind: 'Pod'}, plat), plat));
});

test('decoding in pieces gives the same result, and yields to other tasks', async t => {
  const items = Array.from({length: 2000}, (_, index) => ({
    metadata: {name: `map-${index}`, labels: {n: `${index}`}},
    data: {text: 'ü'.repeat(100)},
  }));
  const list = encodeObject({apiVersion: 'v1', kind: 'ConfigMapList', metadata: {resourceVersion: '7'}, items}, plat);
  const others = [
    {apiVersion: 'v1', kind: 'ConfigMapList', metadata: {}, items: []},
    {apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'a'}, data: {text: 'x'.repeat(200_000)}},
  ].map(object => encodeObject(object, plat));
  let turns = 0;
  let isDone = false;
  setImmediate(function count() {
    if (isDone) return;
    turns++;
    setImmediate(count);
  });

  const read = await decodeInPieces(list, plat);
  isDone = true;

  t.deepEqual(read, decodeObject(list, plat));
  t.is((read['items'] as unknown[]).length, 2000);
  t.true(turns >= 5, `${turns} turns for ${list.length} bytes`);
  for (const other of others) t.deepEqual(await decodeInPieces(other, plat), decodeObject(other, plat));
  await t.throwsAsync(decodeInPieces(list.subarray(0, -1), plat), {instanceOf: DecodeError});
});

test('integers of 64 bits keep all digits', t => {
  for (const generation of [2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n, -1, 128, 2 ** 40]) {
    const object = {apiVersion: 'v1', kind: 'ConfigMap', metadata: {generation}};
    t.deepEqual(decodeObject(encodeObject(object, plat), plat), object as object);
  }
  t.throws(() => encodeObject({apiVersion: 'v1', kind: 'Service', spec: {healthCheckNodePort: 2n ** 40n}}, plat), {instanceOf: TypeError});
});
