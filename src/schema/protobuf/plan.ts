import {compatibleExtensionPrefix} from '#src/api/naming.js';

/** How a value goes over the wire. */
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

/** A field of a message, ready to be read and written. All have the same properties in the same order, which keeps them fast. */
export interface Field {
  readonly number: number;
  /** The key in JSON; empty where the fields of the message are the object's own. */
  readonly name: string;
  readonly encoding: Encoding;
  /** What the form `message` stands for. */
  readonly message: Message | undefined;
  readonly shape: 'one' | 'list' | 'map' | 'inline';
  /** The wire type of one value, and of an entry in a map. */
  readonly wire: number;
  /** Unset is not the same as zero. */
  readonly optional: boolean;
  /** Whether JSON has the field even when it is zero. */
  readonly shown: boolean;
}

/** Finds the message a table's type names. */
export type Lookup = (type: string) => Message;

/** A message whose fields are read from its table when they are first needed, so that recursive types are no trouble. */
export class Message {
  readonly name: string;
  /** Whether objects of their own have this form. */
  readonly isKind: boolean;
  /** Whether JSON writes the message as the field that is set. */
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

  /** Ascending by number. */
  get fields(): readonly Field[] {
    return (this.#fields ??= this.#read());
  }

  get byNumber(): readonly (Field | undefined)[] {
    return (this.#byNumber ??= this.#index());
  }

  /** The lists and maps that are there even when they are empty. */
  get filled(): readonly Field[] {
    return (this.#filled ??= this.fields.filter(({shown, shape}) => shown && (shape === 'list' || shape === 'map')));
  }

  #read(): Field[] {
    if (this.#text === '') return [];
    return this.#text.split(this.isUnion ? ' | ' : '; ').map(text => (this.isUnion ? unionField(text, this.#lookup) : field(text, this.#lookup)));
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
    // What Go holds by value and writes as an object or by a marshaller of its own is never left out as empty.
    shown: shown === '!' || (shape === 'one' && !(wireType(encoding) === varint || encoding === 'float64' || encoding === 'string' || encoding === 'bytes')),
  };
};

/** A field of a union has no name; only its shape tells it from the others. */
const unionField = (text: string, lookup: Lookup): Field => ({...field(text.replace(' ', ' = '), lookup), optional: true});

/** Whether a JSON value is the one this field of a union stands for. */
export const fits = ({shape, encoding}: Field, value: unknown): boolean =>
  shape === 'list' ? Array.isArray(value) : encoding === 'bool' ? typeof value === 'boolean' : typeof value === 'object' && !Array.isArray(value);

