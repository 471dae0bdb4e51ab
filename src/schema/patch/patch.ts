import {parseJson} from '#src/base/json.js';
import {entityTooLarge, type StatusError} from '#src/api/status.js';
import {decodeValue, type FieldValidation} from '#src/schema/decode/decode.js';
import {DecodeError, type DecodeProblem} from '#src/schema/decode/error.js';
import {jsonSyntaxProblem} from '#src/schema/decode/json-syntax.js';
import {maxDepth, isNestedDeeper, isPlainObject, wellFormed, type PlainObject} from '#src/schema/decode/plain.js';
import {hasDuplicates, strictProblems} from '#src/schema/decode/strict.js';
import {TypedDecoder} from '#src/schema/decode/typed.js';
import type {SchemaNode} from '#src/schema/node.js';
import {malformed, formatValue} from './errors.js';
import {applyJsonPatch, type JsonPatchOperation} from './json-patch.js';
import {applyMergePatch} from './merge-patch.js';
import {touchedByMergePatch, touchedByJsonPatch, type TouchedFields} from './touched-fields.js';
import {applyStrategicPatch} from './strategic-merge.js';

/** The patches that need no knowledge of who owns what. */
export type PatchType = 'json' | 'merge' | 'strategic';

/** The media type of each. */
export const patchMediaTypes: Readonly<Record<PatchType, string>> = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
};

/** More operations than this are refused. */
const maxOperations = 10_000;

/** A patch that is read and waits for the object it changes; it may be tried on several in turn. */
export interface ParsedPatch {
  readonly type: PatchType;
  readonly content: unknown;
  readonly problems: readonly string[];
}

const anything: SchemaNode = {type: 'any'};
const operations: SchemaNode = {
  type: 'array',
  items: {
    type: 'object',
    ref: {group: '', version: 'handlers', name: 'jsonPatchOp'},
    properties: new Map<string, SchemaNode>([
      ['op', {type: 'string'}],
      ['path', {type: 'string'}],
      ['from', {type: 'string'}],
      ['value', anything],
    ]),
  },
};

/** How each kind of patch words that it cannot be read. */
const unreadable = (type: PatchType, validation: FieldValidation, detail: string): StatusError => {
  if (type === 'strategic') return malformed(detail);
  if (validation !== 'Ignore') return malformed(`error decoding patch: ${detail}`);
  return malformed(type === 'merge' ? 'Invalid JSON Patch' : detail);
};

const jsonType = (value: unknown): string => (Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value);

const read = (text: string): unknown => {
  try {
    return parseJson(text);
  } catch (error) {
    throw new DecodeError(jsonSyntaxProblem(text), {cause: error});
  }
};

const readContent = (type: PatchType, text: string): unknown => {
  const given = read(text);
  if (isNestedDeeper(given, maxDepth)) throw new DecodeError('exceeded max depth');
  const value = wellFormed(given, text);
  if (type === 'json') return new TypedDecoder().decode(value ?? [], operations);
  if (value !== null && !isPlainObject(value)) throw new DecodeError(`json: cannot unmarshal ${jsonType(value)} into Go value of type map[string]interface {}`);
  if (value === null && type === 'merge') throw malformed('Invalid JSON Patch');
  return value ?? {};
};

const problemsOf = (type: PatchType, text: string, value: unknown): string[] => {
  const node = type === 'json' ? operations : anything;
  const found: readonly DecodeProblem[] = type === 'json' || hasDuplicates(text, value) ? strictProblems(text, node) : [];
  return found.map(problem => (type === 'json' ? `json patch ${problem.text}` : problem.text));
};

/** Reads the body of a PATCH. Throws a 400 for one that cannot be read and a 413 for one with too many operations. */
export const parsePatch = (type: PatchType, body: Buffer | string, validation: FieldValidation): ParsedPatch => {
  const text = typeof body === 'string' ? body : body.toString('utf8');
  let content: unknown;
  try {
    content = readContent(type, text);
  } catch (error) {
    if (error instanceof DecodeError) throw unreadable(type, validation, error.message);
    throw error;
  }
  if (Array.isArray(content) && content.length > maxOperations) {
    throw entityTooLarge(`The allowed maximum operations in a JSON patch is ${maxOperations}, got ${content.length}`);
  }
  return {type, content, problems: validation === 'Ignore' ? [] : problemsOf(type, text, content)};
};

const changed = ({type, content}: ParsedPatch, live: PlainObject, node: SchemaNode): unknown => {
  switch (type) {
    case 'json':
      return applyJsonPatch(live, content as readonly JsonPatchOperation[]);
    case 'merge':
      return applyMergePatch(live, content as PlainObject);
    case 'strategic':
      return applyStrategicPatch(live, content as PlainObject, node);
  }
};

/** What came out of a patch is no object of the kind. */
export class InvalidPatchResult extends Error {
  override readonly name = 'PatchMisfit';
  /** What came out; a strategic patch is shown by itself instead. */
  readonly value: unknown;
  readonly patch: ParsedPatch;

  constructor(detail: string, {value, patch}: {value: unknown; patch: ParsedPatch}, cause?: unknown) {
    super(detail, {cause});
    this.value = value;
    this.patch = patch;
  }

  /** What the patch shows of itself, or what it has opened of the text of the object. */
  get shown(): {text: string} | {opened: TouchedFields} {
    const {type, content} = this.patch;
    if (type === 'strategic') return {text: formatValue(content)};
    return {opened: type === 'merge' ? touchedByMergePatch(content) : touchedByJsonPatch(content as readonly JsonPatchOperation[])};
  }
}

/**
 * The object a patch makes of `live`, held against its schema. `live` stays as it is. Throws the status error to answer with, or `PatchMisfit`; under `Strict`
 * also for unknown and repeated fields, which `Warn` returns as the texts of warnings.
 */
export const patchedObject = <T = PlainObject>(
  patch: ParsedPatch,
  live: PlainObject,
  node: SchemaNode,
  validation: FieldValidation,
): {object: T; warnings: readonly string[]} => {
  const value = changed(patch, live, node);
  try {
    const {object, problems} = decodeValue<T>(value, node, validation, patch.type === 'strategic' ? 'parts' : 'json');
    // What patches make is read with its fields in order.
    const warnings = [...patch.problems, ...problems.map(problem => problem.text).sort()];
    if (validation === 'Strict' && warnings.length > 0) throw new DecodeError(`strict decoding error: ${warnings.join(', ')}`);
    return {object, warnings};
  } catch (error) {
    if (error instanceof DecodeError) throw new InvalidPatchResult(error.message, {value, patch}, error);
    throw error;
  }
};
