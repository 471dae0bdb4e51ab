import {docOf, noDoc} from '#src/codegen/doc.js';
import {failureAt, type Body, type Place, type Property, type TypeNode} from './syntax.js';
import {tokensOf, type Token} from './tokens.js';

/** Utility types that only say that nothing is written to. */
const transparent: ReadonlySet<string> = new Set(['Readonly', 'Required']);

/** Parses types. `parse.ts` adds the statements around them. */
export class TypeParser {
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

  /** Refuses parameters of types, which have no counterpart in a schema. */
  refuseParameters(what: string): void {
    if (this.is('<')) this.fail(`${what} has type parameters: generic types cannot become a schema, declare each type by itself`);
  }

  type(): TypeNode {
    const at = this.place;
    this.take('|');
    const members = [this.#intersection()];
    while (this.take('|')) members.push(this.#intersection());
    if (this.is('extends')) this.fail('conditional types cannot become a schema');
    return members.length === 1 ? members[0]! : {is: 'union', members, at};
  }

  #intersection(): TypeNode {
    const at = this.place;
    const members = [this.#postfix()];
    while (this.take('&')) members.push(this.#postfix());
    return members.length === 1 ? members[0]! : {is: 'intersection', members, at};
  }

  #postfix(): TypeNode {
    if (this.is('readonly')) this.next();
    let type = this.#primary();
    while (this.is('[')) {
      const at = this.place;
      this.next();
      if (!this.is(']')) this.fail('types of properties, as T[K], cannot become a schema: name the type');
      this.next();
      type = {is: 'array', items: type, at};
    }
    return type;
  }

  #primary(): TypeNode {
    const at = this.place;
    const {type, text} = this.token;
    if (type === 'string') {
      this.next();
      return {is: 'literal', value: text, at};
    }
    if (type === 'number' || (this.is('-') && this.#tokens[this.#at + 1]?.type === 'number')) {
      const sign = this.take('-') ? -1 : 1;
      return {is: 'literal', value: sign * Number(this.next().text.replaceAll('_', '')), at};
    }
    if (this.take('(')) {
      if (this.is(')') || this.is('...') || this.is(':', 1) || this.is('?', 1)) this.fail('functions cannot become a schema', at);
      const inner = this.type();
      if (!this.take(')') || this.is('=>')) this.fail('functions cannot become a schema', at);
      return inner;
    }
    if (this.is('{')) return {is: 'object', body: this.body(), at};
    if (this.is('[')) this.fail('tuples cannot become a schema: write an array');
    if (type === 'other') this.fail('template literals cannot become a schema: use a string with @pattern');
    for (const word of ['keyof', 'typeof', 'infer', 'unique', 'new', 'abstract', 'asserts'])
      if (this.is(word)) this.fail(`${word} cannot become a schema: write out the type`);
    if (type !== 'name') this.fail(`a type was expected, not ${JSON.stringify(text)}`);
    return this.#reference(at);
  }

  #reference(at: Place): TypeNode {
    const name = this.name();
    if (name === 'null') return {is: 'literal', value: null, at};
    if (name === 'true' || name === 'false') return {is: 'literal', value: name === 'true', at};
    if (this.is('.')) this.fail(`${name}.${this.#tokens[this.#at + 1]?.text ?? ''}: import types by their own names`, at);
    const of: TypeNode[] = [];
    if (this.take('<')) {
      do of.push(this.type());
      while (this.take(','));
      this.expect('>');
    }
    if (transparent.has(name) && of.length === 1) return of[0]!;
    if ((name === 'Array' || name === 'ReadonlyArray') && of.length === 1) return {is: 'array', items: of[0]!, at};
    return {is: 'name', name, of, at};
  }

  /** Parses the members of an interface or an object type, with the braces. */
  body(): Body {
    this.expect('{');
    const properties: Property[] = [];
    let index: TypeNode | undefined;
    while (!this.take('}')) {
      const {comment} = this.token;
      if (this.is('readonly') && !this.is(':', 1) && !this.is('?', 1)) this.next();
      if (this.is('[')) index = this.#index();
      else properties.push({...this.#property(), doc: comment ? docOf(comment) : noDoc});
      while (this.take(';') || this.take(',')) continue;
      if (this.isEnd) this.fail('"}" was expected, not the end of the file');
    }
    return {properties, ...(index ? {index} : {})};
  }

  #index(): TypeNode {
    const {place} = this;
    this.expect('[');
    this.name();
    if (this.is('in')) this.fail('mapped types cannot become a schema: use Record or an index signature', place);
    this.expect(':');
    const key = this.type();
    if (key.is !== 'name' || key.name !== 'string') this.fail('the keys of an index signature must be strings', place);
    this.expect(']');
    this.expect(':');
    return this.type();
  }

  #property(): Omit<Property, 'doc'> {
    const at = this.place;
    const {type, text} = this.token;
    if (type !== 'name' && type !== 'string' && type !== 'number') this.fail(`a property was expected, not ${JSON.stringify(text)}`);
    this.next();
    const isOptional = this.take('?');
    if (this.is('(') || this.is('<')) this.fail(`${text} is a method: only properties can become a schema`, at);
    this.expect(':');
    return {name: text, isOptional, type: this.type(), at};
  }
}
