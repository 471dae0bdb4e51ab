import {createRequire} from 'node:module';
import type {RE2JS} from 're2js';

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

/** So many compiled patterns are kept; some kilobytes each. */
const kept = 1000;

const compiled = new Map<string, Regexp>();

/** The pattern, compiled. Throws `RegexpSyntaxError`. */
export const regexp = (pattern: string): Regexp => {
  const known = compiled.get(pattern);
  if (known) return known;
  let made: Regexp;
  try {
    made = engine().compile(pattern);
  } catch (error) {
    throw new RegexpSyntaxError((error as Error).message, {cause: error});
  }
  // Finding one must cost nothing, so that the oldest goes, used or not.
  if (compiled.size >= kept) compiled.delete(compiled.keys().next().value!);
  compiled.set(pattern, made);
  return made;
};
