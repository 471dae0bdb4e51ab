import {createRequire} from 'node:module';
import type {RE2JS} from 're2js';
import {CacheBound} from '#src/base/cache-bound.js';
import {Lru} from '#src/base/lru.js';

/** A pattern in the syntax of RE2 that is none. The message is the one Go gives: ``error parsing regexp: missing closing ): `(` ``. */
export class RegexpSyntaxError extends Error {
  override readonly name = 'RegexpSyntaxError';
}

/** Says whether a text contains what the pattern describes, in time linear in the text's length. */
export interface Regexp {
  test(text: string): boolean;
  /** Finds one match after the other: the leftmost, of which an earlier alternative wins. */
  matcher(text: string): Matcher;
}

/** Where a pattern was found last, in UTF-16 units. */
export interface Matcher {
  find(): boolean;
  start(): number;
  end(): number;
}

let loaded: typeof RE2JS | undefined;

/** Loaded where there is a first pattern: a server without custom resources never needs it. */
const engine = (): typeof RE2JS => (loaded ??= (createRequire(import.meta.url)('re2js') as {RE2JS: typeof RE2JS}).RE2JS);

const bound = new CacheBound('regexps', 32 << 20);
/** What an instruction of a compiled pattern takes, about, and what every pattern does. */
const [instructionBytes, patternBytes] = [200, 4000];

const compiled = new Lru<string, RE2JS>(bound, {bytesOf: made => patternBytes + instructionBytes * made.programSize()});

/** The pattern, compiled. Throws `RegexpSyntaxError`. */
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
