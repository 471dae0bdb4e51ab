// The tokens of TypeScript, as far as declarations need them. Bodies of functions and other values are only skipped, so
// their tokens need not be exact.

import type {Comment} from '#src/codegen/doc.js';

export interface Token {
  readonly type: 'name' | 'string' | 'number' | 'sign' | 'other' | 'end';
  /** As written; the value of a string. */
  readonly text: string;
  readonly line: number;
  /** The documentation comment right before it. */
  readonly comment?: Comment;
}

const space = /\s+|\/\/[^\n]*/y;
const block = /\/\*[^]*?\*\//y;
const name = /[\p{ID_Start}$_][\p{ID_Continue}$]*/uy;
const number = /(?:0[xX][\da-fA-F]+|\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)/y;
const string = /'(?:[^'\\\n]|\\[^])*'|"(?:[^"\\\n]|\\[^])*"/y;
const regexp = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y;
const sign = /=>|\.\.\.|[^\s]/y;

const matchAt = (pattern: RegExp, text: string, at: number): string | undefined => {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
};

const escapes: Readonly<Record<string, string>> = {n: '\n', r: '\r', t: '\t', b: '\b', f: '\f', v: '\v', 0: '\0'};

const stringValue = (literal: string): string =>
  literal
    .slice(1, -1)
    .replaceAll(
      /\\(?:u\{([\da-fA-F]+)\}|u([\da-fA-F]{4})|x([\da-fA-F]{2})|\r?\n|([^]))/g,
      (_, ...[wide, unit, byte, char]: (string | undefined)[]) => {
        const code = wide ?? unit ?? byte;
        if (code !== undefined) return String.fromCodePoint(Number.parseInt(code, 16));
        return char === undefined ? '' : (escapes[char] ?? char);
      },
    );

/** Returns the end of a template literal that begins at `from`, with the expressions in it. */
const endOfTemplate = (text: string, from: number): number => {
  for (let at = from + 1; at < text.length; at++) {
    if (text[at] === '\\') at++;
    else if (text[at] === '`') return at + 1;
    else if (text.startsWith('${', at)) {
      let depth = 1;
      for (at += 2; at < text.length && depth > 0; at++) {
        if (text[at] === '`') at = endOfTemplate(text, at) - 1;
        else if (text[at] === '{') depth++;
        else if (text[at] === '}') depth--;
      }
      at--;
    }
  }
  return text.length;
};

/** Words that a value follows. */
const beforeValue: ReadonlySet<string> = new Set(
  'return typeof case in of do else void await yield throw new delete instanceof default extends'.split(' '),
);

/** Whether a slash after this token begins a regular expression and not a division. */
const isBeforeValue = (token: Token | undefined): boolean =>
  token === undefined || (token.type === 'sign' ? !')]}'.includes(token.text) : token.type === 'name' && beforeValue.has(token.text));

/**
 * Returns the type and the text of the token at a position, unless it is a template, a regular expression or a sign.
 */
const wordAt = (text: string, at: number): readonly [Token['type'], string] | undefined => {
  for (const [type, pattern] of words) {
    const found = matchAt(pattern, text, at);
    if (found) return [type, found];
  }
  return undefined;
};

const words = [
  ['name', name],
  ['number', number],
  ['string', string],
] as const;

const documented = (comment: string, line: number): Comment | undefined =>
  comment.startsWith('/**') && comment !== '/**/' ? {text: comment.slice(3, -2), line} : undefined;

/** Returns the tokens of a source, the last of which is the end. */
export const tokensOf = (text: string): readonly Token[] => {
  const tokens: Token[] = [];
  let comment: Comment | undefined;
  let line = 1;
  const add = (type: Token['type'], written: string, value = written): void => {
    tokens.push({type, text: value, line, ...(comment ? {comment} : {})});
    comment = undefined;
    skip(written);
  };
  let at = 0;
  const skip = (written: string): void => {
    line += written.split('\n').length - 1;
    at += written.length;
  };
  while (at < text.length) {
    const blank = matchAt(space, text, at);
    const remark = blank === undefined ? matchAt(block, text, at) : undefined;
    if (blank ?? remark) {
      if (remark) comment = documented(remark, line) ?? comment;
      skip((blank ?? remark)!);
      continue;
    }
    const [type, found] = wordAt(text, at) ?? [];
    if (type && found) add(type, found, type === 'string' ? stringValue(found) : found);
    else if (text[at] === '`') add('other', text.slice(at, endOfTemplate(text, at)));
    else {
      const pattern = text[at] === '/' && isBeforeValue(tokens.at(-1)) ? matchAt(regexp, text, at) : undefined;
      if (pattern) add('other', pattern);
      else add('sign', matchAt(sign, text, at)!);
    }
  }
  add('end', '');
  return tokens;
};
