import {compatibleExtensionPrefix} from '#src/api/naming.js';

// Message types, parsed from the tables: fields with number, encoding and shape, ready for the object reader and
// writer.

/** How a value is encoded on the wire. */
export type Encoding =
  | 'string'
  | 'bool'
  | 'int32'
  | 'int64'
  | 'float64'
  | 'bytes'
  | 'time'
  | 'microtime'
  | 'duration'
  | 'quantity'
  | 'intorstring'
  | 'raw'
  | 'message';

const forms: ReadonlySet<string> = new Set<Encoding>([
  'string',
  'bool',
  'int32',
  'int64',
  'float64',
  'bytes',
  'time',
  'microtime',
  'duration',
  'quantity',
  'intorstring',
  'raw',
]);

export const varint = 0;
export const fixed64 = 1;
export const delimited = 2;
export const fixed32 = 5;

export const wireType = (encoding: Encoding): number => {
  if (encoding === 'float64') return fixed64;
  return encoding === 'bool' || encoding === 'int32' || encoding === 'int64' ? varint : delimited;
};

/** A field of a message. All fields have the same properties in the same order, which keeps access fast. */
export interface Field {
  readonly number: number;
  /** The key in JSON; empty if the message's fields are inlined. */
  readonly name: string;
  readonly encoding: Encoding;
  /** The message type of the encoding `message`. */
  readonly message: Message | undefined;
  readonly shape: 'one' | 'list' | 'map' | 'inline';
  /** The wire type of one value, and of a map entry's value. */
  readonly wire: number;
  /** Unset differs from zero. */
  readonly optional: boolean;
  /** Whether JSON has the field even if it is zero. */
  readonly shown: boolean;
}

/** Returns the message of a type in a table. */
export type Lookup = (type: string) => Message;

/** A message type. Its fields are parsed on first access, so types may be recursive. */
export class Message {
  readonly name: string;
  /** Whether the message is a kind of its own. */
  readonly isKind: boolean;
  /** Whether JSON writes the message as the value of the field that is set. */
  readonly isUnion: boolean;
  readonly #text: string;
  readonly #lookup: Lookup;
  #fields: readonly Field[] | undefined;
  #byNumber: readonly (Field | undefined)[] | undefined;
  #filled: readonly Field[] | undefined;

  constructor(name: string, text: string, lookup: Lookup) {
    this.name = name;
    this.isKind = text.startsWith('@');
    this.isUnion = text.startsWith('=');
    this.#text = text.replace(/^[@=]\s*/, '');
    this.#lookup = lookup;
  }

  /** The fields, ascending by number. */
  get fields(): readonly Field[] {
    return (this.#fields ??= this.#read());
  }

  get byNumber(): readonly (Field | undefined)[] {
    return (this.#byNumber ??= this.#index());
  }

  /** The lists and maps that JSON has even if they are empty. */
  get filled(): readonly Field[] {
    return (this.#filled ??= this.fields.filter(({shown, shape}) => shown && (shape === 'list' || shape === 'map')));
  }

  #read(): Field[] {
    if (this.#text === '') return [];
    return this.#text
      .split(this.isUnion ? ' | ' : '; ')
      .map(text => (this.isUnion ? unionField(text, this.#lookup) : field(text, this.#lookup)));
  }

  #index(): (Field | undefined)[] {
    const last = this.fields.at(-1)?.number ?? 0;
    const index = Array.from<Field | undefined>({length: last + 1});
    for (const field of this.fields) index[field.number] = field;
    return index;
  }
}

const pattern = /^(\d+) (?:(\S+) )?([*+]|\[\]|\{)?([^!}]+)\}?(!)?$/;

const field = (text: string, lookup: Lookup): Field => {
  const [, number = '', name = '', mark, type = '', shown] = pattern.exec(text) ?? [];
  const encoding = forms.has(type) ? (type as Encoding) : 'message';
  const shape = mark === '[]' ? 'list' : mark === '{' ? 'map' : mark === '+' ? 'inline' : 'one';
  return {
    number: Number(number),
    name: name.startsWith('^') ? `${compatibleExtensionPrefix}-${name.slice(1)}` : name,
    encoding: encoding,
    message: encoding === 'message' ? lookup(type) : undefined,
    shape,
    wire: shape === 'map' ? delimited : wireType(encoding),
    optional: mark === '*',
    // Fields that Go holds by value and writes as an object or with its own marshaller are never omitted as empty.
    shown:
      shown === '!' ||
      (shape === 'one' && !(wireType(encoding) === varint || encoding === 'float64' || encoding === 'string' || encoding === 'bytes')),
  };
};

/** Parses a field of a union, which has no name; the JSON type selects it. */
const unionField = (text: string, lookup: Lookup): Field => ({...field(text.replace(' ', ' = '), lookup), optional: true});

/** Reports whether a JSON value belongs to this field of a union. */
export const fits = ({shape, encoding}: Field, value: unknown): boolean =>
  shape === 'list'
    ? Array.isArray(value)
    : encoding === 'bool'
      ? typeof value === 'boolean'
      : typeof value === 'object' && !Array.isArray(value);
