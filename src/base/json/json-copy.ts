import {setProperty} from './set-property.js';

/** Called for each object that is copied, with its copy. */
export type OnCopy = (object: object, copy: object) => void;

/**
 * Returns a deep copy of a JSON value, frozen or not, much faster than `structuredClone`. Keys are data, `__proto__`
 * included. The value must not be nested deeper than a stack allows.
 */
export const copyJson = <T>(value: T, onCopy?: OnCopy): T => {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(item => copyJson(item as unknown, onCopy)) as T;
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(value)) setProperty(copy, key, copyJson((value as Record<string, unknown>)[key], onCopy));
  onCopy?.(value, copy);
  return copy as T;
};
