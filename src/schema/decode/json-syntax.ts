/** The end of the text where more was due. */
const ended = 'unexpected end of JSON input';

const named: Readonly<Record<string, string>> = {"'": String.raw`\'`, '\\': String.raw`\\`, '\u0007': String.raw`\a`, '\b': String.raw`\b`, '\f': String.raw`\f`, '\n': String.raw`\n`, '\r': String.raw`\r`, '\t': String.raw`\t`, '\v': String.raw`\v`};

/** A byte as the original shows it: a character of its own, whatever it is part of. */
const quoted = (byte: string): string => {
  const code = byte.charCodeAt(0);
  if (named[byte] !== undefined) return `'${named[byte]}'`;
  if (code < 0x20 || code === 0x7f) return String.raw`'\x${code.toString(16).padStart(2, '0')}'`;
  return (code > 0x7f && code <= 0xa0) || code === 0xad ? String.raw`'\u00${code.toString(16)}'` : `'${byte}'`;
};

/** Reads the bytes of JSON, a character each, only to say where it stops being JSON, in the words of the field's own parser. */
class SyntaxCheck {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** What is wrong with the text. */
  problem(): string {
    try {
      this.#document();
      return 'invalid JSON';
    } catch (error) {
      return (error as Error).message;
    }
  }

  /** A stack of open brackets instead of recursion: the text may be nested as deep as it is long. */
  #document(): void {
    const open: ('{' | '[')[] = [];
    let closable = false;
    for (;;) {
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

  /** Reads one value, or the beginning of an object or array: then true. */
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

  /** Reads what separates values, closing what closes. True at the end of the document. */
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
    while (/[0-9]/.test(this.#text[this.#at] ?? '')) this.#at += 1;
  }

  #space(): void {
    while (/[ \t\r\n]/.test(this.#text[this.#at] ?? '')) this.#at += 1;
  }

  #fail(where: string): never {
    const character = this.#text[this.#at];
    throw new Error(character === undefined ? ended : `invalid character ${quoted(character)} ${where}`);
  }
}

/** Says why a text is not JSON, as the field's own parser does: `invalid character 'x' looking for beginning of value`. */
export const jsonSyntaxProblem = (text: Buffer | string): string => new SyntaxCheck((typeof text === 'string' ? Buffer.from(text) : text).toString('latin1')).problem();
