/**
 * A minimal implementation of protocol buffers for the messages of remote procedures: integers up to 2^53, booleans,
 * texts, bytes and nested messages.
 */
export class MessageWriter {
  readonly #parts: Buffer[] = [];

  /** An integer, which must not be negative; zero is left out, as the format specifies. */
  int(number: number, value: number): this {
    return value === 0 ? this : this.present(number, value);
  }

  /** An integer that is written even if it is zero: a field of a oneof. */
  present(number: number, value: number): this {
    this.#parts.push(Buffer.from([...varint(number << 3), ...varint(value)]));
    return this;
  }

  /** An integer of eight bytes. */
  fixed64(number: number, value: bigint): this {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(value);
    this.#parts.push(Buffer.from(varint((number << 3) | 1)), bytes);
    return this;
  }

  flag(number: number, value: boolean): this {
    return this.int(number, value ? 1 : 0);
  }

  /** Bytes or text; left out if empty. */
  bytes(number: number, value: Buffer | string): this {
    return value.length === 0 ? this : this.message(number, typeof value === 'string' ? Buffer.from(value) : value);
  }

  /** A message, which is written even if it is empty. */
  message(number: number, value: Buffer | MessageWriter): this {
    const bytes = value instanceof MessageWriter ? value.finish() : value;
    this.#parts.push(Buffer.from([...varint((number << 3) | 2), ...varint(bytes.length)]), bytes);
    return this;
  }

  finish(): Buffer {
    return Buffer.concat(this.#parts);
  }
}

const varint = (value: number): number[] => {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80);
  bytes.push(rest);
  return bytes;
};

/** Thrown for a truncated or malformed message. */
export class BrokenMessage extends Error {
  override readonly name = 'BrokenMessage';
}

/** The reader of each field by its number; others are skipped. */
export type FieldReaders = Readonly<Record<number, (field: Field) => void>>;

/** The value of one field, in the type that its reader expects. */
export class Field {
  readonly #value: number | Buffer;

  constructor(value: number | Buffer) {
    this.#value = value;
  }

  /** Integers above 2^53 lose precision. */
  get int(): number {
    return typeof this.#value === 'number' ? this.#value : broken();
  }

  get flag(): boolean {
    return this.int !== 0;
  }

  /** Shares memory with the message. */
  get bytes(): Buffer {
    return typeof this.#value === 'number' ? broken() : this.#value;
  }

  get text(): string {
    return this.bytes.toString('utf8');
  }
}

/** Calls the reader of each field of a message, in their order. Throws `BrokenMessage`. */
export const readMessage = (bytes: Buffer, readers: FieldReaders): void => {
  let at = 0;
  const integer = (): number => {
    let value = 0;
    for (let factor = 1; ; factor *= 0x80) {
      if (at >= bytes.length || factor > 2 ** 63) return broken();
      const byte = bytes[at++]!;
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
  };
  const slice = (length: number): Buffer => {
    if (length > bytes.length - at) return broken();
    at += length;
    return bytes.subarray(at - length, at);
  };
  while (at < bytes.length) {
    const tag = integer();
    const wire = tag & 7;
    const value = wire === 0 ? integer() : wire === 2 ? slice(integer()) : wire === 1 ? slice(8) : wire === 5 ? slice(4) : broken();
    readers[Math.floor(tag / 8)]?.(new Field(value));
  }
};

const broken = (): never => {
  throw new BrokenMessage('a message is cut off or not in the binary form');
};
