// The parser of the expression language: recursive descent over the published grammar, with macros expanded while
// parsing. It stops at the first syntax error and says where; `src/cel/error-texts` then parses the text again to
// report all errors as upstream does. Length and nesting are limited.

import type {Steps} from '#src/base/steps.js';
import type {Ast, Expr, FieldEntry, Literal, MapEntry} from './ast.js';
import {LiteralError, bytesLiteral, doubleLiteral, intLiteral, stringLiteral, uintLiteral} from './literals.js';
import {macroKey, MacroError, standardMacros, type Macro, type ExprFactory} from './macros.js';
import {maxDepth, addProblem, problemAt, tooDeep, type Problem} from '#src/cel/values/problem.js';
import {parseTermsAhead, type ReadyTerm, type TermParser} from './parse-ahead.js';
import {tokenise, type Token, type TokenKind, type UnrecognizedText} from './tokens.js';

/** Where an expression leaves the grammar: its tokens, and the index of the token at which parsing stopped. */
export interface SyntaxMismatch {
  readonly tokens: readonly Token[];
  readonly unrecognised: readonly UnrecognizedText[];
  readonly at: number;
}

/** Why an expression cannot be parsed. */
export interface ParseError {
  /** The problems found so far, except syntax errors. */
  readonly problems: readonly Problem[];
  /** Set if the expression does not match the grammar. */
  readonly mismatch?: SyntaxMismatch;
}

/** Macros and optional parts of the syntax. */
export interface ParseOptions {
  readonly macros?: ReadonlyMap<string, Macro>;
  /** `a.?b`, `a[?b]`, `[?a]`, `{?a: b}`. */
  readonly optionalSyntax?: boolean;
  /** Names in backticks after a dot. */
  readonly escapedNames?: boolean;
}

/** The maximum length of an expression in characters. */
const maxCharacters = 100_000;

const reserved: ReadonlySet<string> = new Set([
  'as',
  'break',
  'const',
  'continue',
  'else',
  'false',
  'for',
  'function',
  'if',
  'import',
  'in',
  'let',
  'loop',
  'package',
  'namespace',
  'null',
  'return',
  'true',
  'var',
  'void',
  'while',
]);

const relations: ReadonlySet<TokenKind> = new Set(['<', '<=', '>=', '>', '==', '!=', 'in']);
const products: ReadonlySet<TokenKind> = new Set(['*', '/', '%']);
const sums: ReadonlySet<TokenKind> = new Set(['+', '-']);

/** Thrown on a syntax error. All errors are then found by `src/cel/error-texts`, which recovers from errors. */
class GrammarError extends Error {}
class NestingLimitExceeded extends Error {}

class Parser implements TermParser {
  readonly text: string;
  readonly tokens: readonly Token[];
  readonly options: ParseOptions;
  readonly problems: Problem[] = [];
  readonly positions: number[] = [-1];
  readonly ready = new Map<number, ReadyTerm>();
  at = 0;
  #depth = 0;

  constructor(text: string, tokens: readonly Token[], options: ParseOptions) {
    this.text = text;
    this.tokens = tokens;
    this.options = options;
  }

  get token(): Token {
    return this.tokens[this.at]!;
  }

  textOf({start, end}: Token): string {
    return this.text.slice(start, end);
  }

  id(position: number): number {
    return this.positions.push(position) - 1;
  }

  is(kind: TokenKind): boolean {
    return this.token.kind === kind;
  }

  accept(kind: TokenKind): Token | undefined {
    return this.is(kind) ? this.tokens[this.at++] : undefined;
  }

  expect(kind: TokenKind): Token {
    const token = this.accept(kind);
    if (!token) throw new GrammarError();
    return token;
  }

  /** Adds a problem and returns a placeholder node. */
  fail(position: number, message: string): Expr {
    addProblem(this.problems, this.text, position, message);
    return {kind: 'literal', id: this.id(position), value: null};
  }

  expression(): Expr {
    this.#depth += 1;
    if (this.#depth > maxDepth) throw new NestingLimitExceeded();
    const condition = this.or();
    const question = this.accept('?');
    if (!question) {
      this.#depth -= 1;
      return condition;
    }
    const id = this.id(question.start);
    const whenTrue = this.or();
    this.expect(':');
    const whenFalse = this.expression();
    this.#depth -= 1;
    return this.call(id, '_?_:_', undefined, [condition, whenTrue, whenFalse]);
  }

  /** Builds a balanced tree of `&&` and `||` terms, so that long chains do not nest deeply. */
  balanced(name: string, operator: TokenKind, term: () => Expr): Expr {
    const terms = [term()];
    const ids: number[] = [];
    for (let token = this.accept(operator); token; token = this.accept(operator)) {
      terms.push(term());
      ids.push(this.id(token.start));
    }
    const tree = (low: number, high: number): Expr => {
      const middle = (low + high + 1) >> 1;
      const left = middle === low ? terms[middle]! : tree(low, middle - 1);
      const right = middle === high ? terms[middle + 1]! : tree(middle + 1, high);
      return {kind: 'call', id: ids[middle]!, function: name, args: [left, right]};
    };
    return ids.length === 0 ? terms[0]! : tree(0, ids.length - 1);
  }

  or(): Expr {
    return this.balanced('_||_', '||', () => this.and());
  }

  and(): Expr {
    return this.balanced('_&&_', '&&', () => this.relation());
  }

  chain(operators: ReadonlySet<TokenKind>, term: () => Expr): Expr {
    let left = term();
    for (let length = 1; operators.has(this.token.kind); length += 1) {
      if (length > maxDepth) throw new NestingLimitExceeded();
      const token = this.token;
      this.at += 1;
      const id = this.id(token.start);
      const right = term();
      left = this.call(id, token.kind === 'in' ? '@in' : `_${token.kind}_`, undefined, [left, right]);
    }
    return left;
  }

  relation(): Expr {
    const ready = this.ready.get(this.at);
    if (!ready) return this.#relation();
    this.at = ready.next;
    return ready.expr;
  }

  term(at: number, depth: number): ReadyTerm {
    this.at = at;
    this.#depth = depth;
    return {expr: this.#relation(), next: this.at};
  }

  /** Parses the whole expression, in steps if it is long. */
  *whole(): Steps<Expr> {
    yield* parseTermsAhead(this);
    this.at = 0;
    this.#depth = 0;
    const root = this.expression();
    this.expect('EOF');
    return root;
  }

  #relation(): Expr {
    return this.chain(relations, () => this.chain(sums, () => this.chain(products, () => this.unary())));
  }

  unary(): Expr {
    const {kind, start} = this.token;
    const next = this.tokens[this.at + 1]?.kind;
    if (kind !== '!' && (kind !== '-' || next === 'INT' || next === 'FLOAT')) return this.member();
    let count = 0;
    while (this.accept(kind)) count += 1;
    if (count % 2 === 0) return this.member();
    const id = this.id(start);
    return this.call(id, kind === '!' ? '!_' : '-_', undefined, [this.member()]);
  }

  member(): Expr {
    let operand = this.primary();
    for (let length = 1; ; length += 1) {
      if (length > maxDepth) throw new NestingLimitExceeded();
      const dot = this.accept('.');
      if (dot) operand = this.selection(operand, dot);
      else {
        const bracket = this.accept('[');
        if (!bracket) return operand;
        operand = this.index(operand, bracket);
      }
    }
  }

  selection(operand: Expr, dot: Token): Expr {
    const isOptional = this.accept('?') !== undefined;
    const name = this.accept('ESC_IDENTIFIER') ?? this.expect('IDENTIFIER');
    const isEscaped = name.kind === 'ESC_IDENTIFIER';
    if (!isOptional && !isEscaped && this.is('(')) {
      const open = this.expect('(');
      const id = this.id(open.start);
      return this.call(id, this.textOf(name), operand, this.list(')'));
    }
    if (isEscaped && !this.options.escapedNames) return this.fail(name.start, "unsupported syntax: '`'");
    const field = isEscaped ? this.textOf(name).slice(1, -1) : this.textOf(name);
    if (!isOptional) return {kind: 'select', id: this.id(dot.start), operand, field, test: false};
    if (!this.options.optionalSyntax) return this.fail(dot.start, "unsupported syntax '.?'");
    return {
      kind: 'call',
      id: this.id(dot.start),
      function: '_?._',
      args: [operand, {kind: 'literal', id: this.id(name.start), value: field}],
    };
  }

  index(operand: Expr, bracket: Token): Expr {
    const isOptional = this.accept('?') !== undefined;
    const id = this.id(bracket.start);
    const index = this.expression();
    this.expect(']');
    if (isOptional && !this.options.optionalSyntax) return this.fail(bracket.start, "unsupported syntax '[?'");
    return this.call(id, isOptional ? '_[?_]' : '_[_]', undefined, [operand, index]);
  }

  /** Parses expressions separated by commas up to a closing bracket. */
  list(close: TokenKind): Expr[] {
    const found: Expr[] = [];
    if (this.accept(close)) return found;
    do found.push(this.expression());
    while (this.accept(','));
    this.expect(close);
    return found;
  }

  primary(): Expr {
    const {kind, start} = this.token;
    switch (kind) {
      case '(': {
        this.at += 1;
        const inner = this.expression();
        this.expect(')');
        return inner;
      }
      case '[':
        return this.listLiteral();
      case '{':
        return this.mapLiteral();
      case '.':
      case 'IDENTIFIER':
        return this.named(start);
      case '-':
        return this.literal(start, this.expect('-'));
      default:
        return this.literal(start, undefined);
    }
  }

  literal(start: number, sign: Token | undefined): Expr {
    const token = this.token;
    const text = this.textOf(token);
    const read = (): Literal => {
      switch (token.kind) {
        case 'INT':
          return intLiteral(text, sign ? '-' : '');
        case 'FLOAT':
          return doubleLiteral(sign ? `-${text}` : text);
        case 'UINT':
          return uintLiteral(text);
        case 'STRING':
          return stringLiteral(text);
        case 'BYTES':
          return bytesLiteral(text);
        case 'true':
          return true;
        case 'false':
          return false;
        case 'null':
          return null;
        default:
          throw new GrammarError();
      }
    };
    try {
      const value = read();
      this.at += 1;
      return {kind: 'literal', value, id: this.id(start)};
    } catch (error) {
      if (!(error instanceof LiteralError)) throw error;
      this.at += 1;
      return this.fail(start, error.message);
    }
  }

  named(start: number): Expr {
    const dot = this.accept('.') ? '.' : '';
    const name = this.expect('IDENTIFIER');
    const message = this.messageName(name);
    if (message !== undefined) return this.message(dot + message);
    const text = this.textOf(name);
    const open = this.accept('(');
    if (reserved.has(text)) {
      const parseError = this.fail(start, `reserved identifier: ${text}`);
      if (open) this.list(')');
      return parseError;
    }
    if (!open) return {kind: 'ident', id: this.id(name.start), name: dot + text};
    const id = this.id(open.start);
    return this.call(id, dot + text, undefined, this.list(')'));
  }

  /**
   * Returns the qualified type name of an object literal that starts here and advances to its opening brace; undefined
   * if none does.
   */
  messageName(first: Token): string | undefined {
    let name = this.textOf(first);
    let at = this.at;
    for (; this.tokens[at]!.kind === '.' && this.tokens[at + 1]!.kind === 'IDENTIFIER'; at += 2)
      name += `.${this.textOf(this.tokens[at + 1]!)}`;
    if (this.tokens[at]!.kind !== '{') return undefined;
    this.at = at;
    return name;
  }

  optionalMark(): boolean {
    const mark = this.accept('?');
    if (mark && !this.options.optionalSyntax) this.fail(mark.start, "unsupported syntax '?'");
    return mark !== undefined;
  }

  /** Parses items separated by commas up to a closing bracket. A trailing comma is allowed. */
  items(close: TokenKind, item: () => void): void {
    if (!this.is(close) && !this.accept(',')) {
      do item();
      while (this.accept(',') && !this.is(close));
    }
    this.expect(close);
  }

  message(type: string): Expr {
    const id = this.id(this.expect('{').start);
    const fields: FieldEntry[] = [];
    this.items('}', () => {
      const optional = this.optionalMark();
      const name = this.accept('ESC_IDENTIFIER') ?? this.expect('IDENTIFIER');
      const isEscaped = name.kind === 'ESC_IDENTIFIER';
      if (isEscaped && !this.options.escapedNames) this.fail(name.start, "unsupported syntax: '`'");
      const field = this.id(this.expect(':').start);
      fields.push({id: field, name: isEscaped ? this.textOf(name).slice(1, -1) : this.textOf(name), value: this.expression(), optional});
    });
    return {kind: 'struct', id, type, fields};
  }

  listLiteral(): Expr {
    const id = this.id(this.expect('[').start);
    const elements: Expr[] = [];
    const optional = new Set<number>();
    this.items(']', () => {
      if (this.optionalMark()) optional.add(elements.length);
      elements.push(this.expression());
    });
    return {kind: 'list', id, elements, optional};
  }

  mapLiteral(): Expr {
    const id = this.id(this.expect('{').start);
    const entries: MapEntry[] = [];
    this.items('}', () => {
      const optional = this.optionalMark();
      const key = this.expression();
      const entry = this.id(this.expect(':').start);
      entries.push({id: entry, key, value: this.expression(), optional});
    });
    return {kind: 'map', id, entries};
  }

  /** Returns a call, or the expansion of the macro of that name. */
  call(id: number, name: string, target: Expr | undefined, args: readonly Expr[]): Expr {
    const {macros} = this.options;
    const macro =
      macros?.get(macroKey(name, args.length, target !== undefined)) ?? macros?.get(macroKey(name, undefined, target !== undefined));
    if (macro) {
      try {
        const expanded = macro.expand(this.maker(this.positions[id]!), args, target);
        if (expanded) return expanded;
      } catch (error) {
        if (!(error instanceof MacroError)) throw error;
        return this.fail(this.positions[error.at.id]!, error.message);
      }
    }
    return {kind: 'call', id, function: name, ...(target && {target}), args};
  }

  maker(position: number): ExprFactory {
    const id = (): number => this.id(position);
    return {
      literal: value => ({kind: 'literal', id: id(), value}),
      ident: name => ({kind: 'ident', id: id(), name}),
      call: (name, ...args) => ({kind: 'call', id: id(), function: name, args}),
      member: (name, target, ...args) => ({kind: 'call', id: id(), function: name, target, args}),
      list: (...elements) => ({kind: 'list', id: id(), elements, optional: new Set()}),
      map: () => ({kind: 'map', id: id(), entries: []}),
      test: (operand, field) => ({kind: 'select', id: id(), operand, field, test: true}),
      fold: parts => ({kind: 'comprehension', id: id(), ...parts}),
    };
  }
}

/** Returns the macros by their keys. */
export const macroTable = (macros: Iterable<Macro>): ReadonlyMap<string, Macro> =>
  new Map([...macros].map(macro => [macroKey(macro.name, macro.arity, macro.isMember), macro]));

const defaults: ParseOptions = {macros: macroTable(standardMacros), optionalSyntax: true};

/** Parses an expression and expands its macros, in steps. */
export const parse = function* (text: string, options: ParseOptions = defaults): Steps<Ast | ParseError> {
  if (text.length > maxCharacters) {
    const size = [...text].length;
    if (size > maxCharacters)
      return {problems: [problemAt(text, -1, `expression code point size exceeds limit: size: ${size}, limit ${maxCharacters}`)]};
  }
  const {tokens, unrecognised} = yield* tokenise(text);
  const parser = new Parser(text, tokens, options);
  try {
    const root = yield* parser.whole();
    if (unrecognised.length > 0) throw new GrammarError();
    return parser.problems.length > 0 ? {problems: parser.problems} : {text, root, positions: parser.positions};
  } catch (error) {
    if (error instanceof NestingLimitExceeded) return {problems: [tooDeep(text)]};
    if (!(error instanceof GrammarError)) throw error;
    return {problems: parser.problems, mismatch: {tokens, unrecognised, at: parser.at}};
  }
};

export const isParseError = (parsed: Ast | ParseError): parsed is ParseError => 'problems' in parsed;
