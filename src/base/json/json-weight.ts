/** Texts weigh little for their length: they are copied, not walked. */
export const bytesOfWeight = 32;

/**
 * What is left of a weight when a value is taken from it; walks no further than to where nothing is. Notes the values
 * within which that was, so that nobody weighs them again: finding the first key of an object takes as long as it has
 * keys.
 */
export const weightLeft = (value: unknown, weight: number, exceeding?: Set<object>): number => {
  if (typeof value === 'string') return weight - value.length / bytesOfWeight;
  if (typeof value !== 'object' || value === null) return weight;
  let left = weight - 1;
  if (Array.isArray(value)) for (let at = 0; at < value.length && left >= 0; at++) left = weightLeft(value[at], left - 1, exceeding);
  else {
    for (const key in value) {
      if (left < 0) break;
      left = weightLeft((value as Record<string, unknown>)[key], left - 2 - key.length / bytesOfWeight, exceeding);
    }
  }
  if (left < 0) exceeding?.add(value);
  return left;
};
