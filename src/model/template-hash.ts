import {canonicalJson} from '#src/base/canonical-json.js';
import {suffixAlphabet} from '#src/base/random.js';

/** The 32-bit FNV-1a hash. */
const fnv1a = (text: string): number => {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
};

/** Encodes a text in an alphabet without vowels, which cannot form words. */
const safeEncode = (text: string): string => Array.from(Buffer.from(text), byte => suffixAlphabet[byte % suffixAlphabet.length]).join('');

/** Returns a short hash of a template or a patch. `collisionCount` is changed to resolve collisions. */
export const templateHash = (content: unknown, collisionCount?: number): string => safeEncode(String(fnv1a(canonicalJson(content) + (collisionCount ?? ''))));
