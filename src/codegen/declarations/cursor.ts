import {failureAt, type Place} from './syntax.js';
import {tokensOf, type Token} from './tokens.js';

const closing: Readonly<Record<string, string>> = {'{': '}', '(': ')', '[': ']', '<': '>'};

/** A position in the tokens of a source. */
export class Cursor {
  readonly file: string;
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(file: string, text: string) {
    this.file = file;
    this.#tokens = tokensOf(text);
  }

  get token(): Token {
    return this.#tokens[this.#at]!;
  }

  get place(): Place {
    return {file: this.file, line: this.token.line};
  }

  get isEnd(): boolean {
    return this.token.type === 'end';
  }

  /** The index of the token, to return to. */
  get position(): number {
    return this.#at;
  }

  return(position: number): void {
    this.#at = position;
  }

  ahead(count: number): Token | undefined {
    return this.#tokens[this.#at + count];
  }

  /** Whether the token is the first of its line: there an index or a signature is no part of the type before it. */
  get beginsLine(): boolean {
    const before = this.#tokens[this.#at - 1];
    return before !== undefined && before.line !== this.token.line;
  }

  next(): Token {
    const {token} = this;
    if (token.type !== 'end') this.#at++;
    return token;
  }

  /** Whether the token is this sign or word. */
  is(text: string, ahead = 0): boolean {
    const token = this.#tokens[this.#at + ahead];
    return token !== undefined && (token.type === 'sign' || token.type === 'name') && token.text === text;
  }

  isName(ahead = 0): boolean {
    return this.#tokens[this.#at + ahead]?.type === 'name';
  }

  take(text: string): boolean {
    if (!this.is(text)) return false;
    this.next();
    return true;
  }

  expect(text: string): void {
    if (!this.take(text))
      this.fail(`${JSON.stringify(text)} was expected, not ${this.isEnd ? 'the end of the file' : JSON.stringify(this.token.text)}`);
  }

  name(): string {
    if (this.token.type !== 'name') this.fail(`a name was expected, not ${JSON.stringify(this.token.text)}`);
    return this.next().text;
  }

  fail(message: string, at = this.place): never {
    throw failureAt(at, message);
  }

  /** Passes over the brackets at the position and what is in them; over nothing if there are none. */
  skipGroup(): void {
    const end = closing[this.token.text];
    if (this.token.type !== 'sign' || end === undefined) return;
    const open: string[] = [];
    do {
      const {type, text} = this.next();
      if (type !== 'sign') continue;
      if (closing[text] && (text !== '<' || end === '>')) open.push(closing[text]);
      else if (open.at(-1) === text) open.pop();
    } while (open.length > 0 && !this.isEnd);
  }

  /** The sign or word after the brackets at the position. */
  isAfterGroup(text: string): boolean {
    const {position} = this;
    this.skipGroup();
    const found = this.is(text);
    this.return(position);
    return found;
  }
}
