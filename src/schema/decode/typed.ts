import {canonicalQuantity} from '#src/api/quantity.js';
import {jsonText} from '#src/base/json/json.js';
import {isBeyondRange} from '#src/base/json/number-range.js';
import {embeddedOf, goName} from '#src/schema/error-texts/go-names.js';
import {goTypeName, propertyName, type Variants, type SchemaNode} from '#src/schema/node.js';
import {canonicalBase64} from './base64.js';
import {decodedCopy} from './decoded-copy.js';
import {noteEmpty} from '#src/schema/emptied.js';
import {beyondRange, DecodeError} from './error.js';
import {canonicalMicroTime, canonicalTime} from './go-time.js';
import {numberLiterals} from './number-literals.js';
import {setProperty} from '#src/base/json/set-property.js';
import {isPlainObject, type PlainObject} from './plain.js';
import {isWhole, wrapped} from './wrapped-integer.js';

// Decodes a JSON value by its schema: known fields only, canonical scalars, defaults of required fields. The error of a
// wrong type has the text of Go's decoder.

const jsonType = (value: unknown): string => {
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'boolean') return 'bool';
  return typeof value === 'bigint' ? 'number' : typeof value;
};

const isByte = (value: unknown): boolean => Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 255;

/** Returns the zero value of a list's or map's element that is not an object. */
const zero = (node: SchemaNode): unknown => {
  if (node.type === 'string') return node.format?.startsWith('date-time') ? null : '';
  if (node.type === 'integer' || node.type === 'number') return 0;
  if (node.type === 'boolean') return false;
  if (node.format === 'quantity') return '0';
  if (node.format === 'int-or-string') return 0;
  return null;
};

/**
 * The decoder whose rules and error texts are used: that of JSON bodies, or that of the parts merged by a strategic
 * patch or an apply, which takes whole numbers of any size. An applied custom resource keeps its nulls, which
 * validation rejects.
 */
export type Source = 'json' | 'parts' | 'applied';

interface ValueSource {
  readonly text?: string | undefined;
  readonly copiesFrozen?: boolean;
  readonly numbers?: ReadonlyMap<string, string> | undefined;
}

/** Converts a JSON value by its schema: known fields only, each in canonical form. */
export class TypedDecoder {
  readonly #path: string[] = [];
  readonly #source: Source;
  /** Whether merged parts are decoded. */
  readonly #isMerged: boolean;
  /** The structs of the fields on the path. */
  readonly #structs: SchemaNode[] = [];
  #mismatch: string | undefined;
  /** Set when an unknown field was found. */
  unknown = false;

  readonly #text: string | undefined;
  /**
   * Whether the value was parsed for this decoder, which may change it then. Otherwise it may be shared, and is copied.
   */
  readonly #isParsed: boolean;
  #knownLiterals: ReadonlyMap<string, string> | undefined;
  #hasLiterals = false;

  readonly #copiesFrozen: boolean;

  /**
   * `text` is the JSON text that the value was parsed from for this decoder, which then changes it in place where it
   * can; for another value, `numbers` are its literals by field path where they have not the usual form. With
   * `copiesFrozen`, what is frozen was decoded before and is only copied: a patch leaves most of the stored object as
   * it is.
   */
  constructor(source: Source = 'json', {text, copiesFrozen = false, numbers}: ValueSource = {}) {
    this.#source = source;
    this.#isMerged = source !== 'json';
    this.#text = text ?? (numbers && [...numbers.values()].join(' '));
    this.#isParsed = text !== undefined;
    this.#copiesFrozen = copiesFrozen;
    this.#knownLiterals = numbers;
    this.#hasLiterals = numbers !== undefined;
  }

  /**
   * The number literals by field path, where they differ from the usual form. They are looked for at the first number.
   */
  get #literals(): ReadonlyMap<string, string> | undefined {
    if (!this.#hasLiterals) {
      this.#hasLiterals = true;
      this.#knownLiterals = this.#text === undefined ? undefined : numberLiterals(this.#text);
    }
    return this.#knownLiterals;
  }

  /** Returns the object according to the schema. Throws `DecodeError`. */
  decode(value: unknown, node: SchemaNode): PlainObject {
    const object = this.#value(value, node);
    if (this.#mismatch !== undefined) throw new DecodeError(this.#mismatch);
    return object as PlainObject;
  }

  #value(value: unknown, node: SchemaNode): unknown {
    if (this.#copiesFrozen && typeof value === 'object' && value !== null && Object.isFrozen(value)) return decodedCopy(value, node);
    switch (node.type) {
      case 'object':
        return this.#object(value, node);
      case 'map':
        return this.#map(value, node);
      case 'array':
        return this.#array(value, node);
      case 'string':
        return this.#string(value, node);
      case 'integer':
      case 'number':
        return this.#number(value, node);
      case 'boolean':
        return typeof value === 'boolean' ? value : this.#mismatched(value, node);
      case 'any':
        return this.#any(value, node);
    }
  }

  #object(value: unknown, node: SchemaNode): unknown {
    if (!isPlainObject(value)) return this.#mismatched(value, node);
    const {properties} = node;
    const names = Object.keys(value);
    let result = this.#isParsed ? value : {};
    for (let at = 0; at < names.length; at++) {
      const fieldName = names[at]!;
      const given = value[fieldName];
      let key = fieldName;
      let field = properties?.get(key);
      if (!field) {
        key = propertyName(node, fieldName);
        field = properties?.get(key);
      }
      const isKept = field ? given !== null && key === fieldName : node.preservesUnknown;
      if (!isKept && result === value) result = firstFields(value, names, at);
      if (!field) {
        if (!isKept) this.unknown = true;
        else if (result !== value) setProperty(result, fieldName, given);
        continue;
      }
      if (given === null) continue;
      this.#path.push(key);
      this.#structs.push(node);
      const decoded = this.#value(given, field);
      this.#structs.pop();
      // A list that is shown as null when absent does not distinguish empty from absent.
      const omitsEmpty =
        field.omitsEmpty || (field.omitsEmptyNested && this.#path.length > 2) || (field.showsNull && field.type === 'array');
      const isOmitted = decoded === undefined || (omitsEmpty && isEmpty(decoded));
      this.#path.pop();
      if (isOmitted) {
        if (result === value) result = firstFields(value, names, at);
        if (field.variants || isCollection(decoded)) noteEmpty(result, key, decoded);
        continue;
      }
      if (result !== value || !Object.is(decoded, given)) setProperty(result, key, decoded);
    }
    // The defaults of a whole object are set by its kind.
    for (const [name, field] of node.filled ?? [])
      if (result[name] === undefined && (this.#path.length > 0 || node.required?.has(name))) setProperty(result, name, this.#zero(field));
    return result;
  }

  /** Returns the value of an absent required field. */
  #zero(node: SchemaNode): unknown {
    if (node.showsNull) return null;
    return node.type === 'object' ? this.#object({}, node) : node.default;
  }

  #map(value: unknown, node: SchemaNode): unknown {
    if (!isPlainObject(value)) return this.#mismatched(value, node);
    const result = this.#isParsed ? value : {};
    for (const key of Object.keys(value)) {
      const decoded = this.#element(value[key], node);
      if (result !== value || !Object.is(decoded, value[key])) setProperty(result, key, decoded);
    }
    return result;
  }

  #array(value: unknown, node: SchemaNode): unknown {
    if (!Array.isArray(value)) return this.#mismatched(value, node);
    if (!this.#isParsed) return value.map(item => this.#element(item, node));
    for (let at = 0; at < value.length; at++) value[at] = this.#element(value[at], node);
    return value;
  }

  #element(value: unknown, {items}: SchemaNode): unknown {
    if (!items) return value;
    return (value === null ? undefined : this.#value(value, items)) ?? (items.type === 'object' ? this.#object({}, items) : zero(items));
  }

  #string(value: unknown, node: SchemaNode): unknown {
    if (node.format === 'date-time' || node.format === 'date-time-micro') return this.#time(value, node);
    if (node.format === 'byte' && Array.isArray(value)) return this.#byteList(value, node);
    if (typeof value !== 'string') return this.#mismatched(value, node);
    if (node.format !== 'byte') return value;
    const bytes = canonicalBase64(value);
    if (typeof bytes === 'string') return bytes;
    this.#mismatch ??= `${this.#isMerged ? 'error decoding from json: ' : ''}illegal base64 data at input byte ${bytes}`;
    return undefined;
  }

  /** Decodes bytes that are given as a list of numbers; null counts as zero. */
  #byteList(list: readonly unknown[], node: SchemaNode): unknown {
    const wrong = list.find(value => value !== null && !isByte(value));
    if (wrong === undefined) return Buffer.from(list as number[]).toString('base64');
    if (this.#isMerged) return this.#mismatched(list, node);
    this.#mismatch ??= this.#mismatchText(
      typeof wrong === 'number' || typeof wrong === 'bigint' ? `number ${this.#shown(wrong)}` : jsonType(wrong),
      'uint8',
    );
    return undefined;
  }

  #time(value: unknown, node: SchemaNode): unknown {
    if (typeof value !== 'string') throw new DecodeError(this.#mismatchText(jsonType(value), 'string'));
    return node.format === 'date-time' ? canonicalTime(value) : canonicalMicroTime(value);
  }

  #number(value: unknown, node: SchemaNode): unknown {
    if (typeof value === 'bigint' && node.type === 'number') return Number(value);
    if (typeof value === 'bigint' && node.format !== 'int32') return value;
    if (typeof value !== 'number' && typeof value !== 'bigint') return this.#mismatched(value, node);
    if (typeof value === 'number') {
      const fits =
        node.type === 'number' ||
        (Number.isSafeInteger(value) && !this.#isFraction(value) && (node.format !== 'int32' || (value >= -(2 ** 31) && value < 2 ** 31)));
      if (fits && Number.isFinite(value)) return Object.is(value, -0) ? 0 : value;
    }
    if (this.#isMerged) return node.type === 'integer' && isWhole(value) ? wrapped(value, node) : this.#mismatched(value, node);
    this.#mismatch ??= this.#mismatchText(`number ${this.#shown(value)}`, this.#typeName(node));
    return undefined;
  }

  /** Formats the number as it was written, if that is known. */
  #shown(value: number | bigint): string {
    const written = this.#literals?.get(this.#path.join('.'));
    return written !== undefined && Number(written) === Number(value) ? written : String(value);
  }

  /** Reports whether an integer was written as a fraction or with an exponent, which is rejected. */
  #isFraction(value: number): boolean {
    return this.#literals !== undefined && /[.eE]/.test(this.#shown(value));
  }

  #any(value: unknown, node: SchemaNode): unknown {
    if (node.variants) return this.#oneOf(value, node.variants);
    if (node.format === 'quantity') return this.#quantity(value);
    if (node.format !== 'int-or-string' && isBeyondRange(value)) throw beyondRange(this.#text);
    if (node.format !== 'int-or-string' || typeof value === 'string') return value;
    const isInt32 =
      typeof value === 'number' && Number.isInteger(value) && !this.#isFraction(value) && value >= -(2 ** 31) && value < 2 ** 31;
    if (isInt32) return value;
    throw new DecodeError(
      this.#mismatchText(
        typeof value === 'number' || typeof value === 'bigint' ? `number ${this.#shown(value)}` : jsonType(value),
        'int32',
      ),
    );
  }

  /**
   * Decodes a value of a type with its own unmarshaller: its content is decoded separately and unknown fields are
   * ignored.
   */
  #oneOf(value: unknown, {object, array, boolean: takesBoolean, refusal}: Variants): unknown {
    if (takesBoolean && typeof value === 'boolean') return value;
    const form = Array.isArray(value) ? array : isPlainObject(value) ? object : undefined;
    if (form) return new TypedDecoder(this.#source).decode(value, form);
    if (refusal) throw new DecodeError(refusal);
    return undefined;
  }

  #quantity(value: unknown): string {
    try {
      return canonicalQuantity(typeof value === 'string' ? value.trim() : jsonText(value));
    } catch (error) {
      throw new DecodeError((error as Error).message, {cause: error});
    }
  }

  /** Records the first mismatch, which is reported after the whole object was decoded: syntax errors come first. */
  #mismatched(value: unknown, node: SchemaNode): undefined {
    this.#mismatch ??= this.#isMerged
      ? partsText(value, node, this.#typeName(node))
      : this.#mismatchText(jsonType(value), this.#typeName(node));
    return undefined;
  }

  /** Returns the field path, including embedded structs. */
  #fields(): string {
    return this.#path.flatMap((field, depth) => [...embeddedOf(this.#structs[depth]?.ref, field), field]).join('.');
  }

  /** Returns the type name of a value: that of its field, or of its element. */
  #typeName(node: SchemaNode): string {
    const field = this.#path.at(-1);
    const struct = this.#structs.at(-1);
    const at = field === undefined ? undefined : struct?.properties?.get(field);
    let name = field === undefined ? undefined : goName(struct?.ref, field);
    for (let within = at; within && within !== node; within = within.items) name = name && elementOf(name);
    return name ?? goTypeName(node);
  }

  /** Returns the error text of a type with its own unmarshaller. */
  #mismatchText(given: string, wanted: string): string {
    const target =
      this.#path.length === 0 || this.#isMerged ? 'Go value' : `Go struct field ${this.#structs.at(-1)?.ref?.name ?? ''}.${this.#fields()}`;
    return `json: cannot unmarshal ${given} into ${target} of type ${wanted}`;
  }
}

/**
 * Returns a copy with the first fields: those that are decoded when one is left out. Deleting it would make the object
 * slow.
 */
const firstFields = (value: PlainObject, names: readonly string[], count: number): PlainObject => {
  const copy: PlainObject = {};
  for (let at = 0; at < count; at++) setProperty(copy, names[at]!, value[names[at]!]);
  return copy;
};

/** Returns the element type in the name of a list or map type. */
const elementOf = (name: string): string | undefined => (/^(?:\[\]|map\[[\w.]+\])(.+)$/.exec(name) ?? [])[1];

const partType = (value: unknown): string => {
  if (Array.isArray(value)) return 'slice';
  if (typeof value === 'object') return 'map';
  if (typeof value === 'bigint') return 'int64';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64';
  return typeof value === 'boolean' ? 'bool' : 'string';
};

const goKind = ({type, format}: SchemaNode): string =>
  type === 'integer' ? (format ?? 'int64') : type === 'number' ? 'float64' : type === 'boolean' ? 'bool' : 'string';

/** Returns the error text of a mismatch in merged parts, which has no path. */
const partsText = (value: unknown, node: SchemaNode, name: string): string => {
  const given = partType(value);
  if (node.type === 'object') return `cannot restore struct from: ${given}`;
  if (node.type === 'map') return `cannot restore map from ${given}`;
  if (node.type === 'array' || node.format === 'byte') return `cannot restore slice from ${given}`;
  const isNumber = typeof value === 'number' || typeof value === 'bigint';
  if (isNumber && (node.type === 'string' || node.type === 'integer')) return `cannot convert ${given} to ${name}`;
  return `unrecognized type: ${goKind(node)}`;
};

const isCollection = (value: unknown): boolean => typeof value === 'object' && value !== null;

const isEmpty = (value: unknown): boolean => {
  if (typeof value !== 'object' || value === null) return value === '' || value === 0 || value === false;
  return Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0;
};
