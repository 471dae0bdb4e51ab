import {runSteps, type Steps} from '#src/base/steps.js';

/** The error of a text that ends too early. */
const ended = 'unexpected end of JSON input';

const named: Readonly<Record<string, string>> = {
  "'": String.raw`\'`,
  '\\': String.raw`\\`,
  '\u0007': String.raw`\a`,
  '\b': String.raw`\b`,
  '\f': String.raw`\f`,
  '\n': String.raw`\n`,
  '\r': String.raw`\r`,
  '\t': String.raw`\t`,
  '\v': String.raw`\v`,
};

/** Formats a byte as the original does: as a character of its own, also within a multi-byte character. */
const quoted = (byte: string): string => {
  const code = byte.charCodeAt(0);
  if (named[byte] !== undefined) return `'${named[byte]}'`;
  if (code < 0x20 || code === 0x7f) return String.raw`'\x${code.toString(16).padStart(2, '0')}'`;
  return (code > 0x7f && code <= 0xa0) || code === 0xad ? String.raw`'\u00${code.toString(16)}'` : `'${byte}'`;
};

/** How many values are looked at in one step. */
const valuesPerStep = 10_000;

/** The characters of strings besides quotes, backslashes and control characters; texts are in Latin-1. */
const plainText = /[ !#-[\]-\u00FF]*/y;
const spaces = /[ \t\r\n]*/y;
const digits = /[0-9]*/y;

/** Parses JSON one byte at a time, only to report where the syntax error is, with the original parser's text. */
class SyntaxCheck {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Returns the syntax error. */
  *problem(): Steps<string> {
    try {
      yield* this.#document();
      return 'invalid JSON';
    } catch (error) {
      return (error as Error).message;
    }
  }

  /** Keeps a stack of open brackets instead of recursing: the nesting may be as deep as the text is long. */
  *#document(): Steps<void> {
    const open: ('{' | '[')[] = [];
    let closable = false;
    for (let values = 1; ; values++) {
      if (values % valuesPerStep === 0) yield;
      this.#space();
      const next = this.#text[this.#at];
      if (closable && next === (open.at(-1) === '{' ? '}' : ']')) {
        this.#at += 1;
        open.pop();
      } else {
        if (open.at(-1) === '{') this.#key();
        if (this.#opens(open)) {
          closable = true;
          continue;
        }
      }
      closable = false;
      if (this.#afterValue(open)) return;
    }
  }

  /** Parses one value, or the start of an object or array and then returns true. */
  #opens(open: ('{' | '[')[]): boolean {
    this.#space();
    const next = this.#text[this.#at];
    if (next === '{' || next === '[') {
      open.push(next);
      this.#at += 1;
      return true;
    }
    this.#scalar();
    return false;
  }

  /** Parses separators and closing brackets. Returns true at the end of the document. */
  #afterValue(open: ('{' | '[')[]): boolean {
    for (;;) {
      this.#space();
      const next = this.#text[this.#at];
      const within = open.at(-1);
      if (within === undefined) {
        if (next !== undefined) this.#fail('after top-level value');
        return true;
      }
      if (next === ',') {
        this.#at += 1;
        return false;
      }
      if (next !== (within === '{' ? '}' : ']')) this.#fail(within === '{' ? 'after object key:value pair' : 'after array element');
      this.#at += 1;
      open.pop();
    }
  }

  #key(): void {
    this.#space();
    if (this.#text[this.#at] !== '"') this.#fail('looking for beginning of object key string');
    this.#string();
    this.#space();
    if (this.#text[this.#at] !== ':') this.#fail('after object key');
    this.#at += 1;
  }

  #scalar(): void {
    const next = this.#text[this.#at];
    if (next === '"') this.#string();
    else if (next === 't') this.#literal('true');
    else if (next === 'f') this.#literal('false');
    else if (next === 'n') this.#literal('null');
    else if (next !== undefined && /[-0-9]/.test(next)) this.#number();
    else this.#fail('looking for beginning of value');
  }

  #literal(word: string): void {
    for (const [index, character] of [...word].entries()) {
      if (index > 0 && this.#text[this.#at] !== character) this.#fail(`in literal ${word} (expecting '${character}')`);
      this.#at += 1;
    }
  }

  #string(): void {
    for (this.#at += 1; ; this.#at++) {
      this.#pass(plainText);
      const character = this.#text[this.#at];
      if (character === '"') break;
      if (character === undefined || character < ' ') this.#fail('in string literal');
      if (character === '\\') this.#escape();
    }
    this.#at += 1;
  }

  #escape(): void {
    this.#at += 1;
    const character = this.#text[this.#at];
    if (character === undefined || !'bfnrt\\/"u'.includes(character)) this.#fail('in string escape code');
    if (character !== 'u') return;
    for (let digit = 0; digit < 4; digit++) {
      this.#at += 1;
      if (!/[0-9a-fA-F]/.test(this.#text[this.#at] ?? '')) this.#fail(String.raw`in \u hexadecimal character escape`);
    }
  }

  #number(): void {
    if (this.#text[this.#at] === '-') this.#at += 1;
    if (this.#text[this.#at] === '0') this.#at += 1;
    else this.#digits('in numeric literal');
    if (this.#text[this.#at] === '.') {
      this.#at += 1;
      this.#digits('after decimal point in numeric literal');
    }
    if (/[eE]/.test(this.#text[this.#at] ?? '')) {
      this.#at += 1;
      if (/[-+]/.test(this.#text[this.#at] ?? '')) this.#at += 1;
      this.#digits('in exponent of numeric literal');
    }
  }

  #digits(where: string): void {
    if (!/[0-9]/.test(this.#text[this.#at] ?? '')) this.#fail(where);
    this.#pass(digits);
  }

  #space(): void {
    this.#pass(spaces);
  }

  /** Moves behind the characters that match. */
  #pass(characters: RegExp): void {
    characters.lastIndex = this.#at;
    characters.test(this.#text);
    this.#at = characters.lastIndex;
  }

  #fail(where: string): never {
    const character = this.#text[this.#at];
    throw new Error(character === undefined ? ended : `invalid character ${quoted(character)} ${where}`);
  }
}

/** Returns in steps why a text is not JSON. */
export const jsonSyntaxProblemInSteps = (text: Buffer): Steps<string> => new SyntaxCheck(text.toString('latin1')).problem();

/** Returns why a text is not JSON, with the original's text: `invalid character 'x' looking for beginning of value`. */
export const jsonSyntaxProblem = (text: Buffer | string): string =>
  runSteps(jsonSyntaxProblemInSteps(typeof text === 'string' ? Buffer.from(text) : text));
