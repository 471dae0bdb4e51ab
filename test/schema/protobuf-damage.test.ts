import test from 'ava';
import {seededRandom} from '#src/base/random.js';
import {DecodeError} from '#src/schema/decode/error.js';
import {decodeObject} from '#src/schema/protobuf/decode.js';
import {encodeObject} from '#src/schema/protobuf/encode.js';
import {decoded, number, part, plat, specimens} from './wire-fields.js';

const nested = (depth: number, number: number, inner: Buffer): Buffer => {
  let bytes = inner;
  for (let level = 0; level < depth; level++) {
    let size = bytes.length;
    const head = [((number & 0x0f) << 3) | 2 | 0x80, number >> 4];
    for (; size > 0x7f; size >>>= 7) head.push((size & 0x7f) | 0x80);
    bytes = Buffer.concat([Buffer.from([...head, size]), bytes]);
  }
  return bytes;
};

const refused: readonly (readonly [string, () => unknown, RegExp])[] = [
  ['nothing', () => decodeObject(Buffer.alloc(0), plat), /^empty data$/],
  ['the magic alone', () => decodeObject(Buffer.from(plat.envelopeMagic), plat), /^empty body$/],
  [
    'another magic',
    () => decodeObject(Buffer.from('{"kind":"Pod"}'), plat),
    /^provided data does not appear to be a protobuf message, expected prefix \[112 108 116 0\]$/,
  ],
  ['no kind', () => decoded('v1', ''), /'Kind' is missing/],
  ['no version', () => decoded('', 'Pod'), /'apiVersion' is missing/],
  ['an unknown kind', () => decoded('v1', 'Nonsense'), /^no kind "Nonsense" is registered for version "v1"$/],
  ['a length beyond the end', () => decoded('v1', 'ConfigMap', Buffer.of(10, 5, 0)), /^unexpected EOF$/],
  [
    'a negative length',
    () => decoded('v1', 'ConfigMap', Buffer.of(10, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1)),
    /negative length/,
  ],
  ['an integer cut off', () => decoded('v1', 'ConfigMap', Buffer.of(32, 0x80)), /^unexpected EOF$/],
  ['an integer without end', () => decoded('v1', 'ConfigMap', Buffer.of(32, ...Array.from({length: 11}, () => 0x80))), /integer overflow/],
  ['a field of the wrong type', () => decoded('v1', 'ConfigMap', number(1, 0)), /wrong wireType = 0 for field metadata/],
  ['the field zero', () => decoded('v1', 'ConfigMap', Buffer.of(0, 0)), /illegal tag 0/],
  [
    'a field number beyond all numbers',
    () => decoded('v1', 'ConfigMap', Buffer.of(0x8a, 0x80, 0x80, 0x80, 0x10, 0)),
    /illegal tag 536870913 \(wire type 2\)/,
  ],
  ['the end of a group that never began', () => decoded('v1', 'ConfigMap', Buffer.of((9 << 3) | 4)), /illegal wireType 4/],
  ['a text that is not UTF-8', () => decoded('v1', 'ConfigMap', part(1, part(1, Buffer.of(0xc3, 0x28)))), /invalid UTF-8/],
  ['embedded JSON that is none', () => decoded('v1', 'List', part(2, part(1, '{"a"'))), /^json parse error: /],
  ['embedded JSON nested too deep', () => decodeObject(listOf('['.repeat(2000) + ']'.repeat(2000)), plat), /exceeded max depth/],
  ['messages nested too deep', () => decodeObject(deepSchema(), plat), /exceeded max depth/],
  [
    'an amount that is none',
    () => decoded('v1', 'ResourceQuota', part(2, part(1, part(1, 'cpu'), part(2, part(1, 'x'))))),
    /quantities must match/,
  ],
  [
    'a year beyond the calendar',
    () => decoded('v1', 'ConfigMap', part(1, part(8, number(1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40)))),
    /year outside of range/,
  ],
];

const listOf = (text: string): Buffer => {
  const raw = nested(1, 1, Buffer.from(text));
  return Buffer.concat([Buffer.from(plat.envelopeMagic), part(1, part(1, 'v1'), part(2, 'List')), nested(1, 2, nested(1, 2, raw))]);
};

/** `not` within `not`. */
const deepSchema = (): Buffer => {
  const version = nested(1, 7, nested(1, 4, nested(1, 1, nested(5000, 28, Buffer.alloc(0)))));
  const kind = part(1, part(1, 'apiextensions.plat.io/v1'), part(2, 'CustomResourceDefinition'));
  return Buffer.concat([Buffer.from(plat.envelopeMagic), kind, nested(1, 2, nested(1, 2, version))]);
};

for (const [what, decode, text] of refused) {
  test(`${what} is refused`, t => {
    t.throws(decode, {instanceOf: DecodeError, message: text});
  });
}

test('damaged bytes are refused or read as something that can be written again', t => {
  const {float} = seededRandom(20_260_102);
  const random = (below: number): number => Math.floor(float() * below);
  const originals = specimens.map(specimen => encodeObject(specimen, plat));
  let readable = 0;
  for (let round = 0; round < 5000; round++) {
    const bytes = Buffer.from(originals[random(originals.length)] ?? []);
    for (let changes = random(3); changes >= 0; changes--) bytes[4 + random(bytes.length - 4)] = random(256);
    const damaged = random(4) === 0 ? bytes.subarray(0, random(bytes.length)) : bytes;
    try {
      const object = decodeObject(damaged, plat);
      readable += 1;
      const again = decodeObject(encodeObject(object, plat), plat);
      t.deepEqual(encodeObject(again, plat), encodeObject(object, plat));
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
    }
  }
  t.true(readable > 300, `${readable} of them are readable`);
});
