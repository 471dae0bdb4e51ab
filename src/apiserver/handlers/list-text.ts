import type {Naming} from '#src/api/naming.js';
import {loadedCodec} from '#src/schema/protobuf/codec.js';
import {WireWriter} from '#src/schema/protobuf/wire-writer.js';
import type {Accepted} from '#src/apiserver/request/media-type.js';

/** Joins the encoding of a list from encodings of lists with parts of its items. */
export interface ListText {
  /** The bytes before the first item. `total` is what `needs` specifies. */
  open(total: number): Buffer;
  /** The items alone, from the encoding of a list of these items. */
  part(encoded: Buffer): Buffer;
  readonly separator: string;
  readonly close: Buffer;
  /** Whether the beginning contains the length of all parts together, or the number of items. */
  readonly needs: 'length' | 'count' | undefined;
}

/** From the encoding of an empty list. */
export const listText = ({media, naming}: Pick<Accepted, 'media' | 'naming'>, empty: Buffer, pretty: boolean): ListText => {
  switch (media) {
    case 'json':
      return pretty ? between(empty.subarray(0, -4), '\n  ]\n}\n', ',') : between(empty.subarray(0, -3), ']}\n', ',');
    case 'yaml':
      return yamlText(empty);
    case 'binary':
      return binaryText(empty, naming!);
    case 'cbor':
      return cborText(empty);
  }
};

const between = (before: Buffer, after: string, separator: string): ListText => {
  const close = Buffer.from(after);
  return {
    open: () => before,
    part: encoded => encoded.subarray(before.length, encoded.length - close.length),
    separator,
    close,
    needs: undefined,
  };
};

/** YAML keys are sorted: the items are in the middle. */
const yamlText = (empty: Buffer): ListText => {
  const text = empty.toString();
  const [line, key] = /^(items|rows): \[\]\n/m.exec(text) as unknown as [string, string];
  const [before, after] = text.split(line) as [string, string];
  return between(Buffer.from(`${before}${key}:\n`), after, '');
};

/** The length of contentEncoding and contentType, which stay empty. */
const closeLength = 4;

/** Protobuf: a list in its envelope, which contains the list's length. The items are at the end of the list. */
const binaryText = (empty: Buffer, naming: Naming): ListText => {
  const listOf = (encoded: Buffer) => loadedCodec()!.decodeEnvelope(encoded, naming).raw;
  const list = listOf(empty);
  const before = empty.subarray(0, empty.length - closeLength - list.length - varint(list.length).length);
  return {
    open: length => Buffer.concat([before, varint(list.length + length), list]),
    part: encoded => listOf(encoded).subarray(list.length),
    separator: '',
    close: empty.subarray(-closeLength),
    needs: 'length',
  };
};

const emptyArrays = ['items', 'rows'].map(name => Buffer.of(0x40 | name.length, ...Buffer.from(name), 0x80));
const arrayType = 0x80;
/** The length of an array's head in bytes, by its first byte. */
const headLengths: Readonly<Record<number, number>> = {24: 2, 25: 3, 26: 5};

/** CBOR keys are sorted by length: the items are in the middle, after their count. */
const cborText = (empty: Buffer): ListText => {
  const name = emptyArrays.find(bytes => empty.includes(bytes))!;
  const start = empty.indexOf(name) + name.length - 1;
  const close = empty.subarray(start + 1);
  return {
    open: count => Buffer.concat([empty.subarray(0, start), arrayHead(count)]),
    part: encoded => encoded.subarray(start + (headLengths[encoded[start]! & 0x1f] ?? 1), encoded.length - close.length),
    separator: '',
    close,
    needs: 'count',
  };
};

const arrayHead = (count: number): Buffer => {
  if (count < 24) return Buffer.of(arrayType | count);
  const size = count < 0x100 ? 1 : count < 0x1_0000 ? 2 : 4;
  const head = Buffer.of(arrayType | (23 + (size === 4 ? 3 : size)), ...Array.from({length: size}, () => 0));
  head.writeUIntBE(count, 1, size);
  return head;
};

const varint = (value: number): Buffer => {
  const wire = new WireWriter();
  wire.varint(value);
  return wire.finish();
};
