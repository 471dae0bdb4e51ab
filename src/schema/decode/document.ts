import {parseInSteps} from '#src/base/json/json-steps.js';
import {parseJson as readJson} from '#src/base/json/json.js';
import type {Steps} from '#src/base/steps.js';
import {DecodeError, NoObject, type DecodeProblem} from './error.js';
import {jsonSyntaxProblem, jsonSyntaxProblemInSteps} from './json-syntax.js';
import {maxDepth, isNestedDeeper, isPlainObject, wellFormed} from './plain.js';
import {parseYaml} from './yaml.js';

// Parses request bodies in JSON or YAML, as far as possible without the kind.

/** The notation of a body. */
export type Notation = 'json' | 'yaml';

/** A parsed body that is not yet decoded by a schema. */
export interface ParsedBody {
  readonly value: unknown;
  /** The version and kind that the body declares; empty if absent. */
  readonly apiVersion: string;
  readonly kind: string;
  /** The JSON text, if there is one. */
  readonly text?: string | undefined;
  /** Duplicate keys of YAML. */
  readonly problems: readonly DecodeProblem[];
}

const unreadable = (detail: string, cause?: unknown): DecodeError =>
  new DecodeError(`couldn't get version/kind; json parse error: ${detail}`, {cause});

const typeStruct = String.raw`struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }`;

const label = (value: unknown, field: 'apiVersion' | 'kind'): string => {
  // No object inherits these fields.
  const given = isPlainObject(value) ? value[field] : undefined;
  if (given === undefined || given === null) return '';
  if (typeof given === 'string') return given;
  const what = Array.isArray(given) ? 'array' : typeof given === 'boolean' ? 'bool' : typeof given;
  throw unreadable(`json: cannot unmarshal ${what} into Go struct field .${field} of type string`);
};

/** Throws for an invalid apiVersion: it has at most one slash. */
const checkedVersion = (apiVersion: string): string => {
  const slash = apiVersion.indexOf('/');
  if (slash >= 0 && apiVersion.includes('/', slash + 1)) throw new DecodeError(`unexpected GroupVersion string: ${apiVersion}`);
  return apiVersion;
};

const parseJson = (text: string): unknown => {
  try {
    return readJson(text);
  } catch (error) {
    throw unreadable(jsonSyntaxProblem(text), error);
  }
};

/**
 * The version and kind that an object declares, empty where it does not. Throws `DecodeError` for what can be neither.
 */
export const labelOf = (value: unknown): Pick<ParsedBody, 'apiVersion' | 'kind'> => ({
  apiVersion: checkedVersion(label(value, 'apiVersion')),
  kind: label(value, 'kind'),
});

const jsonTypeOf = (value: unknown): string => (Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value);

/** Parses a body without knowing its kind. Throws `DecodeError`; the caller bounds the text. */
export const parseBody = (body: Buffer | string, notation: Notation): ParsedBody => {
  const text = typeof body === 'string' ? body : body.toString('utf8');
  return labelledBody(notation === 'yaml' ? parseYaml(text) : {value: parseJson(text), problems: []}, text, notation);
};

/** Parses a long JSON body in steps; `depth` is how deep its brackets are nested. Throws `DecodeError`. */
export const parseJsonBodyInSteps = function* (body: Buffer, depth: number): Steps<ParsedBody> {
  if (depth > maxDepth) throw unreadable('exceeded max depth');
  let value: unknown;
  try {
    value = yield* parseInSteps(body, {parse: text => wellFormed(readJson(text), text)});
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw unreadable(yield* jsonSyntaxProblemInSteps(body), error);
  }
  return labelled(value, []);
};

/** Returns the parsed body of a text. Throws `DecodeError`. */
export const labelledBody = (
  {value: read, problems}: Pick<ParsedBody, 'value' | 'problems'>,
  text: string,
  notation: Notation,
): ParsedBody => {
  // A shorter text cannot hold so many pairs of brackets.
  const mayBeDeep = notation === 'yaml' || text.length > 2 * maxDepth;
  if (mayBeDeep && isNestedDeeper(read, maxDepth)) throw unreadable('exceeded max depth');
  return labelled(wellFormed(read, text), problems, notation === 'json' ? text : undefined);
};

const labelled = (value: unknown, problems: ParsedBody['problems'], text?: string): ParsedBody => {
  if (value !== null && !isPlainObject(value))
    throw new NoObject(
      unreadable(`json: cannot unmarshal ${jsonTypeOf(value)} into Go value of type ${typeStruct}`).message,
      jsonTypeOf(value),
    );
  return {
    value: value ?? {},
    ...labelOf(value),
    text,
    problems,
  };
};
