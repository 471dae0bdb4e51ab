import {StepCount, type Steps} from '#src/base/steps.js';

/** Token kinds in the order in which messages list them. Fixed tokens are named by their text. */
export const tokenKinds = [
  'EOF',
  '==',
  '!=',
  'in',
  '<',
  '<=',
  '>=',
  '>',
  '&&',
  '||',
  '[',
  ']',
  '{',
  '}',
  '(',
  ')',
  '.',
  ',',
  '-',
  '!',
  '?',
  ':',
  '+',
  '*',
  '/',
  '%',
  'true',
  'false',
  'null',
  'FLOAT',
  'INT',
  'UINT',
  'STRING',
  'BYTES',
  'IDENTIFIER',
  'ESC_IDENTIFIER',
] as const;

export type TokenKind = (typeof tokenKinds)[number];

/** A token with its offsets in UTF-16 units. */
export interface Token {
  readonly kind: TokenKind;
  readonly start: number;
  readonly end: number;
}

/** Text that is not a token; skipped and reported. */
export interface UnrecognizedText {
  readonly start: number;
  readonly text: string;
}

const keywords: ReadonlySet<string> = new Set(['in', 'true', 'false', 'null']);
const pairs: ReadonlySet<string> = new Set(['==', '!=', '<=', '>=', '&&', '||']);
const singles: ReadonlySet<string> = new Set('<>[]{}().,-!?:+*/%');

const blank = /(?:[\t \r\n\f]|\/\/[^\n]*)+/y;
const word = /[A-Za-z_][A-Za-z0-9_]*/y;
const float = /(?:[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)/y;
const integer = /(?:0x[0-9a-fA-F]+|[0-9]+)[uU]?/y;
const quotedWord = /`[A-Za-z0-9_.\-/ ]+`/y;
const escape = String.raw`\\(?:[abfnrtv"'\\?${'`'}]|[0-3][0-7]{2}|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})`;
const long = (quote: string): string => `${quote}{3}(?:${escape}|[^\\\\])*?${quote}{3}`;
const short = (quote: string): string => `${quote}(?:${escape}|[^\\\\${quote}\\n\\r])*${quote}`;
const rawLong = (quote: string): string => `${quote}{3}[^]*?${quote}{3}`;
const rawShort = (quote: string): string => `${quote}[^${quote}\\n\\r]*${quote}`;
const string = new RegExp(
  `[bB]?(?:${long('"')}|${long("'")}|${short('"')}|${short("'")}|[rR](?:${rawLong('"')}|${rawLong("'")}|${rawShort('"')}|${rawShort("'")}))`,
  'y',
);

/** Matches the valid start of a string that is never closed. */
const brokenString = new RegExp(
  `[bB]?(?:[rR](?:"[^"\\n\\r]*|'[^'\\n\\r]*)|"(?:${escape}|[^\\\\"\\n\\r])*|'(?:${escape}|[^\\\\'\\n\\r])*)(?:\\\\(?:[xX][0-9a-fA-F]?|[0-3][0-7]?|u[0-9a-fA-F]{0,3}|U[0-9a-fA-F]{0,7})?)?`,
  'y',
);
const brokenWord = /`[A-Za-z0-9_.\-/ ]*/y;

const lengthOf = (pattern: RegExp, text: string, at: number): number => {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex - at : 0;
};

const maybeString = /[bB]?[rR]?["']/y;

/** So many tokens are found in one step. */
const tokensPerStep = 2000;

/** The tokens of an expression, the last of which is EOF, and what is none. */
export interface Tokens {
  readonly tokens: readonly Token[];
  readonly unrecognised: readonly UnrecognizedText[];
}

/** Splits an expression into tokens, in steps. */
export const tokenise = function* (text: string): Steps<Tokens> {
  const steps = new StepCount(tokensPerStep);
  const tokens: Token[] = [];
  const unrecognised: UnrecognizedText[] = [];
  let at = 0;
  const take = (kind: TokenKind, length: number): void => {
    tokens.push({kind, start: at, end: at + length});
    at += length;
  };
  /** Reports invalid text up to and including the character that ended it, and continues after it. */
  const skip = (read: number): void => {
    const stop = at + read;
    const last = stop < text.length ? String.fromCodePoint(text.codePointAt(stop)!).length : 0;
    unrecognised.push({start: at, text: text.slice(at, stop + last)});
    at = stop + last;
  };
  while (at < text.length) {
    if (steps.add(1)) yield;
    at += lengthOf(blank, text, at);
    if (at >= text.length) break;
    if (lengthOf(maybeString, text, at) > 0) {
      const length = lengthOf(string, text, at);
      if (length > 0) take(text[at] === 'b' || text[at] === 'B' ? 'BYTES' : 'STRING', length);
      else if (/["'`]/.test(text[at]!)) skip(lengthOf(brokenString, text, at));
      else take('IDENTIFIER', lengthOf(word, text, at));
      continue;
    }
    const letters = lengthOf(word, text, at);
    if (letters > 0) {
      const name = text.slice(at, at + letters);
      take(keywords.has(name) ? (name as TokenKind) : 'IDENTIFIER', letters);
      continue;
    }
    const fraction = lengthOf(float, text, at);
    const digits = lengthOf(integer, text, at);
    if (fraction > digits) take('FLOAT', fraction);
    else if (digits > 0) take(/[uU]/.test(text[at + digits - 1]!) ? 'UINT' : 'INT', digits);
    else if (pairs.has(text.slice(at, at + 2))) take(text.slice(at, at + 2) as TokenKind, 2);
    else if (singles.has(text[at]!)) take(text[at] as TokenKind, 1);
    else if (text[at] === '`') {
      const length = lengthOf(quotedWord, text, at);
      if (length > 0) take('ESC_IDENTIFIER', length);
      else skip(lengthOf(brokenWord, text, at));
    } else skip('=&|'.includes(text[at]!) ? 1 : 0);
  }
  tokens.push({kind: 'EOF', start: text.length, end: text.length});
  return {tokens, unrecognised};
};
