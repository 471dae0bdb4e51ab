import {jsonText} from '#src/base/json/json.js';
import {invalidText, required, tooLong, type FieldError} from '#src/api/field-error.js';
import {driverName} from './names.js';

export interface Configuration {
  requests?: string[];
  opaque?: {driver: string; parameters: unknown};
}

export const maxConfigurations = 32;
const longestParameters = 10 * 1024;

/** Validates opaque driver data, which must be an object. */
export function* validateData(path: string, data: unknown, most: number, stored = false): Iterable<FieldError> {
  if (data === undefined || data === null) yield required(path);
  else if (!stored && Buffer.byteLength(jsonText(data)) > most) yield tooLong(path, most);
  else if (typeof data !== 'object' || Array.isArray(data)) yield invalidText(path, '"<value omitted>"', 'must be a valid JSON object');
}

export function* validateConfiguration({opaque}: Readonly<Configuration>, path: string, stored = false): Iterable<FieldError> {
  if (!opaque) return yield required(`${path}.opaque`);
  yield* driverName(`${path}.opaque.driver`, opaque.driver ?? '');
  yield* validateData(`${path}.opaque.parameters`, opaque.parameters, longestParameters, stored);
}
