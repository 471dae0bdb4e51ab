import {createRequire} from 'node:module';
import type {RE2JS, RE2Set} from 're2js';
import {CacheBound} from '#src/base/cache-bound.js';
import {Lru} from '#src/base/lru.js';
import {Search, type PatternProgram} from './regexp-search.js';

// RE2 patterns: matched in linear time, with Go's syntax and error texts.

/** A pattern that is not valid RE2 syntax. The message is Go's: ``error parsing regexp: missing closing ): `(` ``. */
export class RegexpSyntaxError extends Error {
  override readonly name = 'RegexpSyntaxError';
}

/** A compiled pattern, matched in linear time. */
export interface Regexp {
  /** The number of its instructions: what a match takes per character at most. */
  readonly size: number;
  test(text: string): boolean;
  /** Returns an iterator over matches, leftmost first; of alternatives the first one wins. */
  matcher(text: string): Matcher;
  /** Finds the same matches in steps. `spend` is told the work of each. */
  search(text: string, spend: (instructions: number) => void): Search;
}

/** The position of the last match, in UTF-16 units. */
export interface Matcher {
  find(): boolean;
  start(): number;
  end(): number;
}

interface Engine {
  readonly RE2JS: typeof RE2JS;
  readonly RE2Set: typeof RE2Set;
}

let loaded: Engine | undefined;

/** Loaded with the first pattern: a server without custom resources never needs it. */
const engine = (): Engine => (loaded ??= createRequire(import.meta.url)('re2js') as Engine);

class Compiled implements Regexp {
  readonly #made: RE2JS;
  readonly size: number;

  constructor(made: RE2JS) {
    this.#made = made;
    this.size = made.programSize();
  }

  test(text: string): boolean {
    return this.#made.test(text);
  }

  matcher(text: string): Matcher {
    return this.#made.matcher(text);
  }

  search(text: string, spend: (instructions: number) => void): Search {
    return new Search(this.#made.re2Input.prog as unknown as PatternProgram, text, spend);
  }
}

const bound = new CacheBound('regexps', 32 << 20);
/** The estimated size of one instruction of a compiled pattern, and of every pattern. */
const [instructionBytes, patternBytes] = [200, 4000];

const compiled = new Lru<string, Regexp>(bound, {bytesOf: ({size}) => patternBytes + instructionBytes * size});

/** What is wrong with patterns, or that nothing is: they are known longer than their programs. */
const verdicts = new Lru<string, {readonly error?: string}>(new CacheBound('regexp_verdicts', 1 << 20), {
  bytesOf: ({error = ''}) => error.length,
});

/**
 * The most that a pattern may weigh: about its instructions, once all that repeats is written out, of which each takes
 * microseconds to compile. Differs from upstream, whose limit is 200 times as much: one pattern is compiled in one
 * turn.
 */
const maxWeight = 15_000;

/** A part of a parsed pattern. */
interface Part {
  readonly op: number;
  readonly runes: ArrayLike<number> | null;
  readonly subs: readonly Part[] | null;
}

/** So many ends of ranges of a class take as long as one instruction. */
const rangesOfWeight = 600;

const weightOf = (part: Part, literal: number, known: Map<Part, number>): number => {
  const before = known.get(part);
  if (before !== undefined) return before;
  const runes = part.runes?.length ?? 0;
  let weight = 1 + (part.op === literal ? runes : runes / rangesOfWeight);
  for (const sub of part.subs ?? []) weight += weightOf(sub, literal, known);
  known.set(part, weight);
  return weight;
};

/** What it takes to parse a pattern, in the same unit. */
const weightOfText = (pattern: string): number => {
  let weight = pattern.length;
  const perClass = ignoresCase.test(pattern) ? weightOfFoldedClass : weightOfClass;
  for (const [found] of pattern.matchAll(/[*+?{(|[]|\\[pP]/g)) weight += found.length > 1 ? perClass : weightOfOperator;
  return weight;
};

const weightOfOperator = 3;
/** Classes of Unicode consist of hundreds of ranges, for each of which other cases are looked for. */
const [weightOfClass, weightOfFoldedClass] = [20, 120];
const ignoresCase = /\(\?[A-Za-z]*i/;

/** A pattern without these is no longer than its text. */
const repeats = /\{|\\[pP]/;
const shortText = 500;

const tooLarge = 'error parsing regexp: expression too large';

const parsed = (pattern: string): Part => {
  const set = new (engine().RE2Set)();
  set.add(pattern);
  return set.regexps[0] as Part;
};

/** Returns the text of a syntax error. Go shows the part that is wrong also where it is empty. */
const syntaxText = ({message}: Error): string => (message.endsWith('backslash at end of expression') ? `${message}: \`\`` : message);

/** Throws for a pattern that is invalid or weighs too much. */
const checkWeight = (pattern: string): void => {
  if (weightOfText(pattern) > maxWeight) throw new Error(tooLarge);
  if (weightOf(parsed(pattern), parsed('ab').op, new Map()) > maxWeight) throw new Error(tooLarge);
};

/** Returns the pattern if it was compiled and is still known. */
export const knownRegexp = (pattern: string): Regexp | undefined => compiled.peek(pattern);

/** Compiles a pattern. Throws `RegexpSyntaxError`. */
export const regexp = (pattern: string): Regexp => {
  const known = compiled.peek(pattern);
  if (known) return known;
  let made: Regexp;
  try {
    if (pattern.length > shortText || repeats.test(pattern)) checkWeight(pattern);
    made = new Compiled(engine().RE2JS.compile(pattern));
  } catch (error) {
    throw new RegexpSyntaxError(syntaxText(error as Error), {cause: error});
  }
  compiled.set(pattern, made);
  return made;
};

/**
 * Returns what is wrong with a pattern, as Go words it, or undefined. A pattern that is not compiled yet is only
 * parsed.
 */
export const regexpError = (pattern: string): string | undefined => {
  if (compiled.peek(pattern)) return undefined;
  const known = verdicts.get(pattern);
  if (known) return known.error;
  let error: string | undefined;
  try {
    checkWeight(pattern);
  } catch (thrown) {
    error = syntaxText(thrown as Error);
  }
  verdicts.set(pattern, error === undefined ? {} : {error});
  return error;
};
