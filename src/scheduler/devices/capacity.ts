// Capacity of devices that several claims share: what a request consumes, by the policy of the device (KEP-5075).

import {addQuantities, compareQuantities, parseQuantity, quantityOf, quantityValue, type Quantity} from '#src/api/quantity.js';
import type {Device, ExactRequest} from './types.js';

/** Amounts by name. */
export type Amounts = ReadonlyMap<string, Quantity>;

type DeviceCapacity = NonNullable<Device['capacity']>[string];
type Policy = NonNullable<DeviceCapacity['requestPolicy']>;

const isMore = (a: Quantity, b: Quantity): boolean => compareQuantities(a, b) > 0;

/** Rounds up to the minimum, or to the next step above it. */
const inRange = (amount: Quantity, {min, step}: NonNullable<Policy['validRange']>): Quantity => {
  const least = parseQuantity(min);
  if (!isMore(amount, least)) return least;
  if (step === undefined) return amount;
  const [from, size] = [quantityValue(least), quantityValue(parseQuantity(step))];
  const steps = (quantityValue(amount) - from + size - 1n) / size;
  return quantityOf(from + steps * size, 'BinarySI');
};

/** Returns what a request for an amount consumes; without one, the default of the policy, or all. */
const consumedOf = (asked: string | undefined, {value, requestPolicy}: DeviceCapacity): Quantity => {
  if (asked === undefined) return parseQuantity(requestPolicy?.default ?? value);
  const amount = parseQuantity(asked);
  if (requestPolicy?.validRange?.min !== undefined) return inRange(amount, requestPolicy.validRange);
  const values = (requestPolicy?.validValues ?? []).map(text => parseQuantity(text));
  return values.find(each => !isMore(amount, each)) ?? amount;
};

const violates = (amount: Quantity, policy: Policy | undefined): boolean => {
  if (!policy) return false;
  if (policy.default !== undefined && compareQuantities(amount, parseQuantity(policy.default)) === 0) return false;
  const {validRange, validValues} = policy;
  if (validRange) {
    const {min, max, step} = validRange;
    if (max !== undefined && isMore(amount, parseQuantity(max))) return true;
    if (step === undefined) return false;
    return (quantityValue(amount) - quantityValue(parseQuantity(min ?? '0'))) % quantityValue(parseQuantity(step)) !== 0n;
  }
  if (validValues?.length) return !validValues.some(text => compareQuantities(amount, parseQuantity(text)) === 0);
  return false;
};

/**
 * Returns what a request consumes of a device; undefined if the device lacks a capacity, a policy rejects the request,
 * or too little is left.
 */
export const consumption = (
  {capacity = {}}: Device,
  request: Pick<ExactRequest, 'capacity'>,
  inUse: readonly (Amounts | undefined)[],
): Amounts | undefined => {
  const asked = request.capacity?.requests ?? {};
  if (Object.keys(asked).some(name => !Object.hasOwn(capacity, name))) return undefined;
  const consumed = new Map<string, Quantity>();
  for (const [name, of] of Object.entries(capacity)) {
    const amount = consumedOf(Object.hasOwn(asked, name) ? asked[name] : undefined, of);
    if (violates(amount, of.requestPolicy)) return undefined;
    let total = amount;
    for (const each of inUse) {
      const used = each?.get(name);
      if (used) total = addQuantities(total, used);
    }
    if (isMore(total, parseQuantity(of.value))) return undefined;
    consumed.set(name, amount);
  }
  return consumed;
};
