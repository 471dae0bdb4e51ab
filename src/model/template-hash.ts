import {suffixAlphabet} from '#src/base/random.js';

/** JSON with the keys in order and without what is undefined: the same bytes for the same value, however it was put together. */
export const canonicalJson = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(item => canonicalJson(item ?? null)).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value ?? null);
  const fields = value as Record<string, unknown>;
  const keys = Object.keys(fields).filter(key => fields[key] !== undefined).sort();
  return `{${keys.map(key => `${JSON.stringify(key)}:${canonicalJson(fields[key])}`).join(',')}}`;
};

/** FNV-1a in 32 bits. */
const fnv1a = (text: string): number => {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
};

/** Each character as one of an alphabet that spells no words. */
const spelledSafely = (text: string): string => Array.from(Buffer.from(text), byte => suffixAlphabet[byte % suffixAlphabet.length]).join('');

/** A short name for a template or a patch. Where two have the same one, `collisionCount` makes another. */
export const templateHash = (content: unknown, collisionCount?: number): string => spelledSafely(String(fnv1a(canonicalJson(content) + (collisionCount ?? ''))));
