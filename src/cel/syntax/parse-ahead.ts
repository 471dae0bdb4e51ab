import {StepCount, type Steps} from '#src/base/steps.js';
import {maxDepth, type Problem} from '#src/cel/values/problem.js';
import type {Expr} from './ast.js';
import type {Token, TokenKind} from './tokens.js';

// Parses a long expression in steps. The parser calls itself for what is within brackets, and cannot pause there: so
// the terms of the operators && and ||, and of conditions, are parsed one by one before the whole, the innermost first,
// and the parser finds them ready.

/** A term that was parsed, and the token that follows it. */
export interface ReadyTerm {
  readonly expr: Expr;
  readonly next: number;
}

/** The parser of terms. */
export interface TermParser {
  readonly tokens: readonly Token[];
  readonly problems: Problem[];
  /** The terms that are ready, by their first token. */
  readonly ready: Map<number, ReadyTerm>;
  /** Parses the term at a token, at a depth of nested expressions. Throws where there is none. */
  term(at: number, depth: number): ReadyTerm;
}

/** So many tokens are parsed in one step: a fraction of a millisecond. */
const tokensPerStep = 500;

const closing: Partial<Record<TokenKind, TokenKind>> = {'(': ')', '[': ']', '{': '}'};

/** Returns the bracket that ends the one at each token; none for brackets that do not match. */
const closingBrackets = function* (tokens: readonly Token[]): Steps<readonly (number | undefined)[]> {
  const ends: (number | undefined)[] = [];
  const open: number[] = [];
  const steps = new StepCount(tokensPerStep * 10);
  for (const [at, {kind}] of tokens.entries()) {
    ends.push(undefined);
    if (closing[kind]) open.push(at);
    else if (open.length > 0 && closing[tokens[open.at(-1)!]!.kind] === kind) ends[open.pop()!] = at;
    if (steps.add(1)) yield;
  }
  return ends;
};

/** Where an expression, and what was ready of it, ends: with the token at `next`, unless it is invalid. */
type End = {readonly next: number} | undefined;

const endsTerm: ReadonlySet<TokenKind> = new Set(['&&', '||', '?', ':', ',', ')', ']', '}', 'EOF']);

class AheadParser {
  readonly #parser: TermParser;
  readonly #tokens: readonly Token[];
  readonly #ends: readonly (number | undefined)[];
  readonly #steps = new StepCount(tokensPerStep);

  constructor(parser: TermParser, ends: readonly (number | undefined)[]) {
    this.#parser = parser;
    this.#tokens = parser.tokens;
    this.#ends = ends;
  }

  /** Parses the terms of the expression at a token. */
  *expression(from: number, depth: number): Steps<End> {
    let at = from;
    let [nested, questions] = [depth, 0];
    while (nested <= maxDepth) {
      const end = this.#endOfTerm(at);
      if (!(yield* this.#term(at, end, nested))) return undefined;
      const {kind} = this.#tokens[end]!;
      if (kind === '?') questions += 1;
      else if (kind === ':' && questions > 0) [questions, nested] = [questions - 1, nested + 1];
      else if (kind !== '&&' && kind !== '||') return {next: end};
      at = end + 1;
    }
    return undefined;
  }

  /** The token that ends the term: an operator between terms, or what ends the expression. */
  #endOfTerm(from: number): number {
    for (let at = from; ; at += 1) {
      const close = this.#ends[at];
      const {kind} = this.#tokens[at]!;
      if (close !== undefined) at = close;
      else if (endsTerm.has(kind) && !(kind === '?' && this.#tokens[at - 1]?.kind === '.')) return at;
    }
  }

  *#term(at: number, end: number, depth: number): Steps<boolean> {
    if (end - at > tokensPerStep)
      for (let open = at; open < end; open += 1) {
        const close = this.#ends[open];
        if (close === undefined) continue;
        if (close - open > tokensPerStep && !(yield* this.#elements(open, close, depth + 1))) return false;
        open = close;
      }
    const problems = this.#parser.problems.length;
    try {
      const term = this.#parser.term(at, depth);
      this.#parser.ready.set(at, term);
      if (this.#steps.add(end - at)) yield;
      return term.next === end;
    } catch {
      // The parser reports it when it comes to it.
      this.#parser.problems.length = problems;
      return false;
    }
  }

  /** Parses what is within brackets: expressions that are separated by commas, and by colons. */
  *#elements(open: number, close: number, depth: number): Steps<boolean> {
    const namesFields = this.#tokens[open]!.kind === '{' && this.#tokens[open - 1]?.kind === 'IDENTIFIER';
    for (let at = open + 1; at < close;) {
      if (this.#tokens[at]!.kind === '?') at += 1;
      if (namesFields) at += 2;
      const end = at < close ? yield* this.expression(at, depth) : undefined;
      if (!end) return at >= close;
      at = end.next + 1;
    }
    return true;
  }
}

/** Parses the terms of a long expression in steps. */
export const parseTermsAhead = function* (parser: TermParser): Steps<void> {
  if (parser.tokens.length <= tokensPerStep) return;
  yield* new AheadParser(parser, yield* closingBrackets(parser.tokens)).expression(0, 1);
};
