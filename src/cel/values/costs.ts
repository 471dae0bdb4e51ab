import {Bytes, ListValue, MapValue, sizeOf, type Value} from './values.js';

/** The cost of reading one character. */
const characterCost = 0.1;

/** The cost of reading `size` characters or comparing `size` elements. */
export const traversal = (size: number): number => Math.ceil(size * characterCost);

/** The cost of a regular expression match: the length of the text times a quarter of the length of the pattern. */
export const matching = ([text, pattern]: readonly Value[]): number => traversal(1 + sizeOf(text!)) * Math.ceil(sizeOf(pattern!) * 0.25);

/** The cost of traversing a value with all its elements. */
export const wholeTraversal = (value: Value): number => {
  if (typeof value === 'string') return Math.floor(Buffer.byteLength(value) * characterCost);
  if (value instanceof Bytes) return Math.floor(value.data.length * characterCost);
  if (value instanceof ListValue) return [...value].reduce<number>((cost, element) => cost + wholeTraversal(element), 0);
  if (value instanceof MapValue)
    return [...value.keys()].reduce<number>((cost, key) => cost + wholeTraversal(key) + wholeTraversal(value.find(key) ?? null), 0);
  return 1;
};

/** The cost of reading the first argument `times` times. */
export const reading =
  (times = 1) =>
  ([text]: readonly Value[]): number =>
    Math.ceil(sizeOf(text!) * times * characterCost);
