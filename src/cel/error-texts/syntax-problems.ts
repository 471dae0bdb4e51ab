// This folder repeats how the parser generator of the original reports syntax errors, since clients see its messages in
// admission policies, custom resource definitions and authentication configurations: which tokens it expects, where it
// recovers, and which follow-up errors it reports. The recovery depends on the generator's own grammar and lookahead,
// which `grammar.ts` and `grammar-lookahead.ts` describe. The grammar that is parsed is in `src/cel/syntax`; nobody who
// reads it has to look here. It is used only when an expression does not parse.

import {grammar, type Part, type RuleName} from './grammar.js';
import {
  areIndistinguishable,
  pathsAfter,
  distinctPaths,
  expectedAt,
  firstOf,
  firstOfRest,
  clearLookahead,
  sequenceRest,
  canLeaveRule,
  repeated,
  restOf,
  type Call,
  type Rest,
  type ParserPath,
} from './grammar-lookahead.js';
import {addProblem, problemAt, tooDeep, type Problem} from '#src/cel/values/problem.js';
import type {SyntaxMismatch} from '#src/cel/syntax/parse.js';
import {tokenKinds, type Token, type TokenKind, type UnrecognizedText} from '#src/cel/syntax/tokens.js';

/** Thrown when no rule matches; the current rule recovers. */
class RecognitionError extends Error {}

/** Thrown when recovery reaches its limit. */
class RecoveryLimitExceeded extends Error {}

const nothing: Part = {kind: 'row', parts: []};

const maxRecoveries = 30;
const maxSkipped = 256;
const maxLookahead = 1000;

const escapeWhitespace = (text: string): string => text.replaceAll('\n', '\\n').replaceAll('\r', '\\r').replaceAll('\t', '\\t');

const numberKinds: ReadonlySet<TokenKind> = new Set(['FLOAT', 'INT', 'UINT']);

const kindName = (kind: TokenKind): string => {
  if (kind === 'EOF') return '<EOF>';
  if (numberKinds.has(kind)) return `NUM_${kind}`;
  return /^[A-Z]/.test(kind) ? kind : `'${kind}'`;
};

const kindSet = (kinds: ReadonlySet<TokenKind>): string => {
  const names = tokenKinds.filter(kind => kinds.has(kind)).map(kindName);
  return names.length === 1 ? names[0]! : `{${names.join(', ')}}`;
};

const reservedSelection = /^no viable alternative at input '\.(true|false|null)'$/;

/**
 * Parses an invalid expression again and reports every syntax error as upstream's ANTLR parser does: an extraneous
 * token is deleted, a missing token is assumed, and otherwise tokens are skipped up to the recovery set.
 */
class RecoveringParser {
  readonly #text: string;
  readonly #tokens: readonly Token[];
  readonly #unrecognised: readonly UnrecognizedText[];
  readonly problems: Problem[] = [];
  #at = 0;
  #call: Call | undefined;
  #state: Part | undefined;
  #isRecovering = false;
  #recoveries = 0;
  #lastStuckAt = -1;
  readonly #lastStuckIn = new Set<Part | undefined>();

  constructor(text: string, tokens: readonly Token[], unrecognised: readonly UnrecognizedText[]) {
    this.#text = text;
    this.#tokens = tokens;
    this.#unrecognised = unrecognised;
  }

  get #token(): Token {
    return this.#tokens[this.#at]!;
  }

  #ahead(count: number): Token {
    return this.#tokens[Math.min(this.#at + count, this.#tokens.length - 1)]!;
  }

  #input({kind, start, end}: Token): string {
    return `'${kind === 'EOF' ? '<EOF>' : escapeWhitespace(this.#text.slice(start, end))}'`;
  }

  /** Returns the text between two offsets without unrecognized characters. */
  #between(start: number, end: number): string {
    let out = '';
    let at = start;
    for (const odd of this.#unrecognised) {
      if (odd.start < at || odd.start >= end) continue;
      out += this.#text.slice(at, odd.start);
      at = odd.start + odd.text.length;
    }
    return out + this.#text.slice(at, end);
  }

  /** Reports a problem, unless the parser is still recovering from the previous one. */
  #report(message: string, at: Token = this.#token): void {
    if (this.#isRecovering) return;
    this.#isRecovering = true;
    this.problems.push(problemAt(this.#text, at.start, `Syntax error: ${message}`));
  }

  #consume(): void {
    if (this.#token.kind !== 'EOF') this.#at += 1;
  }

  #attempt(): void {
    if (this.#recoveries === maxRecoveries) {
      this.problems.push(problemAt(this.#text, this.#token.start, `Syntax error: error recovery attempt limit exceeded: ${maxRecoveries}`));
      throw new RecoveryLimitExceeded();
    }
    this.#recoveries += 1;
  }

  #mismatch(rest: Rest): never {
    this.#report(`mismatched input ${this.#input(this.#token)} expecting ${kindSet(expectedAt(rest, this.#call))}`);
    throw new RecognitionError();
  }

  #extraneous(expected: ReadonlySet<TokenKind>): void {
    this.#report(`extraneous input ${this.#input(this.#token)} expecting ${kindSet(expected)}`);
  }

  /** Single-token deletion: skips a token if the next one is expected here. */
  #leaveOut(rest: Rest): boolean {
    const expected = expectedAt(rest, this.#call);
    if (this.#token.kind === 'EOF' || !expected.has(this.#ahead(1).kind)) return false;
    this.#extraneous(expected);
    this.#consume();
    this.#isRecovering = false;
    return true;
  }

  /** Checks before a choice whether the next token can continue here, and recovers if not. */
  #sync(rest: Rest, isRepeated: boolean): void {
    this.#state = rest.part;
    if (this.#isRecovering) return;
    const {kinds, isNullable} = firstOfRest(rest);
    if (isNullable || kinds.has(this.#token.kind)) return;
    if (!isRepeated) {
      if (this.#leaveOut(rest)) return;
      this.#mismatch(rest);
    }
    const expected = expectedAt(rest, this.#call);
    this.#extraneous(expected);
    this.#skipTo(new Set([...expected, ...this.#recoverySet()]));
  }

  #recoverySet(): ReadonlySet<TokenKind> {
    const kinds = new Set<TokenKind>();
    for (let at = this.#call; at; at = at.outer) for (const kind of firstOfRest(at.rest).kinds) kinds.add(kind);
    return kinds;
  }

  #skipTo(kinds: ReadonlySet<TokenKind>): void {
    for (let skipped = 0; this.#token.kind !== 'EOF' && !kinds.has(this.#token.kind); skipped += 1) {
      if (skipped >= maxSkipped) {
        this.problems.push(problemAt(this.#text, -1, `error recovery token lookahead limit exceeded: ${maxSkipped}`));
        throw new RecoveryLimitExceeded();
      }
      this.#consume();
    }
  }

  #match(of: readonly TokenKind[], rest: Rest): void {
    this.#state = rest.part;
    if (of.includes(this.#token.kind)) {
      this.#isRecovering = false;
      this.#consume();
      return;
    }
    this.#attempt();
    if (this.#leaveOut(rest)) {
      this.#consume();
      return;
    }
    if (!expectedAt(rest.next, this.#call).has(this.#token.kind)) this.#mismatch(rest);
    this.#report(`missing ${kindSet(new Set(of))} at ${this.#input(this.#token)}`);
  }

  #rule(name: RuleName, rest: Rest | undefined): void {
    const outer = this.#call;
    this.#call = name === 'start' ? undefined : {rest, outer};
    const own = this.#call;
    try {
      this.#read(restOf(grammar[name], undefined));
    } catch (error) {
      if (!(error instanceof RecognitionError)) throw error;
      this.#call = own;
      this.#recover();
    }
    this.#call = outer;
  }

  #recover(): void {
    this.#attempt();
    if (this.#lastStuckAt === this.#at && this.#lastStuckIn.has(this.#state)) this.#consume();
    this.#lastStuckAt = this.#at;
    this.#lastStuckIn.add(this.#state);
    this.#skipTo(this.#recoverySet());
  }

  #read(rest: Rest): void {
    const {part, next} = rest;
    switch (part.kind) {
      case 'token':
        this.#match(part.of, rest);
        return;
      case 'rule':
        this.#rule(part.name, next);
        return;
      case 'row': {
        let at = sequenceRest(part.parts, next);
        for (const _ of part.parts) {
          this.#read(at!);
          at = at!.next;
        }
        return;
      }
      case 'choice':
        this.#sync(rest, false);
        this.#read(restOf(part.parts[this.#choose(part.parts, next)]!, next));
        return;
      case 'option':
        this.#sync(rest, false);
        if (firstOf(part.part).kinds.has(this.#token.kind)) this.#read(restOf(part.part, next));
        return;
      case 'star':
      case 'plus':
        this.#repeat(rest, part.part, part.kind === 'plus');
    }
  }

  /** Parses a repeated part while it matches. */
  #repeat(rest: Rest, part: Part, isAtLeastOnce: boolean): void {
    this.#sync(rest, false);
    const again = restOf(repeated(part), rest.next);
    let isDue = isAtLeastOnce;
    while (isDue || this.#goesOn(part, again)) {
      isDue = false;
      this.#read(restOf(part, again));
      this.#sync(again, true);
    }
  }

  #goesOn(part: Part, again: Rest): boolean {
    if (!firstOf(part).kinds.has(this.#token.kind)) return false;
    if (!expectedAt(again.next, this.#call).has(this.#token.kind)) return true;
    return this.#choose([part, nothing], again.next, again) === 0;
  }

  /** Returns the alternative to parse, looking ahead until only one remains. */
  #choose(parts: readonly Part[], next: Rest | undefined, behindFirst = next): number {
    const viable = parts.flatMap((part, alternative) => {
      const {kinds, isNullable} = firstOf(part);
      return isNullable || kinds.has(this.#token.kind) ? [alternative] : [];
    });
    if (viable.length === 1) return viable[0]!;
    let ways: readonly ParserPath[] = parts.map((part, alternative) => ({
      alternative,
      rest: restOf(part, alternative === 0 ? behindFirst : next),
      call: this.#call,
      hasLeft: false,
    }));
    for (let count = 0; ; count += 1) {
      const {kind} = this.#ahead(count);
      const on = distinctPaths(ways.flatMap(way => [...pathsAfter(way, kind, this.#call)]));
      const alternatives = new Set(on.map(({alternative}) => alternative));
      if (
        alternatives.size === 1 ||
        (on.length > 0 && (kind === 'EOF' || count > maxLookahead || areIndistinguishable(on, alternatives.size)))
      )
        return Math.min(...alternatives);
      if (on.length === 0) return this.#leaving(ways) ?? this.#unviable(this.#ahead(count));
      ways = on;
    }
  }

  #leaving(ways: readonly ParserPath[]): number | undefined {
    const left = ways.filter(way => canLeaveRule(way, this.#call)).map(({alternative}) => alternative);
    return left.length > 0 ? Math.min(...left) : undefined;
  }

  #unviable(stuck: Token): never {
    const input = this.#token.kind === 'EOF' ? '<EOF>' : escapeWhitespace(this.#between(this.#token.start, stuck.end));
    const message = `no viable alternative at input '${input}'`;
    const [, word] = reservedSelection.exec(message) ?? [];
    this.#report(word === undefined ? message : `mismatched input '${word}' expecting IDENTIFIER`, stuck);
    throw new RecognitionError();
  }

  read(): readonly Problem[] {
    try {
      this.#rule('start', undefined);
    } catch (error) {
      // Every bracket nests a dozen rules, so that deep nesting overflows the stack.
      if (error instanceof RangeError) this.problems.push(tooDeep(this.#text));
      else if (!(error instanceof RecoveryLimitExceeded)) throw error;
    }
    return this.problems;
  }
}

/**
 * Expressions with more tokens are not parsed again, which would block the server for seconds. Differs from upstream:
 * only the first syntax error is reported.
 */
const maxTokens = 2000;

/** Returns the syntax errors of an expression that does not parse, worded as upstream words them. */
export const syntaxProblems = (text: string, {tokens, unrecognised, at}: SyntaxMismatch): readonly Problem[] => {
  const problems: Problem[] = [];
  for (const {start, text: odd} of unrecognised)
    addProblem(problems, text, start, `Syntax error: token recognition error at: '${escapeWhitespace(odd)}'`);
  if (tokens.length > maxTokens) {
    const {kind, start, end} = tokens[at]!;
    addProblem(
      problems,
      text,
      start,
      `Syntax error: mismatched input '${kind === 'EOF' ? '<EOF>' : escapeWhitespace(text.slice(start, end))}'`,
    );
    return problems;
  }
  clearLookahead();
  return [...problems, ...new RecoveringParser(text, tokens, unrecognised).read()];
};
