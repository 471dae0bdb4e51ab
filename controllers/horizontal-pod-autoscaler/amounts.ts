import {formatQuantity, milliQuantity, parseQuantity, quantityMilliValue, type Quantity} from '#src/api/quantity.js';

export const maxMilli = 2n ** 63n - 1n;
const maxReplicas = 2 ** 31 - 1;

/** An amount in thousandths, at most as many as 64 bits hold. */
export const milliOf = (amount: Quantity): bigint => {
  const milli = quantityMilliValue(amount);
  return milli > maxMilli ? maxMilli : milli;
};
export const milliText = (text: string): bigint => milliOf(parseQuantity(String(text)));

/** Thousandths as objects carry them. */
export const textOfMilli = (milli: bigint): string => formatQuantity(milliQuantity(milli));

/** The sum of amounts, at most as much as 64 bits hold. */
export const sumOf = (amounts: Iterable<bigint>): bigint => {
  let sum = 0n;
  for (const amount of amounts) {
    sum += amount;
    if (sum > maxMilli) return maxMilli;
  }
  return sum;
};

/** A whole number of replicas that is enough. */
export const clampReplicas = (replicas: number): number => Math.min(Math.ceil(replicas), maxReplicas);
