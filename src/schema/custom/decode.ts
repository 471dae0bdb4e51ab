import type {Decoded, FieldValidation} from '#src/schema/decode/decode.js';
import type {ParsedBody} from '#src/schema/decode/document.js';
import type {DecodeProblem} from '#src/schema/decode/error.js';
import {copied, type PlainObject} from '#src/schema/decode/plain.js';
import {hasDuplicates, strictProblems} from '#src/schema/decode/strict.js';
import type {SchemaNode} from '#src/schema/node.js';
import type {CustomSchema} from './schema.js';

const anything: SchemaNode = {type: 'any'};

const unknownField = (path: string): DecodeProblem => ({kind: 'unknown', path, text: `unknown field "${path}"`});

/**
 * Reads a body as an object of a custom resource: metadata canonical, unknown fields dropped, defaults filled in. Values of wrong types stay: telling
 * of them is validation's. The body may be changed. Throws `DecodeError`.
 */
export const decodeCustom = <T = PlainObject>(body: ParsedBody, schema: CustomSchema, validation: FieldValidation): Decoded<T> => {
  const {text} = body;
  // What was not just read from text may belong to somebody else.
  const object = (text === undefined ? copied(body.value) : body.value) as PlainObject;
  const repeated = validation !== 'Ignore' && text !== undefined && hasDuplicates(text, body.value) ? strictProblems(text, anything) : [];
  const unknown = schema.coerce(object);
  schema.applyDefaults(object);
  return {object: object as T, problems: validation === 'Ignore' ? [] : [...body.problems, ...repeated, ...unknown.map(unknownField)]};
};
