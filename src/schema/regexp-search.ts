import type {Steps} from '#src/base/steps.js';

// Searches for a pattern in steps, by its program, where one match may take long: a text of many characters, or a
// program of many instructions. All threads of the program advance together, in the order of their priority, so that of
// the matches that begin first the one is found that the engine finds.

/** An instruction of a compiled pattern. */
export interface Instruction {
  readonly op: number;
  readonly out: number;
  readonly arg: number;
  matchRune(rune: number): boolean;
}

/** A compiled pattern. */
export interface PatternProgram {
  readonly inst: readonly Instruction[];
  readonly start: number;
}

/** Where a match begins and ends, in UTF-16 units. */
export interface Match {
  readonly start: number;
  readonly end: number;
}

/** The instructions, as the engine numbers them. */
const instruction = {
  alternatives: 1,
  alternativesOfMatch: 2,
  capture: 3,
  emptyWidth: 4,
  match: 6,
  nothing: 7,
  rune: 8,
  oneRune: 9,
  anyRune: 10,
  anyRuneButNewline: 11,
} as const;

/** The conditions without a width, as the engine numbers them. */
const condition = {lineBegins: 1, lineEnds: 2, textBegins: 4, textEnds: 8, wordBoundary: 16, noWordBoundary: 32} as const;

const newline = 10;

const isWord = (rune: number): boolean =>
  (rune >= 48 && rune <= 57) || (rune >= 65 && rune <= 90) || rune === 95 || (rune >= 97 && rune <= 122);

/** The conditions that hold between two characters, -1 at an end of the text. */
const conditionsBetween = (before: number, after: number): number => {
  let holds: number = isWord(before) === isWord(after) ? condition.noWordBoundary : condition.wordBoundary;
  if (before < 0) holds |= condition.textBegins;
  if (before < 0 || before === newline) holds |= condition.lineBegins;
  if (after < 0) holds |= condition.textEnds;
  if (after < 0 || after === newline) holds |= condition.lineEnds;
  return holds;
};

const runeAt = (text: string, at: number): number => (at < text.length ? text.codePointAt(at)! : -1);
const runeBefore = (text: string, at: number): number => {
  if (at === 0) return -1;
  const whole = at > 1 ? text.codePointAt(at - 2)! : 0;
  return whole > 0xffff ? whole : text.charCodeAt(at - 1);
};
const widthOf = (rune: number): number => (rune > 0xffff ? 2 : 1);

/** The threads at one place of the text: each waits at an instruction, the most preferred first. */
class Threads {
  readonly #program: PatternProgram;
  readonly at: number[] = [];
  readonly starts: number[] = [];
  readonly #seen: Uint32Array;
  #generation = 1;
  /** The instructions that were visited. */
  visits = 0;

  constructor(program: PatternProgram) {
    this.#program = program;
    this.#seen = new Uint32Array(program.inst.length);
  }

  clear(): void {
    this.at.length = 0;
    this.starts.length = 0;
    this.#generation += 1;
  }

  /** Adds a thread, which began at `start`, and those that it becomes before the next character. */
  add(from: number, start: number, conditions: number): void {
    const left = [from];
    for (let pc = left.pop(); pc !== undefined; pc = left.pop()) {
      if (this.#seen[pc] === this.#generation) continue;
      this.#seen[pc] = this.#generation;
      this.visits += 1;
      const {op, out, arg} = this.#program.inst[pc]!;
      switch (op) {
        case instruction.alternatives:
        case instruction.alternativesOfMatch:
          left.push(arg, out);
          break;
        case instruction.emptyWidth:
          if ((arg & ~conditions) === 0) left.push(out);
          break;
        case instruction.capture:
        case instruction.nothing:
          left.push(out);
          break;
        default:
          this.at.push(pc);
          this.starts.push(start);
      }
    }
  }
}

/** So many instructions are visited in one step: a fraction of a millisecond. */
const visitsPerStep = 5000;

const accepts = (waiting: Instruction, rune: number): boolean => {
  if (rune < 0) return false;
  switch (waiting.op) {
    case instruction.rune:
    case instruction.oneRune:
      return waiting.matchRune(rune);
    case instruction.anyRune:
      return true;
    case instruction.anyRuneButNewline:
      return rune !== newline;
    default:
      return false;
  }
};

/** A search for the matches in a text. */
export class Search {
  readonly #program: PatternProgram;
  readonly #text: string;
  readonly #spend: (visits: number) => void;
  #now: Threads;
  #next: Threads;

  /** `spend` is told how many instructions are visited, in each step and at the end. */
  constructor(program: PatternProgram, text: string, spend: (visits: number) => void) {
    this.#program = program;
    this.#text = text;
    this.#spend = spend;
    this.#now = new Threads(program);
    this.#next = new Threads(program);
  }

  /** Returns the first match at or after a place. */
  *find(from: number): Steps<Match | undefined> {
    const {start} = this.#program;
    let found: Match | undefined;
    let rune = runeAt(this.#text, from);
    let conditions = conditionsBetween(runeBefore(this.#text, from), rune);
    this.#now.clear();
    for (let at = from; ;) {
      if (!found) this.#now.add(start, at, conditions);
      if (this.#now.at.length === 0 && found) break;
      const after = at + widthOf(rune);
      const following = rune < 0 ? -1 : runeAt(this.#text, after);
      conditions = conditionsBetween(rune, following);
      this.#next.clear();
      found = this.#advance(rune, at, conditions) ?? found;
      if (this.#now.visits > visitsPerStep) {
        this.#count();
        yield;
      }
      if (rune < 0) break;
      [this.#now, this.#next] = [this.#next, this.#now];
      [at, rune] = [after, following];
    }
    this.#count();
    return found;
  }

  /**
   * Advances all threads by a character. Returns the match of one that ends before it; those that are less preferred
   * are given up.
   */
  #advance(rune: number, at: number, conditions: number): Match | undefined {
    const {at: places, starts} = this.#now;
    for (let index = 0; index < places.length; index += 1) {
      const waiting = this.#program.inst[places[index]!]!;
      if (waiting.op === instruction.match) return {start: starts[index]!, end: at};
      if (accepts(waiting, rune)) this.#next.add(waiting.out, starts[index]!, conditions);
    }
    return undefined;
  }

  #count(): void {
    this.#spend(this.#now.visits + this.#next.visits);
    this.#now.visits = this.#next.visits = 0;
  }
}
