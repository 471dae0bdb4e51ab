import {parseJson as readJson} from '#src/base/json.js';
import {DecodeError, NoObject, type DecodeProblem} from './error.js';
import {jsonSyntaxProblem} from './json-syntax.js';
import {maxDepth, isNestedDeeper, isPlainObject, own, wellFormed} from './plain.js';
import {parseYaml} from './yaml.js';

/** In which notation a body is written. */
export type Notation = 'json' | 'yaml';

/** A body that is read but not yet held against a schema. */
export interface ParsedBody {
  readonly value: unknown;
  /** What the body says of itself; empty where it says nothing. */
  readonly apiVersion: string;
  readonly kind: string;
  /** The JSON text, where there is one. */
  readonly text?: string;
  /** Keys that YAML sets twice. */
  readonly problems: readonly DecodeProblem[];
}

const unreadable = (detail: string, cause?: unknown): DecodeError => new DecodeError(`couldn't get version/kind; json parse error: ${detail}`, {cause});

const typeStruct = String.raw`struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }`;

const label = (value: unknown, field: 'apiVersion' | 'kind'): string => {
  const given = isPlainObject(value) ? own(value, field) : undefined;
  if (given === undefined || given === null) return '';
  if (typeof given === 'string') return given;
  const what = Array.isArray(given) ? 'array' : typeof given === 'boolean' ? 'bool' : typeof given;
  throw unreadable(`json: cannot unmarshal ${what} into Go struct field .${field} of type string`);
};

/** Throws for a version that is none: it has one slash at most. */
const checkedVersion = (apiVersion: string): string => {
  if (apiVersion.split('/').length > 2) throw new DecodeError(`unexpected GroupVersion string: ${apiVersion}`);
  return apiVersion;
};

const parseJson = (text: string): unknown => {
  try {
    return readJson(text);
  } catch (error) {
    throw unreadable(jsonSyntaxProblem(text), error);
  }
};

const jsonTypeOf = (value: unknown): string => (Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value);

/** Reads a body as far as anyone can without knowing its kind. Throws `DecodeError`; the text is bounded by whoever received it. */
export const parseBody = (body: Buffer | string, notation: Notation): ParsedBody => {
  const text = typeof body === 'string' ? body : body.toString('utf8');
  return labelledBody(notation === 'yaml' ? parseYaml(text) : {value: parseJson(text), problems: []}, text, notation);
};

/** A body whose text has been read. Throws `DecodeError`. */
export const labelledBody = ({value: read, problems}: Pick<ParsedBody, 'value' | 'problems'>, text: string, notation: Notation): ParsedBody => {
  if (isNestedDeeper(read, maxDepth)) throw unreadable('exceeded max depth');
  const value = wellFormed(read, text);
  if (value !== null && !isPlainObject(value)) throw new NoObject(unreadable(`json: cannot unmarshal ${jsonTypeOf(value)} into Go value of type ${typeStruct}`).message, jsonTypeOf(value));
  return {
    value: value ?? {},
    apiVersion: checkedVersion(label(value, 'apiVersion')),
    kind: label(value, 'kind'),
    ...(notation === 'json' ? {text} : {}),
    problems,
  };
};
