import type {Naming} from '#src/api/naming.js';
import {loadedCodec} from '#src/schema/protobuf/codec.js';
import {WireWriter} from '#src/schema/protobuf/wire-writer.js';
import type {Accepted} from '#src/apiserver/request/media-type.js';

/** How the encoding of a list is put together from encodings of lists that hold a part of its items each. */
export interface ListText {
  /** What comes before the first item. `length` is that of all parts together, where `needsLength`. */
  open(length: number): Buffer;
  /** The items alone, out of the encoding of a list that holds just them. */
  part(encoded: Buffer): Buffer;
  readonly separator: string;
  readonly close: Buffer;
  /** Whether the beginning tells how long the whole is. */
  readonly needsLength: boolean;
}

/** From the encoding of the list without any items. Undefined for a form whose encodings cannot be put together. */
export const listText = ({media, naming}: Pick<Accepted, 'media' | 'naming'>, empty: Buffer, pretty: boolean): ListText | undefined => {
  switch (media) {
    case 'json':
      return pretty ? between(empty.subarray(0, -4), '\n  ]\n}\n', ',') : between(empty.subarray(0, -3), ']}\n', ',');
    case 'yaml':
      return yamlText(empty);
    case 'binary':
      return binaryText(empty, naming!);
    case 'cbor':
      return undefined;
  }
};

const between = (before: Buffer, after: string, separator: string): ListText => {
  const close = Buffer.from(after);
  return {open: () => before, part: encoded => encoded.subarray(before.length, encoded.length - close.length), separator, close, needsLength: false};
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
    needsLength: true,
  };
};

const varint = (value: number): Buffer => {
  const wire = new WireWriter();
  wire.varint(value);
  return wire.finish();
};
