import {jsonText} from '#src/base/json/json.js';
import {isBeyondRange} from '#src/base/json/number-range.js';
import {bytesOfWeight, weightLeft} from '#src/base/json/json-weight.js';
import type {KubeObject} from '#src/api/types.js';
import {beyondRange} from '#src/schema/decode/error.js';
import {isPlainObject, type PlainObject} from '#src/schema/decode/plain.js';
import {checkIdentity, restoreMetadata} from './converted-object.js';
import type {ConversionFault} from './conversion-metrics.js';

/** A failure of a conversion, as metrics count it. */
export class Fault extends Error {
  readonly fault: ConversionFault;

  constructor(fault: ConversionFault, message: string, cause?: unknown) {
    super(message, {cause});
    this.fault = fault;
  }
}

/** Accepts a converted object from a webhook. Throws an error that describes what is wrong with it. */
export const accept = (
  original: KubeObject,
  value: unknown,
  apiVersion: string,
  {index, isAlone}: {readonly index: number; readonly isAlone: boolean},
): KubeObject => {
  const invalid = (what: string, why: string, cause?: unknown) =>
    new Fault('invalid_converted_object', `returned invalid ${what}: ${why}`, cause);
  const object = isAlone ? `object at index ${index}` : `converted object at index ${index}`;
  const problem = formProblem(value);
  if (problem !== undefined) throw invalid(object, problem);
  const converted = value as PlainObject & KubeObject;
  const {apiVersion: actual = '', kind = ''} = converted;
  if (actual !== apiVersion) throw invalid(object, `invalid groupVersion (expected ${apiVersion}, received ${actual})`);
  if (kind !== original.kind) throw invalid(object, `invalid kind (expected ${original.kind}, received ${kind})`);
  try {
    checkIdentity(original as PlainObject, converted);
  } catch (cause) {
    throw invalid(isAlone ? 'object' : object, (cause as Error).message, cause);
  }
  try {
    restoreMetadata(original, converted);
  } catch (cause) {
    throw invalid(isAlone ? 'metadata' : `metadata in object at index ${index}`, (cause as Error).message, cause);
  }
  return converted;
};

/** An error shows values up to this weight: that of a MiB of text. */
const maxShownWeight = (1024 * 1024) / bytesOfWeight;

/** Why a value is not an object of any kind. */
const formProblem = (value: unknown): string | undefined => {
  if (value === null) return 'unexpected end of JSON input';
  if (!isPlainObject(value))
    return `couldn't get version/kind; json parse error: json: cannot unmarshal ${Array.isArray(value) ? 'array' : typeof value} into Go value of type struct`;
  if (isBeyondRange(value)) return beyondRange().message;
  if (typeof value['kind'] !== 'string' || value['kind'] === '')
    return `Object 'Kind' is missing in '${weightLeft(value, maxShownWeight) < 0 ? '...' : jsonText(value)}'`;
  return undefined;
};
