import {createRequire} from 'node:module';
import type {RE2JS} from 're2js';
import {CacheBound} from '#src/base/cache-bound.js';
import {Lru} from '#src/base/lru.js';

// RE2 patterns: matched in linear time, with Go's syntax and error texts.

/** A pattern that is not valid RE2 syntax. The message is Go's: ``error parsing regexp: missing closing ): `(` ``. */
export class RegexpSyntaxError extends Error {
  override readonly name = 'RegexpSyntaxError';
}

/** A compiled pattern, matched in linear time. */
export interface Regexp {
  test(text: string): boolean;
  /** Returns an iterator over matches, leftmost first; of alternatives the first one wins. */
  matcher(text: string): Matcher;
}

/** The position of the last match, in UTF-16 units. */
export interface Matcher {
  find(): boolean;
  start(): number;
  end(): number;
}

let loaded: typeof RE2JS | undefined;

/** Loaded with the first pattern: a server without custom resources never needs it. */
const engine = (): typeof RE2JS => (loaded ??= (createRequire(import.meta.url)('re2js') as {RE2JS: typeof RE2JS}).RE2JS);

const bound = new CacheBound('regexps', 32 << 20);
/** The estimated size of one instruction of a compiled pattern, and of every pattern. */
const [instructionBytes, patternBytes] = [200, 4000];

const compiled = new Lru<string, RE2JS>(bound, {bytesOf: made => patternBytes + instructionBytes * made.programSize()});

/** Compiles a pattern. Throws `RegexpSyntaxError`. */
export const regexp = (pattern: string): Regexp => {
  const known = compiled.peek(pattern);
  if (known) return known;
  let made: RE2JS;
  try {
    made = engine().compile(pattern);
  } catch (error) {
    throw new RegexpSyntaxError((error as Error).message, {cause: error});
  }
  compiled.set(pattern, made);
  return made;
};
