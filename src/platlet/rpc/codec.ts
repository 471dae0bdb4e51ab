// Messages of remote procedures as tables of fields, from which types, reader and writer are derived.
// Unknown fields are skipped. An absent field has the zero value of its type; absent messages and wrapped values are
// undefined, which differs from zero.

import {DecodeError} from '#src/schema/decode/error.js';
import {delimited, fixed64, varint} from '#src/schema/protobuf/message-type.js';
import {WireReader} from '#src/schema/protobuf/wire-reader.js';
import {WireWriter} from '#src/schema/protobuf/wire-writer.js';

/** A value to be written, all of whose members are optional. */
export type Draft<A> = A extends Buffer | string | number | bigint | boolean | undefined
  ? A
  : A extends readonly (infer B)[]
    ? readonly Draft<B>[]
    : A extends Readonly<Record<string, string>>
      ? string extends keyof A
        ? A
        : Drafts<A>
      : Drafts<A>;

type Drafts<A> = {readonly [K in keyof A]?: Draft<A[K]> | undefined};

/** A field of a message. */
export interface Field<A> {
  readonly number: number;
  /** Returns the value of an absent field. */
  start(): A;
  /** Reads one occurrence up to `end`. Returns the value accumulated with earlier occurrences. */
  read(reader: WireReader, wire: number, end: number, before: A): A;
  /** Writes the field, unless it has the zero value. */
  write(writer: WireWriter, value: Draft<A>): void;
}

type Fields<A> = {readonly [K in keyof A]: Field<A[K]>};

/** The decoded value of a message type. */
export type Value<M> = M extends Message<infer A> ? A : never;

/** A message type. */
export class Message<A> {
  readonly #fields: readonly (readonly [keyof A, Field<A[keyof A]>])[];
  readonly #byNumber: ReadonlyMap<number, readonly [keyof A, Field<A[keyof A]>]>;

  constructor(fields: Fields<A>) {
    const entries = Object.entries(fields) as [keyof A, Field<A[keyof A]>][];
    this.#fields = entries.sort(([, one], [, other]) => other.number - one.number);
    this.#byNumber = new Map(entries.map(entry => [entry[1].number, entry]));
  }

  encode(value: Draft<A>): Buffer {
    const writer = new WireWriter();
    this.write(writer, value);
    return writer.finish();
  }

  /** Throws `DecodeError`. */
  decode(bytes: Buffer): A {
    return this.read(new WireReader(bytes), bytes.length);
  }

  write(writer: WireWriter, value: Draft<A>): void {
    for (const [name, field] of this.#fields) {
      const part = (value as Drafts<A>)[name];
      if (part !== undefined) field.write(writer, part);
    }
  }

  read(reader: WireReader, end: number): A {
    const value = {} as A;
    for (const [name, field] of this.#fields) value[name] = field.start();
    while (reader.at < end) {
      const tag = reader.tag(end);
      const found = this.#byNumber.get(tag >>> 3);
      if (found) value[found[0]] = found[1].read(reader, tag & 7, end, value[found[0]]);
      else reader.skip(tag & 7, end);
    }
    return value;
  }
}

/** Returns the message type with these fields. */
export const message = <A>(fields: Fields<A>): Message<A> => new Message(fields);

const check = (wire: number, wanted: number): void => {
  if (wire !== wanted) throw new DecodeError(`proto: wrong wireType = ${wire}`);
};

/** How a scalar is read and written. */
interface Scalar<A> {
  readonly wire: number;
  readonly zero: A;
  read(reader: WireReader, end: number): A;
  /** Writes the value without its tag. */
  write(writer: WireWriter, value: A): void;
}

const scalar =
  <A>(type: Scalar<A>) =>
  (number: number): Field<A> => ({
    number,
    start: () => type.zero,
    read(reader, wire, end) {
      check(wire, type.wire);
      return type.read(reader, end);
    },
    write(writer, value) {
      if (value === type.zero) return;
      type.write(writer, value as A);
      writer.tag(number, type.wire);
    },
  });

const integer: Scalar<number> = {
  wire: varint,
  zero: 0,
  read: (reader, end) => Number(reader.int64(end)),
  write: (writer, value) => writer.varint(Number.isSafeInteger(value) && value >= 0 ? value : BigInt(Math.trunc(value))),
};

const long: Scalar<bigint> = {
  wire: varint,
  zero: 0n,
  read: (reader, end) => BigInt.asUintN(64, BigInt(reader.int64(end))),
  write: (writer, value) => writer.varint(value),
};

const unsignedInteger: Scalar<number> = {...integer, read: (reader, end) => Number(long.read(reader, end))};

const boolean: Scalar<boolean> = {
  wire: varint,
  zero: false,
  read: (reader, end) => reader.bool(end),
  write: (writer, value) => writer.varint(value ? 1 : 0),
};

const nanosecondsPerMs = 1_000_000n;

/** Signed integers up to 64 bits; values beyond 2^53 are rounded. */
export const int = scalar(integer);
/** Unsigned integers; values beyond 2^53 are rounded. */
export const unsigned = scalar(unsignedInteger);
export const flag = scalar(boolean);
export const double = scalar<number>({
  wire: fixed64,
  zero: 0,
  read: (reader, end) => reader.float64(end),
  write: (writer, value) => writer.float64(value),
});

/** A time: nanoseconds on the wire, milliseconds here; undefined if it is not set. */
export const time = (number: number): Field<number | undefined> => ({
  number,
  start: () => undefined,
  read(reader, wire, end) {
    check(wire, varint);
    const nanoseconds = BigInt(reader.int64(end));
    return nanoseconds === 0n ? undefined : Number(nanoseconds / nanosecondsPerMs);
  },
  write(writer, value) {
    if (value === undefined || value === 0) return;
    writer.varint(BigInt(Math.trunc(value)) * nanosecondsPerMs);
    writer.tag(number, varint);
  },
});

/** An enumeration by the names of its values, in numeric order. Unknown numbers are read as the last one. */
export const oneOf =
  <A extends string>(...names: readonly [A, ...A[]]) =>
  (number: number): Field<A> => ({
    number,
    start: () => names[0],
    read(reader, wire, end) {
      check(wire, varint);
      return names[Number(reader.int64(end))] ?? names.at(-1)!;
    },
    write(writer, value) {
      const index = names.indexOf(value as A);
      if (index <= 0) return;
      writer.varint(index);
      writer.tag(number, varint);
    },
  });

export const text = (number: number): Field<string> => ({
  number,
  start: () => '',
  read(reader, wire, end) {
    check(wire, delimited);
    return reader.text(reader.length(end));
  },
  write: (writer, value) => void (value !== '' && writer.text(number, value)),
});

export const bytes = (number: number): Field<Buffer> => ({
  number,
  start: () => Buffer.alloc(0),
  read(reader, wire, end) {
    check(wire, delimited);
    return reader.slice(reader.length(end));
  },
  write(writer, value) {
    const content = value as Buffer;
    if (content.length === 0) return;
    const before = writer.written;
    writer.bytes(content);
    writer.close(number, before);
  },
});

/** A nested message. */
export const nested =
  <A>(type: Message<A>) =>
  (number: number): Field<A | undefined> => ({
    number,
    start: () => undefined,
    read(reader, wire, end) {
      check(wire, delimited);
      return type.read(reader, reader.length(end));
    },
    write(writer, value) {
      if (value === undefined) return;
      const before = writer.written;
      type.write(writer, value as Draft<A>);
      writer.close(number, before);
    },
  });

/** A repeated field of messages or strings. */
const list =
  <A>(read: (reader: WireReader, end: number) => A, write: (writer: WireWriter, number: number, value: Draft<A>) => void) =>
  (number: number): Field<A[]> => ({
    number,
    start: () => [],
    read(reader, wire, end, before) {
      check(wire, delimited);
      before.push(read(reader, reader.length(end)));
      return before;
    },
    write(writer, value) {
      for (const item of (value as readonly Draft<A>[]).toReversed()) write(writer, number, item);
    },
  });

export const texts = list<string>(
  (reader, end) => reader.text(end),
  (writer, number, value) => writer.text(number, value),
);

export const repeated = <A>(type: Message<A>): ((number: number) => Field<A[]>) =>
  list<A>(
    (reader, end) => type.read(reader, end),
    (writer, number, value) => {
      const before = writer.written;
      type.write(writer, value);
      writer.close(number, before);
    },
  );

/** A packed repeated field of integers. */
export const ints = (number: number): Field<number[]> => ({
  number,
  start: () => [],
  read(reader, wire, end, before) {
    if (wire === varint) before.push(integer.read(reader, end));
    else {
      check(wire, delimited);
      const last = reader.length(end);
      while (reader.at < last) before.push(integer.read(reader, last));
    }
    return before;
  },
  write(writer, value) {
    const items = value as readonly number[];
    if (items.length === 0) return;
    const before = writer.written;
    for (const item of items.toReversed()) integer.write(writer, item);
    writer.close(number, before);
  },
});

const entry = message<{key: string; value: string}>({key: text(1), value: text(2)});
const entries = repeated(entry);

/** A map of strings. */
export const map = (number: number): Field<Record<string, string>> => {
  const inner = entries(number);
  return {
    number,
    start: () => Object.create(null) as Record<string, string>,
    read(reader, wire, end, before) {
      const [found] = inner.read(reader, wire, end, []);
      before[found!.key] = found!.value;
      return before;
    },
    write: (writer, value) =>
      inner.write(
        writer,
        Object.entries(value).map(([key, content]) => ({key, value: content})),
      ),
  };
};

const wrapped = <A>(type: Scalar<A>): ((number: number) => Field<A | undefined>) => {
  const wrapper = message<{value: A}>({value: scalar(type)(1)});
  const field = nested(wrapper);
  return number => {
    const inner = field(number);
    return {
      number,
      start: () => undefined,
      read: (reader, wire, end) => inner.read(reader, wire, end, undefined)?.value,
      write: (writer, value) => inner.write(writer, {value} as Draft<{value: A} | undefined>),
    };
  };
};

/** Wrapped integers, which may be absent. */
export const wrappedInt = wrapped(integer);
export const wrappedUnsigned = wrapped(unsignedInteger);
export const wrappedLong = wrapped(long);
