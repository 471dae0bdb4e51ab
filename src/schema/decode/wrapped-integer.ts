import type {SchemaNode} from '#src/schema/node.js';

/** Reports whether a number has no fraction. */
export const isWhole = (value: number | bigint): boolean => typeof value === 'bigint' || Number.isInteger(value);

const leastInt64 = -(2n ** 63n);

/**
 * Returns a whole number as an integer of its type: one beyond 64 bits becomes the least, and of more than 32 bits an
 * int32 takes the lower ones.
 */
export const wrapped = (value: number | bigint, {format}: Pick<SchemaNode, 'format'>): number | bigint => {
  const whole = BigInt(value);
  const held = BigInt.asIntN(64, whole) === whole ? whole : leastInt64;
  const integer = format === 'int32' ? BigInt.asIntN(32, held) : held;
  return Number.isSafeInteger(Number(integer)) ? Number(integer) : integer;
};
