/**
 * Reports whether a parsed value holds a number beyond the range of doubles, which JSON can write and nobody can read.
 */
export const isBeyondRange = (value: unknown): boolean => {
  if (typeof value === 'number') return !Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) {
    for (const item of value) if (isBeyondRange(item)) return true;
    return false;
  }
  for (const key in value) if (isBeyondRange((value as Record<string, unknown>)[key])) return true;
  return false;
};

const token = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;

/** Returns the first such number of a JSON text as it is written there; without the text, the least such number. */
export const numberBeyondRange = (text?: string): string => {
  for (const [part] of text?.matchAll(token) ?? []) if (part[0] !== '"' && !Number.isFinite(Number(part))) return part;
  return '1e+309';
};
