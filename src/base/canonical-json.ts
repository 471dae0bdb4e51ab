import {jsonText, parseJson} from './json.js';

/** JSON with the keys in order and without what is undefined: the same bytes for the same value, however it was put together. */
export const canonicalJson = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(item => canonicalJson(item ?? null)).join(',')}]`;
  if (typeof value !== 'object' || value === null) return jsonText(value ?? null);
  const fields = value as Record<string, unknown>;
  const keys = Object.keys(fields).filter(key => fields[key] !== undefined).sort();
  return `{${keys.map(key => `${JSON.stringify(key)}:${canonicalJson(fields[key])}`).join(',')}}`;
};

/** What two JSON values have in common only if they are equal: a scalar is itself, anything else its text, which no scalar is. */
export const identity = (value: unknown): unknown => (typeof value === 'object' && value !== null ? `\u0000${canonicalJson(value)}` : value);

/** The same value, its keys in order at every depth. */
export const inKeyOrder = (value: unknown): unknown => (typeof value === 'object' && value !== null ? parseJson(canonicalJson(value)) : value);
