import {jsonText} from '#src/base/json/json.js';
import {isPlainObject, type PlainObject} from '#src/schema/decode/plain.js';
import {fits, wireType, type Field, type Message} from './message-type.js';
import {durationNanos, quantityText, parseTimestamp} from './values.js';
import type {WireWriter} from './wire-writer.js';

const nothing: PlainObject = Object.freeze({});

const wrong = ({name, encoding}: Field, value: unknown): TypeError =>
  new TypeError(`the field ${name} holds ${jsonText(value)}, which is no ${encoding}`);

const surrogates = /[\ud800-\udfff]/;

/** Returns the keys sorted by UTF-8 bytes, which differs from JavaScript's order beyond the basic plane. */
const sortedKeys = (map: PlainObject): string[] => {
  const keys = Object.keys(map);
  if (keys.length < 2) return keys;
  return keys.some(key => surrogates.test(key)) ? keys.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))) : keys.sort();
};

/**
 * Encodes objects as messages, byte for byte as the original's marshallers do: fields ascending, fields held by value
 * always, maps sorted by key. Undeclared fields are omitted. Throws `TypeError` for a value of the wrong type.
 */
export class ObjectWriter {
  readonly #wire: WireWriter;

  constructor(wire: WireWriter) {
    this.#wire = wire;
  }

  message({fields}: Message, object: PlainObject): void {
    for (let index = fields.length - 1; index >= 0; index--) this.#field(fields[index]!, object);
  }

  #field(field: Field, object: PlainObject): void {
    if (field.shape === 'inline') {
      const before = this.#wire.written;
      this.message(field.message!, object);
      this.#wire.close(field.number, before);
      return;
    }
    const value = object[field.name] ?? undefined;
    if (value === undefined && (field.optional || field.shape !== 'one' || field.encoding === 'bytes')) return;
    switch (field.shape) {
      case 'one':
        this.#value(field, field.number, value);
        return;
      case 'list':
        this.#list(field, value);
        return;
      case 'map':
        this.#map(field, value);
    }
  }

  #list(field: Field, value: unknown): void {
    if (!Array.isArray(value)) throw wrong(field, value);
    for (let index = value.length - 1; index >= 0; index--) this.#value(field, field.number, value[index] ?? undefined);
  }

  #map(field: Field, value: unknown): void {
    if (!isPlainObject(value)) throw wrong(field, value);
    const keys = sortedKeys(value);
    for (let index = keys.length - 1; index >= 0; index--) {
      const key = keys[index]!;
      const before = this.#wire.written;
      this.#value(field, 2, value[key] ?? undefined);
      this.#wire.text(1, key);
      this.#wire.close(field.number, before);
    }
  }

  /** Writes one value with its tag; undefined is the zero value. */
  #value(field: Field, number: number, value: unknown): void {
    const wire = this.#wire;
    switch (field.encoding) {
      case 'string':
        if (typeof value !== 'string' && value !== undefined) throw wrong(field, value);
        wire.text(number, value ?? '');
        return;
      case 'bool':
        if (typeof value !== 'boolean' && value !== undefined) throw wrong(field, value);
        wire.varint(value ? 1 : 0);
        break;
      case 'int32':
      case 'int64':
        if (value !== undefined && !Number.isSafeInteger(value) && (typeof value !== 'bigint' || field.encoding === 'int32'))
          throw wrong(field, value);
        wire.varint((value as number | bigint | undefined) ?? 0);
        break;
      case 'float64':
        if (typeof value !== 'number' && value !== undefined) throw wrong(field, value);
        wire.float64(value ?? 0);
        break;
      default: {
        const before = wire.written;
        this.#content(field, value);
        wire.close(number, before);
        return;
      }
    }
    wire.tag(number, wireType(field.encoding));
  }

  /** Writes the content of a length-delimited field. */
  #content(field: Field, value: unknown): void {
    switch (field.encoding) {
      case 'message':
        if (field.message!.isUnion) this.#union(field.message!, value);
        else if (value === undefined || isPlainObject(value)) this.message(field.message!, value ?? nothing);
        else throw wrong(field, value);
        return;
      case 'raw':
        if (value !== undefined) this.#wire.text(1, jsonText(value));
        return;
      case 'intorstring':
        if (value !== undefined && typeof value !== 'string' && !Number.isSafeInteger(value)) throw wrong(field, value);
        this.#wire.text(3, typeof value === 'string' ? value : '');
        this.#number(2, typeof value === 'string' ? 0 : ((value as number | undefined) ?? 0));
        this.#number(1, typeof value === 'string' ? 1 : 0);
        return;
      case 'quantity':
        if (value !== undefined && typeof value !== 'string' && typeof value !== 'number') throw wrong(field, value);
        this.#wire.text(1, value === undefined ? '0' : quantityText(String(value)));
        return;
      case 'duration':
        this.#duration(field, value);
        return;
      default:
        if (value === undefined) return;
        if (typeof value !== 'string') throw wrong(field, value);
        if (field.encoding === 'bytes') this.#wire.bytes(Buffer.from(value, 'base64'));
        else this.#time(field, value);
    }
  }

  #duration(field: Field, value: unknown): void {
    const nanos = value === undefined ? 0n : typeof value === 'string' ? durationNanos(value) : undefined;
    if (nanos === undefined || !Number.isSafeInteger(Number(nanos))) throw wrong(field, value);
    this.#number(1, Number(nanos));
  }

  /** Writes a time; the zero time is an empty message. */
  #time(field: Field, value: string): void {
    const time = parseTimestamp(value);
    if (!time) throw wrong(field, value);
    const nanos = field.encoding === 'microtime' ? time.micros * 1000 : 0;
    if (time.isZero && nanos === 0) return;
    this.#number(2, nanos);
    this.#number(1, time.seconds);
  }

  #number(number: number, value: number): void {
    this.#wire.varint(value);
    this.#wire.tag(number, 0);
  }

  #union({fields}: Message, value: unknown): void {
    for (let index = fields.length - 1; index >= 0; index--) {
      const field = fields[index]!;
      if (value !== undefined && fits(field, value)) {
        if (field.shape === 'list') this.#list(field, value);
        else this.#value(field, field.number, value);
        // Of a schema or boolean, true is written.
      } else if (field.encoding === 'bool') this.#value(field, field.number, value !== undefined);
    }
  }
}
