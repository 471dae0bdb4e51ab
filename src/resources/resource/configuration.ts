import {jsonText} from '#src/base/json.js';
import {invalidText, required, tooLong, type FieldError} from '#src/api/field-error.js';
import {driverName} from './names.js';

export interface Selector {
  cel?: {expression: string};
}

export interface Configuration {
  requests?: string[];
  opaque?: {driver: string; parameters: unknown};
}

export const mostSelectors = 32;
export const mostConfigurations = 32;
const longestParameters = 10 * 1024;
const longestExpression = 10 * 1024;

/** An expression that was stored before is not judged again. */
export function* validateSelector({cel}: Readonly<Selector>, path: string, stored = false): Iterable<FieldError> {
  if (!cel) yield required(`${path}.cel`);
  else if (!stored && Buffer.byteLength(cel.expression ?? '') > longestExpression) yield tooLong(`${path}.cel.expression`, longestExpression);
}

/** Data of a driver, of which is known only that it is an object. */
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
