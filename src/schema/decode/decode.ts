import {jsonText} from '#src/base/json/json.js';
import {isBeyondRange} from '#src/base/json/number-range.js';
import type {SchemaNode} from '#src/schema/node.js';
import {parseBody, type Notation, type ParsedBody} from './document.js';
import {beyondRange, DecodeError, type DecodeProblem} from './error.js';
import {copied, isPlainObject, type PlainObject} from './plain.js';
import {hasDuplicates, strictProblems} from './strict.js';
import {TypedDecoder, type Source} from './typed.js';

// Decodes request bodies by the schema of their kind, with field validation. Parsing (`document.ts`) comes first and
// does not need the kind.

/** How unknown and duplicate fields are treated (`fieldValidation`): reported unless `Ignore`, dropped in any case. */
export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

export interface Decoded<T> {
  readonly object: T;
  /** The problems in the order of the body; empty for `Ignore`. */
  readonly problems: readonly DecodeProblem[];
}

/**
 * Decodes a parsed body by its schema: keeps known fields only, drops nulls and empty optional collections, converts
 * times to UTC, quantities and base64 to their canonical form. Throws `DecodeError` for a value of the wrong type.
 */
export const decodeParsed = <T = PlainObject>(body: ParsedBody, node: SchemaNode, validation: FieldValidation): Decoded<T> => {
  // A value that was not parsed here may be shared, so it is copied.
  if (node.coerce) return coercedByNode<T>(body.text === undefined ? {...body, value: copied(body.value)} : body, node.coerce, validation);
  const repeats = validation !== 'Ignore' && body.text !== undefined && hasDuplicates(body.text, body.value);
  const decoder = new TypedDecoder('json', {text: body.text});
  const object = decoder.decode(body.value, node) as T;
  if (validation === 'Ignore') return {object, problems: []};
  if (!repeats && !decoder.unknown) return {object, problems: body.problems};
  return {object, problems: [...body.problems, ...strictProblems(body.text ?? jsonText(body.value), node)]};
};

const anything: SchemaNode = {type: 'any'};

/** What is known of a value that is already an object. */
export interface ValueOptions {
  readonly source?: Source;
  /** Whether frozen parts were decoded before and are only copied. */
  readonly copiesFrozen?: boolean;
  /** The literals of numbers by field path, where they differ from the usual form. */
  readonly numbers?: ReadonlyMap<string, string> | undefined;
}

const coercedByNode = <T>(
  {value, text, problems}: Pick<ParsedBody, 'value' | 'text' | 'problems'>,
  coerce: NonNullable<SchemaNode['coerce']>,
  validation: FieldValidation,
  {source, numbers}: ValueOptions = {},
): Decoded<T> => {
  if (!isPlainObject(value)) throw new DecodeError('the body is not an object');
  if (isBeyondRange(value)) throw beyondRange(text ?? [...(numbers?.values() ?? [])].join(' '));
  const duplicates = validation !== 'Ignore' && text !== undefined && hasDuplicates(text, value) ? strictProblems(text, anything) : [];
  const unknown = coerce(value, {keepsNulls: source === 'applied'}).map((path): DecodeProblem => ({
    kind: 'unknown',
    path,
    text: `unknown field "${path}"`,
  }));
  return {object: value as T, problems: validation === 'Ignore' ? [] : [...problems, ...duplicates, ...unknown]};
};

/** Decodes a body of a known kind. Throws `DecodeError`. */
export const decode = <T = PlainObject>(
  body: Buffer | string,
  notation: Notation,
  node: SchemaNode,
  validation: FieldValidation,
): Decoded<T> => decodeParsed<T>(parseBody(body, notation), node, validation);

/** Decodes a value that is already an object. Throws `DecodeError`. */
export const decodeValue = <T = PlainObject>(
  value: unknown,
  node: SchemaNode,
  validation: FieldValidation,
  options: ValueOptions = {},
): Decoded<T> => {
  if (node.coerce) return coercedByNode<T>({value: copied(value), problems: []}, node.coerce, validation, options);
  const decoder = new TypedDecoder(options.source, options);
  const object = decoder.decode(value, node) as T;
  return {object, problems: validation !== 'Ignore' && decoder.unknown ? strictProblems(jsonText(value), node) : []};
};
