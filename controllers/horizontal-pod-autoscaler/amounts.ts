import {formatQuantity, milliQuantity, parseQuantity, quantityMilliValue, type Quantity} from '#src/api/quantity.js';

export const maxMilli = 2n ** 63n - 1n;
const maxReplicas = 2 ** 31 - 1;

/** Converts a quantity to thousandths, capped at 64 bits. */
export const milliOf = (amount: Quantity): bigint => {
  const milli = quantityMilliValue(amount);
  return milli > maxMilli ? maxMilli : milli;
};
export const milliText = (text: string): bigint => milliOf(parseQuantity(String(text)));

/** Formats thousandths as a quantity. */
export const textOfMilli = (milli: bigint): string => formatQuantity(milliQuantity(milli));

/** Returns the sum of amounts, capped at 64 bits. */
export const sumOf = (amounts: Iterable<bigint>): bigint => {
  let sum = 0n;
  for (const amount of amounts) {
    sum += amount;
    if (sum > maxMilli) return maxMilli;
  }
  return sum;
};

/** Rounds a number of replicas up, capped at the maximum. */
export const clampReplicas = (replicas: number): number => Math.min(Math.ceil(replicas), maxReplicas);
