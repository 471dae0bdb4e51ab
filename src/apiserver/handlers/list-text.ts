import type {Naming} from '#src/api/naming.js';
import {loadedCodec} from '#src/schema/protobuf/codec.js';
import {WireWriter} from '#src/schema/protobuf/wire-writer.js';
import type {Accepted} from '#src/apiserver/request/media-type.js';

/** How the encoding of a list is put together from encodings of lists that hold a part of its items each. */
export interface ListText {
  /** What comes before the first item. `total` is what `needs` asks for. */
  open(total: number): Buffer;
  /** The items alone, out of the encoding of a list that holds just them. */
  part(encoded: Buffer): Buffer;
  readonly separator: string;
  readonly close: Buffer;
  /** Whether the beginning tells how long all parts are together, or how many items there are. */
  readonly needs: 'length' | 'count' | undefined;
}

/** From the encoding of the list without any items. */
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
  return {open: () => before, part: encoded => encoded.subarray(before.length, encoded.length - close.length), separator, close, needs: undefined};
};

/** Keys are in order there: the items are in the middle. */
const yamlText = (empty: Buffer): ListText => {
  const text = empty.toString();
  const [line, key] = /^(items|rows): \[\]\n/m.exec(text) as unknown as [string, string];
  const [before, after] = text.split(line) as [string, string];
  return between(Buffer.from(`${before}${key}:\n`), after, '');
};

/** contentEncoding and contentType, which stay empty. */
const closeLength = 4;

/** A list in its wrapping, which tells the list's length before it. The items are at the end of the list, one after the other. */
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
/** How many bytes the head of an array takes by what its first byte says. */
const headLengths: Readonly<Record<number, number>> = {24: 2, 25: 3, 26: 5};

/** Keys are in order of their lengths there: the items are in the middle, behind their number. */
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
