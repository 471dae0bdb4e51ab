import {bytesOfWeight} from '#src/base/json/json-weight.js';
import {ListValue, MapValue, type Value} from './values.js';

/**
 * Returns what remains of a weight after the elements and texts of a value, as JSON has them; less than 0 if it is
 * heavier.
 */
export const weightOfValueLeft = (value: Value, weight: number): number => {
  let left = weight - 1;
  if (typeof value === 'string') return left - value.length / bytesOfWeight;
  if (value instanceof ListValue)
    for (const item of value) {
      left = weightOfValueLeft(item, left);
      if (left < 0) return left;
    }
  else if (value instanceof MapValue)
    for (const key of value.keys()) {
      left = weightOfValueLeft(value.find(key) ?? null, left);
      if (left < 0) return left;
    }
  return left;
};
