// Parses kubectl's JSONPath to steps, which `json-path.ts` evaluates.

/** A step of a path in kubectl's dialect of JSONPath. */
export type Step =
  | {readonly do: 'field'; readonly name: string}
  | {readonly do: 'slice'; readonly start?: number; readonly end?: number; readonly step?: number; readonly isIndex: boolean}
  | {readonly do: 'union'; readonly of: readonly (readonly Step[])[]}
  | {readonly do: 'filter'; readonly left: readonly Step[]; readonly operator: string; readonly right: readonly Step[]}
  | {readonly do: 'value'; readonly value: string | number | boolean}
  | {readonly do: 'keyword'; readonly name: string}
  | {readonly do: 'all'}
  | {readonly do: 'descend'};

/** A path that cannot be parsed, or that does not exist in an object. */
export class JsonPathError extends Error {
  override readonly name = 'JsonPathError';
}

const refuse = (problem: string): never => {
  throw new JsonPathError(problem);
};

/** Characters that end a field's name. */
const terminators = ' \t\r\n.,[]$@{}';

const isLetter = (letter: string): boolean => /^[\p{L}\p{Nd}_]$/u.test(letter);

const escapes: Readonly<Record<string, string>> = {
  a: '\u0007',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  "'": "'",
  '"': '"',
};

/** Returns the content of a quoted text. */
const unquoted = (text: string): string =>
  text
    .slice(1, -1)
    .replaceAll(
      /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.?))/g,
      (_, two?: string, four?: string, eight?: string, one?: string) => {
        const code = two ?? four ?? eight;
        if (code !== undefined)
          return Number.parseInt(code, 16) <= 0x10ffff
            ? String.fromCodePoint(Number.parseInt(code, 16))
            : refuse('a character that there is not');
        return escapes[one ?? ''] ?? refuse(`unquote string ${text} error invalid syntax`);
      },
    );

/** The nesting limit of filters and unions. */
const maxDepth = 20;

class Parser {
  readonly #text: string;
  readonly #depth: number;
  readonly #steps: Step[] = [];
  #at = 0;

  constructor(text: string, depth: number) {
    if (depth > maxDepth) refuse('filters are nested too deeply');
    this.#text = text;
    this.#depth = depth;
  }

  /** Parses steps up to the end, or up to the brace that closes the caller's. */
  parse(): readonly Step[] {
    while (this.#at < this.#text.length && this.#text[this.#at] !== '}') this.#step(this.#text[this.#at]!);
    return this.#steps;
  }

  #step(next: string): void {
    const rest = this.#text.slice(this.#at, this.#at + 3);
    if (rest === '[?(') this.#filter();
    else if (rest.startsWith('..')) this.#descend();
    else if (next === ' ' || next === '@' || next === '$') this.#at += 1;
    else if (next === '[') this.#brackets();
    else if (next === '"' || next === "'") this.#steps.push({do: 'value', value: unquoted(this.#quoted(next))});
    else if (next === '.') {
      this.#at += 1;
      this.#field();
    } else if (next === '+' || next === '-' || /\d/.test(next)) this.#number();
    else if (isLetter(next)) this.#word();
    else refuse(next === '\n' || next === '\r' ? 'unclosed action' : `unrecognized character in action: ${next}`);
  }

  #inner(text: string): readonly Step[] {
    return new Parser(text, this.#depth + 1).parse();
  }

  #descend(): void {
    if (this.#steps.at(-1)?.do === 'descend') refuse('invalid multiple recursive descent');
    this.#at += 2;
    this.#steps.push({do: 'descend'});
    if (isLetter(this.#text[this.#at] ?? '')) this.#field();
  }

  #field(): void {
    const start = this.#at;
    while (this.#at < this.#text.length && !terminators.includes(this.#text[this.#at]!)) this.#at += this.#text[this.#at] === '\\' ? 2 : 1;
    const name = this.#text.slice(start, this.#at);
    this.#steps.push(name === '*' ? {do: 'all'} : {do: 'field', name: name.replaceAll('\\', '')});
  }

  #word(): void {
    const start = this.#at;
    while (this.#at < this.#text.length && !terminators.includes(this.#text[this.#at]!)) this.#at += 1;
    const name = this.#text.slice(start, this.#at);
    this.#steps.push(name === 'true' || name === 'false' ? {do: 'value', value: name === 'true'} : {do: 'keyword', name});
  }

  #number(): void {
    const [text] = /^[+-]?[\d.]*/.exec(this.#text.slice(this.#at))!;
    this.#at += text.length;
    const value = Number(text);
    if (!/\d/.test(text) || Number.isNaN(value)) refuse(`cannot parse number ${text}`);
    this.#steps.push({do: 'value', value});
  }

  #quoted(quote: string): string {
    const start = this.#at;
    for (this.#at += 1; ; this.#at++) {
      const next = this.#text[this.#at];
      if (next === undefined || next === '\n') refuse('unterminated quoted string');
      if (next === quote && this.#text[this.#at - 1] !== '\\') break;
    }
    this.#at += 1;
    return this.#text.slice(start, this.#at);
  }

  #brackets(): void {
    const end = this.#text.indexOf(']', this.#at);
    if (end === -1) refuse('unterminated array');
    const inside = this.#text.slice(this.#at + 1, end);
    this.#at = end + 1;
    const parts = inside.split(',');
    if (parts.length > 1) this.#steps.push({do: 'union', of: parts.map(part => this.#inner(`[${withoutSpaces(part)}]`))});
    else if (/^'[^']*'$/.test(inside)) this.#steps.push(...this.#inner(`.${inside.slice(1, -1)}`));
    else this.#slice(inside === '*' ? ':' : inside);
  }

  #slice(text: string): void {
    const [found, start, end, step] = /^(-?\d*)(:-?\d*)?(:-?\d*)?$/.exec(text) ?? [];
    const number = (given: string | undefined): number | undefined => {
      const digits = given?.replace(/^:/, '');
      if (!digits) return undefined;
      return digits === '-' ? refuse(`array index ${digits} is not a number`) : Number(digits);
    };
    if (found === undefined) refuse(`invalid array index ${text}`);
    const [from, to, by] = [number(start), number(end), number(step)];
    this.#steps.push({
      do: 'slice',
      isIndex: end === undefined,
      ...(from === undefined ? {} : {start: from}),
      ...(to === undefined ? {} : {end: to}),
      ...(by === undefined ? {} : {step: by}),
    });
  }

  #filter(): void {
    const start = this.#at + 3;
    let [quote, closed]: [string | undefined, boolean] = [undefined, false];
    for (this.#at = start; ; this.#at++) {
      const next = this.#text[this.#at];
      if (next === undefined || next === '\n') refuse('unterminated filter');
      if (next === '"' || next === "'") {
        if (quote === undefined) quote = next;
        else if (next === quote && this.#text[this.#at - 1] !== '\\') closed = true;
      } else if (next === ')' && (quote !== undefined) === closed) break;
    }
    const text = this.#text.slice(start, this.#at);
    if (this.#text[this.#at + 1] !== ']') refuse('unclosed array expect ]');
    this.#at += 2;
    const [, left, operator, right] = (text.includes('\n') ? null : /^([^!<>=]+)([!<>=]+)([^]+)$/.exec(text)) ?? [];
    if (left === undefined) this.#steps.push({do: 'filter', left: this.#inner(text), operator: 'exists', right: []});
    else this.#steps.push({do: 'filter', left: this.#inner(left), operator: operator!, right: this.#inner(right!)});
  }
}

/** Removes spaces at both ends, but no other white space. */
const withoutSpaces = (text: string): string => {
  let [start, end] = [0, text.length];
  while (start < end && text[start] === ' ') start++;
  while (end > start && text[end - 1] === ' ') end--;
  return text.slice(start, end);
};

/** Parses a path without braces. Throws `JsonPathError`. */
export const parseJsonPath = (text: string): readonly Step[] => new Parser(text, 0).parse();
