import {parseJson} from '#src/base/json/json.js';
import {isBeyondRange} from '#src/base/json/number-range.js';
import {entityTooLarge, type StatusError} from '#src/api/status.js';
import {decodeValue, type FieldValidation} from '#src/schema/decode/decode.js';
import {beyondRange, DecodeError, type DecodeProblem} from '#src/schema/decode/error.js';
import {labelOf} from '#src/schema/decode/document.js';
import {jsonSyntaxProblem} from '#src/schema/decode/json-syntax.js';
import {maxDepth, isNestedDeeper, isPlainObject, wellFormed, type PlainObject} from '#src/schema/decode/plain.js';
import {hasDuplicates, strictProblems} from '#src/schema/decode/strict.js';
import {TypedDecoder} from '#src/schema/decode/typed.js';
import type {SchemaNode} from '#src/schema/node.js';
import {malformed, formatValue} from './errors.js';
import {applyJsonPatch, type Copying, type JsonPatch, type JsonPatchOperation} from './json-patch.js';
import {literalsIn, settleLiterals, type Literals} from './literals.js';
import {applyMergePatch} from './merge-patch.js';
import {touchedByMergePatch, touchedByJsonPatch, type TouchedFields} from './touched-fields.js';
import {applyStrategicPatch} from './strategic-merge.js';

// Parses and applies the patch types that need no field ownership. A parsed patch can be applied again after a
// conflict.

/** The patch types that do not track field ownership. */
export type PatchType = 'json' | 'merge' | 'strategic';

/** The media type of each patch type. */
export const patchMediaTypes: Readonly<Record<PatchType, string>> = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
};

/** The limit of operations in a JSON patch. */
const maxOperations = 10_000;

/** A parsed patch. It may be applied to several objects in turn. */
export interface ParsedPatch {
  readonly type: PatchType;
  readonly content: unknown;
  /** The literals in the content, if it has some. */
  readonly literals?: Literals | undefined;
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

/** Returns the error of a patch that cannot be parsed, worded by type. */
const unreadable = (type: PatchType, validation: FieldValidation, detail: string): StatusError => {
  if (type === 'strategic') return malformed(detail);
  if (validation !== 'Ignore') return malformed(`error decoding patch: ${detail}`);
  return malformed(type === 'merge' ? 'Invalid JSON Patch' : detail);
};

const jsonType = (value: unknown): string => {
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'boolean') return 'bool';
  return typeof value === 'bigint' || typeof value === 'symbol' ? 'number' : typeof value;
};

const read = (text: string): unknown => {
  try {
    return parseJson(text);
  } catch (error) {
    throw new DecodeError(jsonSyntaxProblem(text), {cause: error});
  }
};

const readContent = (type: PatchType, text: string, validation: FieldValidation): Pick<ParsedPatch, 'content' | 'literals'> => {
  const given = read(text);
  checkDepth(given);
  // Without validation the original keeps the text of the values of a JSON or merge patch, and refuses the object that
  // it makes.
  if ((type === 'strategic' || validation !== 'Ignore') && isBeyondRange(given))
    throw beyondRange(text, type === 'json' ? 'Go struct field jsonPatchOp.value' : undefined);
  if (type === 'json' && validation !== 'Ignore') new TypedDecoder().decode(given ?? [], operations);
  const found = type === 'strategic' ? undefined : literalsIn(text, {strings: type === 'json' && hasTest(given)});
  return {content: contentOf(type, wellFormed(found ? found.value : given, text)), literals: found?.literals};
};

/** Reports whether a JSON patch compares literals. */
const hasTest = (value: unknown): boolean => Array.isArray(value) && value.some(item => isPlainObject(item) && item.op === 'test');

/** Reads operations without a look at their members, which fail when they are applied. */
const operationsOf = (value: unknown): readonly JsonPatchOperation[] => {
  const wrong = (given: unknown, type: string) =>
    new DecodeError(`json: cannot unmarshal ${jsonType(given)} into Go value of type jsonpatch.${type}`);
  if (value === null) return [];
  if (!Array.isArray(value)) throw wrong(value, 'Patch');
  return value.map((item: unknown) => {
    if (item !== null && !isPlainObject(item)) throw wrong(item, 'Operation');
    return item ?? {};
  });
};

const checkDepth = (value: unknown): void => {
  if (isNestedDeeper(value, maxDepth)) throw new DecodeError('exceeded max depth');
};

const contentOf = (type: PatchType, value: unknown): unknown => {
  if (type === 'json') return operationsOf(value);
  if (value !== null && !isPlainObject(value))
    throw new DecodeError(`json: cannot unmarshal ${jsonType(value)} into Go value of type map[string]interface {}`);
  if (value === null && type === 'merge') throw malformed('Invalid JSON Patch');
  return value ?? {};
};

const problemsOf = (type: PatchType, text: string, value: unknown): string[] => {
  const node = type === 'json' ? operations : anything;
  const found: readonly DecodeProblem[] = type === 'json' || hasDuplicates(text, value) ? strictProblems(text, node) : [];
  return found.map(problem => (type === 'json' ? `json patch ${problem.text}` : problem.text));
};

/** Parses the body of a PATCH. Throws a 400 for an invalid one and a 413 for too many operations. */
export const parsePatch = (type: PatchType, body: Buffer | string, validation: FieldValidation): ParsedPatch => {
  const text = typeof body === 'string' ? body : body.toString('utf8');
  let parsed: Pick<ParsedPatch, 'content' | 'literals'>;
  try {
    parsed = readContent(type, text, validation);
  } catch (error) {
    if (error instanceof DecodeError) throw unreadable(type, validation, error.message);
    throw error;
  }
  const {content} = parsed;
  if (Array.isArray(content) && content.length > maxOperations) {
    throw entityTooLarge(`The allowed maximum operations in a JSON patch is ${maxOperations}, got ${content.length}`);
  }
  return {type, ...parsed, problems: validation === 'Ignore' ? [] : problemsOf(type, text, content)};
};

/**
 * Returns a patch that comes as a value instead of JSON, from a client in the process. Throws a 400 for an invalid one.
 */
export const patchOfValue = (type: 'merge' | 'strategic', value: unknown, validation: FieldValidation): ParsedPatch => {
  try {
    checkDepth(value);
    return {type, content: contentOf(type, value), problems: []};
  } catch (error) {
    throw error instanceof DecodeError ? unreadable(type, validation, error.message) : error;
  }
};

/** The JSON patch in a parsed one of that type. */
export const jsonPatchOf = ({content, literals}: ParsedPatch): JsonPatch => ({
  operations: content as readonly JsonPatchOperation[],
  literals,
});

const changed = (patch: ParsedPatch, live: PlainObject, node: SchemaNode, copying: Copying | undefined): unknown => {
  const {type, content} = patch;
  switch (type) {
    case 'json':
      return applyJsonPatch(live, jsonPatchOf(patch), copying);
    case 'merge':
      return applyMergePatch(live, content as PlainObject);
    case 'strategic':
      return applyStrategicPatch(live, content as PlainObject, node);
  }
};

/** The result of a patch is not an object of the kind. */
export class InvalidPatchResult extends Error {
  override readonly name = 'PatchMisfit';
  /** The result; for a strategic patch the error shows the patch instead. */
  readonly value: unknown;
  readonly patch: ParsedPatch;

  constructor(detail: string, {value, patch}: {value: unknown; patch: ParsedPatch}, cause?: unknown) {
    super(detail, {cause});
    this.value = value;
    this.patch = patch;
  }

  /** The text of the patch, or the parts of the object's text that it touched. */
  get shown(): {text: string} | {opened: TouchedFields} {
    const {type, content} = this.patch;
    if (type === 'strategic') return {text: formatValue(content)};
    return {opened: type === 'merge' ? touchedByMergePatch(content) : touchedByJsonPatch(content as readonly JsonPatchOperation[])};
  }
}

/**
 * What the original decodes an object without a version to: the type of the kind in the server, whose fields have other
 * names.
 */
const unversioned: SchemaNode = {
  type: 'object',
  properties: new Map<string, SchemaNode>([
    ['apiVersion', {type: 'string'}],
    ['kind', {type: 'string'}],
  ]),
};

/** Returns the schema for the result of a patch. Throws `DecodeError` for a version or kind that is none. */
const formOf = ({type}: ParsedPatch, value: unknown, live: PlainObject, node: SchemaNode): SchemaNode => {
  if (type === 'strategic') return node;
  const {apiVersion} = labelOf(value);
  const lostVersion = live.apiVersion !== undefined && (apiVersion === '' || apiVersion === '/');
  return lostVersion && !node.coerce ? unversioned : node;
};

/**
 * Applies a patch to `live` and decodes the result. `live` is not changed; its frozen parts count as decoded. Throws
 * the status error of the response, or `InvalidPatchResult`; under `Strict` also for unknown and duplicate fields,
 * which `Warn` returns as warnings. `copying` is called with each value that a JSON patch copies, and may throw.
 */
export const patchedObject = <T = PlainObject>(
  patch: ParsedPatch,
  live: PlainObject,
  node: SchemaNode,
  validation: FieldValidation,
  copying?: Copying,
): {object: T; warnings: readonly string[]} => {
  const value = changed(patch, live, node, copying);
  try {
    const {value: settledValue, numbers} = patch.literals ? settleLiterals(value) : {value, numbers: undefined};
    const source = patch.type === 'strategic' ? 'parts' : 'json';
    const form = formOf(patch, settledValue, live, node);
    const {object, problems} = decodeValue<T>(settledValue, form, validation, {source, copiesFrozen: true, numbers});
    // The original reads patched objects with sorted fields.
    const warnings = [...patch.problems, ...problems.map(problem => problem.text).sort()];
    if (validation === 'Strict' && warnings.length > 0) throw new DecodeError(`strict decoding error: ${warnings.join(', ')}`);
    return {object, warnings};
  } catch (error) {
    if (error instanceof DecodeError) throw new InvalidPatchResult(error.message, {value, patch}, error);
    throw error;
  }
};
