import {parseJson as readJson} from '#src/base/json/json.js';
import {DecodeError} from '#src/schema/decode/error.js';
import {jsonSyntaxProblem} from '#src/schema/decode/json-syntax.js';
import {setProperty} from '#src/base/json/set-property.js';
import {maxDepth, isNestedDeeper, type PlainObject} from '#src/schema/decode/plain.js';
import {delimited, wireType, type Field, type Message} from './message-type.js';
import {durationText, microTimeText, quantityText, timeText} from './values.js';
import {WireReader} from './wire-reader.js';

/** The limit of nested messages. Each is at most three levels of JSON: an object in a list or map. */
const maxMessageDepth = 300;

/** Decodes an object that is embedded as bytes. */
export type EmbeddedReader = (bytes: Buffer, depth: number) => unknown;

/**
 * Decodes messages to their JSON objects: omits zero values that JSON omits, skips unknown fields, and merges repeated
 * messages. Throws `DecodeError`.
 */
export class ObjectReader {
  readonly #wire: WireReader;
  readonly #embedded: EmbeddedReader;
  #depth: number;

  constructor(wire: WireReader, embedded: EmbeddedReader, depth: number) {
    this.#wire = wire;
    this.#embedded = embedded;
    this.#depth = depth;
  }

  /** Reads fields into `object` up to `end`. */
  message(message: Message, end: number, object: PlainObject): PlainObject {
    if (++this.#depth > maxMessageDepth) throw new DecodeError('exceeded max depth');
    const {byNumber} = message;
    const wire = this.#wire;
    while (wire.at < end) {
      const tag = wire.tag(end);
      const field = byNumber[tag >>> 3];
      if (field !== undefined) this.#field(field, tag & 7, end, object);
      else wire.skip(tag & 7, end);
    }
    for (const {name, shape} of message.filled) object[name] ??= shape === 'list' ? [] : {};
    this.#depth -= 1;
    return object;
  }

  #field(field: Field, wire: number, end: number, object: PlainObject): void {
    if (wire !== field.wire) {
      if (wire !== delimited || field.shape !== 'list' || field.wire === delimited)
        throw new DecodeError(`proto: wrong wireType = ${wire} for field ${field.name}`);
      this.#packed(field, this.#wire.length(end), listOf(object, field.name));
      return;
    }
    switch (field.shape) {
      case 'one': {
        const value = this.#value(field, end, field.encoding === 'message' ? object[field.name] : undefined);
        if (value !== undefined && (field.optional || field.shown || (value !== '' && value !== 0 && value !== false)))
          object[field.name] = value;
        else if (Object.hasOwn(object, field.name)) delete object[field.name];
        return;
      }
      case 'inline':
        this.message(field.message!, this.#wire.length(end), object);
        return;
      case 'list':
        listOf(object, field.name).push(this.#value(field, end, undefined) ?? zeroOf(field));
        return;
      case 'map':
        this.#entry(field, this.#wire.length(end), object);
        return;
    }
  }

  /** Reads packed numbers, which some writers use. */
  #packed(field: Field, end: number, list: unknown[]): void {
    while (this.#wire.at < end) list.push(this.#value(field, end, undefined));
  }

  #entry(field: Field, end: number, object: PlainObject): void {
    const wire = this.#wire;
    let key = '';
    let value: unknown;
    while (wire.at < end) {
      const tag = wire.tag(end);
      if (tag === ((1 << 3) | delimited)) key = wire.text(wire.length(end));
      else if (tag === ((2 << 3) | wireType(field.encoding))) value = this.#value(field, end, undefined);
      else wire.skip(tag & 7, end);
    }
    const map = object[field.name] as PlainObject | undefined;
    setProperty(map ?? (object[field.name] = {} as PlainObject), key, value ?? zeroOf(field));
  }

  #value(field: Field, end: number, before: unknown): unknown {
    const wire = this.#wire;
    switch (field.encoding) {
      case 'string':
        return wire.text(wire.length(end));
      case 'message':
        return field.message!.isUnion
          ? this.#union(field.message!, wire.length(end))
          : this.message(field.message!, wire.length(end), (before as PlainObject | undefined) ?? {});
      case 'bool':
        return wire.bool(end);
      case 'int32':
        return wire.int32(end);
      case 'int64':
        return wire.int64(end);
      case 'float64':
        return wire.float64(end);
      case 'bytes':
        return wire.slice(wire.length(end)).toString('base64');
      default:
        return this.#special(field.encoding, wire.length(end));
    }
  }

  #special(encoding: Field['encoding'], end: number): unknown {
    switch (encoding) {
      case 'time':
      case 'microtime':
        return this.#time(encoding, end);
      case 'quantity':
        return quantityText(this.#first(end)?.toString('latin1') ?? '0');
      case 'intorstring':
        return this.#intOrString(end);
      case 'duration': {
        let nanos = 0;
        this.#parts(end, tag => tag === number1 && ((nanos = Number(this.#wire.int64(end))), true));
        return durationText(BigInt(nanos));
      }
      default: {
        const raw = this.#first(end);
        return raw === undefined || raw.length === 0 ? undefined : (this.#embedded(raw, this.#depth) ?? undefined);
      }
    }
  }

  #time(encoding: 'time' | 'microtime', end: number): string | undefined {
    const wire = this.#wire;
    if (wire.at === end) return undefined;
    let seconds = 0;
    let nanos = 0;
    this.#parts(end, tag => {
      if (tag === number1) seconds = Number(wire.int64(end));
      else if (tag === number2) nanos = wire.int32(end);
      return tag === number1 || tag === number2;
    });
    return encoding === 'time' ? timeText(seconds) : microTimeText(seconds, nanos);
  }

  #intOrString(end: number): string | number {
    const wire = this.#wire;
    let isText = false;
    let number = 0;
    let text = '';
    this.#parts(end, tag => {
      if (tag === number1) isText = wire.bool(end);
      else if (tag === number2) number = wire.int32(end);
      else if (tag === text3) text = wire.text(wire.length(end));
      return tag === number1 || tag === number2 || tag === text3;
    });
    return isText ? text : number;
  }

  /** Returns the first field of a message as bytes; undefined if it is not set. */
  #first(end: number): Buffer | undefined {
    let bytes: Buffer | undefined;
    this.#parts(end, tag => tag === text1 && ((bytes = this.#wire.slice(this.#wire.length(end))), true));
    return bytes;
  }

  /** Iterates over the fields of a small message; those for which `read` returns false are skipped. */
  #parts(end: number, read: (tag: number) => boolean): void {
    const wire = this.#wire;
    while (wire.at < end) {
      const tag = wire.tag(end);
      if (!read(tag)) wire.skip(tag & 7, end);
    }
  }

  #union(message: Message, end: number): unknown {
    const wire = this.#wire;
    let list: unknown[] | undefined;
    let one: unknown;
    while (wire.at < end) {
      const tag = wire.tag(end);
      const field = message.byNumber[tag >>> 3];
      if (field?.wire !== (tag & 7)) wire.skip(tag & 7, end);
      else if (field.shape === 'list') (list ??= []).push(this.#value(field, end, undefined));
      else {
        const value = this.#value(field, end, undefined);
        if (one === undefined || field.encoding === 'message') one = value;
      }
    }
    return list ?? one ?? unsetUnion(message);
  }
}

const number1 = 8;
const number2 = 16;
const text1 = 10;
const text3 = 26;

const listOf = (object: PlainObject, name: string): unknown[] => (object[name] ??= []) as unknown[];

const unsetUnion = ({fields}: Message): unknown => {
  if (fields[0]?.encoding === 'bool') return false;
  return fields[0]?.shape === 'list' ? [] : undefined;
};

/** Returns the value of a list or map element that is empty on the wire. */
const zeroOf = ({encoding, message}: Field): unknown => {
  switch (encoding) {
    case 'string':
    case 'bytes':
      return '';
    case 'bool':
      return false;
    case 'int32':
    case 'int64':
    case 'float64':
    case 'intorstring':
      return 0;
    case 'quantity':
      return '0';
    case 'duration':
      return '0s';
    case 'message':
      return message!.isUnion ? (unsetUnion(message!) ?? null) : {};
    default:
      return null;
  }
};

/** Parses embedded JSON. Throws `DecodeError`. */
export const parseEmbedded = (bytes: Buffer, depth: number): unknown => {
  const text = bytes.toString('utf8');
  const value = parseJson(text);
  if (isNestedDeeper(value, maxDepth - 3 * depth)) throw new DecodeError('exceeded max depth');
  return value;
};

const parseJson = (text: string): unknown => {
  try {
    return readJson(text);
  } catch (error) {
    throw new DecodeError(`json parse error: ${jsonSyntaxProblem(text)}`, {cause: error});
  }
};
