import {existsSync, readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import test from 'ava';
import {naming} from '#src/api/naming.js';
import {DecodeError} from '#src/schema/decode/error.js';
import {decodeEnvelope, decodeObject} from '#src/schema/protobuf/decode.js';

const oracle = process.env['PLAT_ORACLE'];
const samples = oracle ? join(oracle, 'roundtrip') : '';
const names = existsSync(samples)
  ? readdirSync(samples)
      .filter(file => file.endsWith('.pb'))
      .map(file => file.slice(0, -'.pb'.length))
  : [];
if (!oracle) console.log('PLAT_ORACLE is unset: the binary form is not compared with the original');

const plat = naming('plat');
const kubernetes = naming('kubernetes');

/** A field of length-delimited content. */
const part = (number: number, ...content: readonly (string | number | Buffer)[]): Buffer => {
  const bytes = Buffer.concat(content.map(item => (typeof item === 'number' ? Buffer.of(item) : Buffer.from(item))));
  return Buffer.concat([Buffer.of((number << 3) | 2, bytes.length), bytes]);
};
const wrapped = (apiVersion: string, kind: string, ...fields: readonly Buffer[]): Buffer =>
  Buffer.concat([Buffer.from(plat.envelopeMagic), part(1, part(1, apiVersion), part(2, kind)), part(2, ...fields)]);
const decoded = (apiVersion: string, kind: string, ...fields: readonly Buffer[]) => decodeObject(wrapped(apiVersion, kind, ...fields), plat);
const number = (field: number, ...varint: readonly number[]): Buffer => Buffer.of(field << 3, ...varint);

for (const name of names) {
  test(`${name} is read from its binary form as from JSON`, t => {
    const expected = JSON.parse(readFileSync(join(samples, `${name}.json`), 'utf8')) as Record<string, unknown>;

    const {apiVersion, kind, ...rest} = decodeObject(readFileSync(join(samples, `${name}.pb`)), kubernetes, {apiVersion: 'v1', kind: 'WatchEvent'});

    // A watch event is the one kind that does not carry its type.
    t.deepEqual(expected['kind'] === undefined ? rest : {apiVersion, kind, ...rest}, expected);
  });
}

test('an envelope tells the kind and leaves the object encoded', t => {
  const raw = part(1, part(1, 'a'));

  const envelope = decodeEnvelope(wrapped('v1', 'ConfigMap', raw), plat);

  t.like(envelope, {apiVersion: 'v1', kind: 'ConfigMap', contentEncoding: '', contentType: ''});
  t.deepEqual(envelope.raw, raw);
});

test('the group is read in the vocabulary of the wire', t => {
  t.deepEqual(decoded('coordination.plat.io/v1', 'Lease', part(1, part(1, 'a'))), {apiVersion: 'coordination.plat.io/v1', kind: 'Lease', metadata: {name: 'a'}});
  t.throws(() => decoded('coordination.k8s.io/v1', 'Lease', part(1)), {instanceOf: DecodeError, message: /no kind "Lease" is registered/});
});

test('what JSON leaves out as empty is absent, and what may be unset keeps its zero', t => {
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
