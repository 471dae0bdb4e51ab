import {formatQuantity, milliQuantity, parseQuantity, quantityMilliValue, type Quantity} from '#src/api/quantity.js';

export const mostMilli = 2n ** 63n - 1n;
const mostReplicas = 2 ** 31 - 1;

/** An amount in thousandths, at most as many as 64 bits hold. */
export const milliOf = (amount: Quantity): bigint => {
  const milli = quantityMilliValue(amount);
  return milli > mostMilli ? mostMilli : milli;
};
export const milliText = (text: string): bigint => milliOf(parseQuantity(String(text)));

/** Thousandths as objects carry them. */
export const textOfMilli = (milli: bigint): string => formatQuantity(milliQuantity(milli));

/** The sum of amounts, at most as much as 64 bits hold. */
export const sumOf = (amounts: Iterable<bigint>): bigint => {
  let sum = 0n;
  for (const amount of amounts) {
    sum += amount;
    if (sum > mostMilli) return mostMilli;
  }
  return sum;
};

/** A whole number of replicas that is enough. */
export const enough = (replicas: number): number => Math.min(Math.ceil(replicas), mostReplicas);
