import {canonicalJson} from '#src/base/canonical-json.js';
import {suffixAlphabet} from '#src/base/random.js';

/** FNV-1a in 32 bits. */
const fnv1a = (text: string): number => {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
};

/** Each character as one of an alphabet that spells no words. */
const safeEncode = (text: string): string => Array.from(Buffer.from(text), byte => suffixAlphabet[byte % suffixAlphabet.length]).join('');

/** A short name for a template or a patch. Where two have the same one, `collisionCount` makes another. */
export const templateHash = (content: unknown, collisionCount?: number): string => safeEncode(String(fnv1a(canonicalJson(content) + (collisionCount ?? ''))));
