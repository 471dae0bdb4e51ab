import {forbiddenField, invalid, required, type FieldError} from '#src/api/field-error.js';
import {addQuantities, compareQuantities, formatQuantity, quantityValue, zeroQuantity, type Quantity} from '#src/api/quantity.js';
import {quantityIn} from '#src/resources/validation/resource-names.js';
import {set} from './collections.js';

export interface Capacity {
  value: string;
  requestPolicy?: {default?: string; validValues?: string[]; validRange?: {min?: string; max?: string; step?: string}};
}
type Policy = NonNullable<Capacity['requestPolicy']>;
type Range = NonNullable<Policy['validRange']>;

const maxValues = 10;
const optional = (text: string | undefined): Quantity | undefined => (text === undefined ? undefined : quantityIn(text));
const exceeds = (a: Quantity, b: Quantity): boolean => compareQuantities(a, b) > 0;

function* validateValues(values: readonly string[], standard: Quantity, whole: Quantity, path: string): Iterable<FieldError> {
  const amounts = values.map(quantityIn);
  for (const [i, amount] of amounts.entries()) {
    const before = amounts[i - 1];
    if (before && exceeds(before, amount))
      yield invalid(`${path}[${i}]`, formatQuantity(amount), 'values must be sorted in ascending order');
  }
  const validateOption = function* (amount: Quantity, at: string): Iterable<FieldError> {
    if (exceeds(amount, whole)) yield invalid(at, formatQuantity(amount), `option is larger than capacity value: ${formatQuantity(whole)}`);
  };
  yield* set(path, amounts, maxValues, validateOption, amount => String(quantityValue(amount)));
  if (amounts.length > maxValues || amounts.some(amount => compareQuantities(amount, standard) === 0)) return;
  yield invalid(path, formatQuantity(standard), 'default value is not valid according to the requestPolicy');
}

function* validateStep(step: Quantity, min: Quantity, values: readonly Quantity[], whole: Quantity, path: string): Iterable<FieldError> {
  if (!exceeds(step, zeroQuantity)) return yield invalid(path, formatQuantity(step), 'must be greater than zero');
  const first = addQuantities(min, step);
  if (exceeds(first, whole))
    yield invalid(path, formatQuantity(step), `one step ${formatQuantity(first)} is larger than capacity value: ${formatQuantity(whole)}`);
  for (const value of values) {
    if ((quantityValue(value) - quantityValue(min)) % quantityValue(step) === 0n) continue;
    yield invalid(
      path,
      formatQuantity(value),
      `value is not a multiple of a given step (${formatQuantity(step)}) from (${formatQuantity(min)})`,
    );
  }
}

function* validateRange(range: Readonly<Range>, standard: Quantity, whole: Quantity, path: string): Iterable<FieldError> {
  const [min, max, step] = [optional(range.min), optional(range.max), optional(range.step)];
  if (!min) return yield required(`${path}.min`, 'required when validRange is defined');
  const shown = formatQuantity;
  if (exceeds(min, whole)) yield invalid(`${path}.min`, shown(min), `min is larger than capacity value: ${shown(whole)}`);
  if (exceeds(min, standard)) yield invalid(`${path}.min`, shown(standard), `default is less than min: ${shown(min)}`);
  if (max) {
    if (exceeds(min, max)) yield invalid(`${path}.max`, shown(min), `min is larger than max: ${shown(max)}`);
    if (exceeds(max, whole)) yield invalid(`${path}.max`, shown(max), `max is larger than capacity value: ${shown(whole)}`);
    if (exceeds(standard, max)) yield invalid(`${path}.max`, shown(standard), `default is more than max: ${shown(max)}`);
  }
  if (step) yield* validateStep(step, min, [standard, ...(max ? [max] : [])], whole, `${path}.step`);
}

function* validatePolicy(
  {default: standard, validValues = [], validRange}: Readonly<Policy>,
  whole: Quantity,
  path: string,
): Iterable<FieldError> {
  if (validValues.length > 0 && validRange)
    return yield forbiddenField(
      path,
      'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time',
    );
  if (validValues.length === 0 && !validRange) return;
  const field = validRange ? 'validRange' : 'validValues';
  if (standard === undefined) yield required(`${path}.default`, `required when ${field} is defined`);
  else if (validRange) yield* validateRange(validRange, quantityIn(standard), whole, `${path}.validRange`);
  else yield* validateValues(validValues, quantityIn(standard), whole, `${path}.validValues`);
}

/**
 * Returns the validation of a device's capacity. A request policy requires a device that several claims may share
 * (KEP-5075).
 */
export const validateCapacity = (shared: boolean) =>
  function* ({value, requestPolicy}: Readonly<Capacity>, path: string): Iterable<FieldError> {
    if (!requestPolicy) return;
    if (shared) yield* validatePolicy(requestPolicy, quantityIn(value), `${path}.requestPolicy`);
    else yield forbiddenField(`${path}.requestPolicy`, 'allowMultipleAllocations must be true');
  };
