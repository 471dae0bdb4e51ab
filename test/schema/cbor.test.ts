import test from 'ava';
import {jsonText} from '#src/base/json/json.js';
import {seededRandom} from '#src/base/random.js';
import {decodeCbor, nextItem, noLimits, requestLimits} from '#src/schema/cbor/decode.js';
import {cborEvent, encodeCbor} from '#src/schema/cbor/encode.js';
import {DecodeError} from '#src/schema/decode/error.js';
import type {SchemaNode} from '#src/schema/node.js';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

for (const [value, bytes, node] of [
  [0, '00'],
  [23, '17'],
  [24, '1818'],
  [255, '18ff'],
  [256, '190100'],
  [65_536, '1a00010000'],
  [2 ** 32, '1b0000000100000000'],
  [2 ** 53 - 1, '1b001fffffffffffff'],
  [2n ** 63n - 1n, '1b7fffffffffffffff'],
  [-(2n ** 63n), '3b7fffffffffffffff'],
  [-1, '20'],
  [-25, '3818'],
  [1, 'f93c00', {type: 'number'}],
  [0, 'f90000', {type: 'number'}],
  [1.5, 'f93e00'],
  [65_504, 'f97bff', {type: 'number'}],
  [65_505, 'fa477fe100', {type: 'number'}],
  [2 ** -24, 'f90001'],
  [-0.25, 'f9b400'],
  [0.1, 'fb3fb999999999999a'],
  [2 ** 60, 'fa5d800000'],
  [1e300, 'fb7e37e43c8800759c'],
  ['', '40'],
  ['a', '4161'],
  ['ü', '42c3bc'],
  ['x'.repeat(24), `5818${'78'.repeat(24)}`],
  ['AQID', 'd643010203', {type: 'string', format: 'byte'}],
  [true, 'f5'],
  [false, 'f4'],
  [null, 'f6'],
  [[], '80'],
  [{}, 'a0'],
  [{bb: 1, a: 2, c: [null]}, 'a3 4161 02 4163 81f6 426262 01'],
  [{'\uff5e': 1, '\u{1f600}': 2, zzz: 3}, 'a3 437a7a7a 03 43efbd9e 01 44f09f9880 02'],
] as readonly (readonly [unknown, string, SchemaNode?])[]) {
  test(`${jsonText(value)?.slice(0, 40)} is written as ${bytes.slice(0, 40)}`, t => {
    const written = encodeCbor(value, node);

    t.is(written.toString('hex'), `d9d9f7${bytes.replaceAll(' ', '')}`);
    t.deepEqual(decodeCbor(written, noLimits), value);
  });
}

for (const [what, bytes, value] of [
  ['texts', '6161', 'a'],
  ['texts in pieces', '7f 6161 62c3bc ff', 'aü'],
  ['bytes in pieces', '5f 41c3 41bc ff', 'ü'],
  ['arrays of any length', '9f 01 02 ff', [1, 2]],
  ['maps of any length', 'bf 6161 01 4162 02 ff', {a: 1, b: 2}],
  ['bytes for base64url', 'd5 43fbff01', '-_8B'],
  ['bytes for base64 in pieces', 'd6 5f 41fb 42ff01 ff', '+/8B'],
  ['bytes for hexadecimal', 'd7 42fb01', 'fb01'],
  ['times', 'c0 74323032362d30312d30325430333a30343a30355a', '2026-01-02T03:04:05Z'],
  ['times as numbers', 'c1 fb41d6575e494c0000', '2025-02-10T20:52:00Z'],
  ['unknown tags', 'd84d 01', 1],
  ['a key of an object that is no field of it', 'a1 495f5f70726f746f5f5f 01', JSON.parse('{"__proto__":1}')],
  ['undefined', 'f7', null],
  ['numbers of 32 bits', 'fa47c35000', 100_000],
] as const) {
  test(`${what} are read`, t => {
    const read = decodeCbor(hex(bytes), noLimits);
    if (what === 'times as numbers') t.regex(String(read), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
    else t.deepEqual(read, value);
  });
}

for (const [what, bytes, text] of [
  ['nothing', '', 'EOF'],
  ['an item cut off', '82 01', 'unexpected EOF'],
  ['a length beyond the end', '5bffffffffffffffff', 'unexpected EOF'],
  ['more than an item', '01 02 03', 'cbor: 2 bytes of extraneous data starting at index 1'],
  ['a reserved length', '1c', 'cbor: invalid additional information 28 for type positive integer'],
  ['an integer without length', '1f', 'cbor: invalid additional information 31 for type positive integer'],
  ['an end of nothing', 'ff', 'cbor: unexpected "break" code'],
  ['text that is none', '62c328', 'cbor: invalid UTF-8 string'],
  ['text that is none in a piece', '7f 61c3 61bc ff', 'cbor: invalid UTF-8 string'],
  ['a piece of another type', '7f 4161 ff', 'cbor: wrong element type byte string for indefinite-length UTF-8 text string'],
  ['a piece in pieces', '7f 7f ff ff', 'cbor: indefinite-length UTF-8 text string chunk is not definite-length'],
  ['a key twice', 'a2 4161 01 6161 02', 'cbor: found duplicate map key "a" at map element index 1'],
  ['a key that is no text', 'a1 01 01', 'cbor: cannot unmarshal positive integer into Go value of type string'],
  ['not a number', 'f97e00', 'cbor: data item of cbor type primitives is not accepted by protocol: floating-point NaN'],
  ['infinity', 'f97c00', 'cbor: data item of cbor type primitives is not accepted by protocol: floating-point infinity'],
  ['a number of any size', 'c2 4101', 'cbor: data item of cbor type tag is not accepted by protocol: bignum'],
  [
    'an integer of more than 64 bits with a sign',
    '1b8000000000000000',
    'cbor: cannot unmarshal positive integer into Go value of type int64 (9223372036854775808 is out of range)',
  ],
  ['a simple value', 'e0', 'cbor: data item of cbor type primitives is not accepted by protocol: simple value 0'],
  ['arrays nested too deep', '81'.repeat(65), 'cbor: exceeded max nested level 64'],
  ['tags nested too deep', 'd84d'.repeat(100_000), 'cbor: exceeded max nested level 64'],
  ['too many elements', `990401${'00'.repeat(1025)}`, 'cbor: exceeded max number of elements 1024 for CBOR array'],
  ['too many elements of any number', `9f${'00'.repeat(1025)}ff`, 'cbor: exceeded max number of elements 1024 for CBOR array'],
  ['too many pairs', 'b90401', 'cbor: exceeded max number of key-value pairs 1024 for CBOR map'],
] as const) {
  test(`${what} is refused`, t => {
    t.throws(() => decodeCbor(hex(bytes), requestLimits), {instanceOf: DecodeError, message: text});
  });
}

test('a sequence is read item by item as it arrives', t => {
  const bytes = Buffer.concat(['ADDED', 'DELETED'].map(type => cborEvent(type, encodeCbor({kind: 'Pod'}))));
  const first = nextItem(bytes, 0)!;

  t.deepEqual(first.value, {type: 'ADDED', object: {kind: 'Pod'}});
  t.is(nextItem(bytes.subarray(0, -1), first.end), undefined);
  t.deepEqual(nextItem(bytes, first.end), {value: {type: 'DELETED', object: {kind: 'Pod'}}, end: bytes.length});
});

test('damaged bytes are refused or read as something that can be written again', t => {
  const {float} = seededRandom(20_260_103);
  const random = (below: number): number => Math.floor(float() * below);
  const original = encodeCbor({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {name: 'ü', labels: {a: 'b'}, generation: 300},
    spec: {a: [1, 1.5, -7, null, true]},
  });
  let readable = 0;
  for (let round = 0; round < 10_000; round++) {
    const bytes = Buffer.from(original.subarray(0, random(8) === 0 ? random(original.length) : original.length));
    for (let changes = random(3); changes >= 0 && bytes.length > 0; changes--) bytes[random(bytes.length)] = random(256);
    try {
      const value = decodeCbor(bytes, requestLimits);
      readable += 1;
      t.deepEqual(decodeCbor(encodeCbor(value), noLimits), value);
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
    }
  }
  t.true(readable > 1000, `${readable} of them are readable`);
});
