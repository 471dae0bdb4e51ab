import {isDeepStrictEqual} from 'node:util';
import test from 'ava';
import {decodeCbor, noLimits} from '#src/schema/cbor/decode.js';
import {encodeCbor} from '#src/schema/cbor/encode.js';
import {decode} from '#src/schema/decode/decode.js';
import {parseYaml} from '#src/schema/decode/yaml.js';
import {yamlText} from '#src/schema/encode/yaml-text.js';
import {decodeObject} from '#src/schema/protobuf/decode.js';
import {encodeObject} from '#src/schema/protobuf/encode.js';
import {filledObjects, kubernetes, roundTripRow} from './round-trips.js';
import {differences, readTable} from './table.js';

const objects = filledObjects();

test('every kind with every field filled is encoded as it was when its encodings were compared with the original', t => {
  t.deepEqual(differences('round-trips', readTable('round-trips'), objects.map(roundTripRow)), []);
});

test('every kind with every field filled is the same after JSON, YAML, CBOR and protobuf', t => {
  t.true(objects.length > 150, `${objects.length} kinds`);
  for (const {apiVersion, kind, node, object} of objects) {
    const name = `${apiVersion} ${kind}`;
    const same = (found: unknown, expected: unknown, form: string) => {
      if (!isDeepStrictEqual(found, expected)) t.deepEqual(found, expected, `${name} as ${form}`); // That of ava takes most of the time.
    };
    same(decode(JSON.stringify(object), 'json', node, 'Strict'), {object, problems: []}, 'JSON');
    same(parseYaml(yamlText(object)), {value: object, problems: []}, 'YAML');
    same(decodeCbor(encodeCbor(object, node), noLimits), object, 'CBOR');
    same(decodeObject(encodeObject(object, kubernetes), kubernetes), object, 'protobuf');
  }
});
