import {Bytes, ListValue, MapValue, sizeOf, type Value} from './values.js';

/** What reading a character costs. */
const characterCost = 0.1;

/** The cost of reading so many characters, or comparing so many elements, once. */
export const traversal = (size: number): number => Math.ceil(size * characterCost);

/** The cost of matching a pattern: as if every four characters of it were one step for every character of the text. */
export const matching = ([text, pattern]: readonly Value[]): number => traversal(1 + sizeOf(text!)) * Math.ceil(sizeOf(pattern!) * 0.25);

/** The cost of going through all that a value holds. */
export const wholeTraversal = (value: Value): number => {
  if (typeof value === 'string') return Math.floor(Buffer.byteLength(value) * characterCost);
  if (value instanceof Bytes) return Math.floor(value.data.length * characterCost);
  if (value instanceof ListValue) return [...value].reduce<number>((cost, element) => cost + wholeTraversal(element), 0);
  if (value instanceof MapValue) return [...value.keys()].reduce<number>((cost, key) => cost + wholeTraversal(key) + wholeTraversal(value.find(key) ?? null), 0);
  return 1;
};

/** The cost of reading the first argument so many times. */
export const reading = (times = 1) => ([text]: readonly Value[]): number => Math.ceil(sizeOf(text!) * times * characterCost);

