import {canonicalJsonInSteps} from '#src/base/json/canonical-json.js';
import {suffixAlphabet} from '#src/base/text/name-suffix.js';
import type {Steps} from '#src/base/steps.js';

/** So many bytes are hashed in one step. */
const hashedAtOnce = 64 << 10;

/** The 32-bit FNV-1 hash. */
const fnv1 = function* (text: string): Steps<number> {
  const bytes = Buffer.from(text);
  let hash = 0x811c9dc5;
  for (let at = 0; at < bytes.length; at += hashedAtOnce) {
    for (const byte of bytes.subarray(at, at + hashedAtOnce)) hash = Math.imul(hash, 0x01000193) ^ byte;
    yield;
  }
  return hash >>> 0;
};

/** Characters that Go escapes in JSON. */
const escapedByGo = /[<>&\u2028\u2029]/g;
const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Encodes a text in an alphabet without vowels, which cannot form words. */
const safeEncode = (text: string): string => Array.from(Buffer.from(text), byte => suffixAlphabet[byte % suffixAlphabet.length]).join('');

/**
 * Returns a short hash of a template, in steps: it may have very many variables. `collisionCount` is changed to resolve
 * collisions.
 */
export const templateHashInSteps = function* (content: unknown, collisionCount?: number): Steps<string> {
  return yield* textHashInSteps(yield* canonicalJsonInSteps(content), collisionCount);
};

/**
 * Returns the hash of content that is given as canonical JSON: that of the original for the data of a
 * ControllerRevision.
 */
export const textHashInSteps = function* (text: string, collisionCount?: number): Steps<string> {
  return safeEncode(String(yield* fnv1(text.replace(escapedByGo, escaped) + (collisionCount ?? ''))));
};
