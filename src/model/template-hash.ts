import {canonicalJsonInSteps} from '#src/base/json/canonical-json.js';
import {suffixAlphabet} from '#src/base/random.js';
import type {Steps} from '#src/base/steps.js';

/** So many bytes are hashed in one step. */
const hashedAtOnce = 64 << 10;

/** The 32-bit FNV-1a hash. */
const fnv1a = function* (text: string): Steps<number> {
  const bytes = Buffer.from(text);
  let hash = 0x811c9dc5;
  for (let at = 0; at < bytes.length; at += hashedAtOnce) {
    for (const byte of bytes.subarray(at, at + hashedAtOnce)) hash = Math.imul(hash ^ byte, 0x01000193);
    yield;
  }
  return hash >>> 0;
};

/** Encodes a text in an alphabet without vowels, which cannot form words. */
const safeEncode = (text: string): string => Array.from(Buffer.from(text), byte => suffixAlphabet[byte % suffixAlphabet.length]).join('');

/** Returns a short hash of a template, in steps: it may have very many variables. `collisionCount` is changed to resolve collisions. */
export const templateHashInSteps = function* (content: unknown, collisionCount?: number): Steps<string> {
  return yield* textHashInSteps(yield* canonicalJsonInSteps(content), collisionCount);
};

/** Returns the hash of content that is given as canonical JSON. */
export const textHashInSteps = function* (text: string, collisionCount?: number): Steps<string> {
  return safeEncode(String(yield* fnv1a(text + (collisionCount ?? ''))));
};
