import {docOf, noDoc} from '#src/codegen/doc.js';
import {Cursor} from './cursor.js';
import type {Body, Parameter, Place, Property, TypeNode} from './syntax.js';
import {templateParts} from './template.js';

const functions = 'functions cannot become a schema';

/** Parses types. `parse.ts` adds the statements around them. */
export class TypeParser extends Cursor {
  type(): TypeNode {
    const check = this.#union();
    if (!this.is('extends') || this.beginsLine) return check;
    this.next();
    const base = this.#union();
    this.expect('?');
    const yes = this.type();
    this.expect(':');
    return {is: 'conditional', check, base, yes, no: this.type(), at: check.at};
  }

  #union(): TypeNode {
    const at = this.place;
    this.take('|');
    const members = [this.#intersection()];
    while (this.take('|')) members.push(this.#intersection());
    return members.length === 1 ? members[0]! : {is: 'union', members, at};
  }

  #intersection(): TypeNode {
    const at = this.place;
    this.take('&');
    const members = [this.#prefixed()];
    while (this.take('&')) members.push(this.#prefixed());
    return members.length === 1 ? members[0]! : {is: 'intersection', members, at};
  }

  #prefixed(): TypeNode {
    const at = this.place;
    if (this.isOperator('readonly')) {
      this.next();
      return this.#prefixed();
    }
    if (this.isOperator('keyof')) {
      this.next();
      return {is: 'keyof', type: this.#prefixed(), at};
    }
    if (this.isOperator('unique')) {
      this.next();
      this.#prefixed();
      return {is: 'none', reason: 'unique symbols cannot become a schema: leave them out of the kind', at};
    }
    if (this.isOperator('infer')) {
      this.next();
      const name = this.name();
      this.#constraint();
      return {is: 'infer', name, at};
    }
    return this.#postfix();
  }

  /** Whether the word is an operator of types, and not the name of one. */
  isOperator(word: string): boolean {
    const next = this.ahead(1);
    return this.is(word) && next !== undefined && (next.type !== 'sign' || '({[`'.includes(next.text)) && next.type !== 'end';
  }

  /** Reads `extends X` behind `infer`, unless it begins a conditional type. */
  #constraint(): void {
    const {position} = this;
    if (!this.take('extends')) return;
    this.#union();
    if (this.is('?')) this.return(position);
  }

  #postfix(): TypeNode {
    let type = this.#primary();
    while (this.is('[') && !this.beginsLine) {
      const at = this.place;
      this.next();
      if (this.take(']')) {
        type = {is: 'array', items: type, at};
        continue;
      }
      type = {is: 'index', type, key: this.type(), at: type.at};
      this.expect(']');
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
    if (type === 'number' || (this.is('-') && this.ahead(1)?.type === 'number')) {
      const sign = this.take('-') ? -1 : 1;
      return {is: 'literal', value: sign * Number(this.next().text.replaceAll('_', '')), at};
    }
    if (this.is('<') || (this.is('(') && this.isAfterGroup('=>')) || this.#isConstructor()) return this.#function(at);
    if (this.take('(')) {
      const inner = this.type();
      this.expect(')');
      return inner;
    }
    if (this.is('{')) return this.#isMapped() ? this.#mapped(at) : {is: 'object', body: this.body(), at};
    if (this.is('[')) return this.#tuple(at);
    if (type === 'other' && text.startsWith('`')) {
      this.next();
      return templateParts(text, at, inner => new TypeParser(this.file, inner));
    }
    if (type !== 'name') this.fail(`a type was expected, not ${JSON.stringify(text)}`);
    if (this.isOperator('typeof')) return this.#typeof(at);
    if (this.is('import') && this.is('(', 1)) return this.#import(at);
    return this.#reference(at);
  }

  #isConstructor(): boolean {
    const ahead = this.is('abstract') ? 1 : 0;
    return this.is('new', ahead) && (this.is('(', ahead + 1) || this.is('<', ahead + 1));
  }

  #function(at: Place): TypeNode {
    this.take('abstract');
    this.take('new');
    this.skipGroup();
    if (this.is('(')) this.skipGroup();
    if (this.take('=>')) this.#returned();
    return {is: 'none', reason: functions, at};
  }

  /** Reads the type that a function returns, which can be an assertion. */
  #returned(): void {
    if (this.is('asserts') && this.isName(1)) this.next();
    this.type();
    if (this.take('is')) this.type();
  }

  #tuple(at: Place): TypeNode {
    this.expect('[');
    const members: TypeNode[] = [];
    while (!this.take(']')) {
      if (this.isEnd) this.fail('"]" was expected, not the end of the file');
      this.take('...');
      if (this.isName() && (this.is(':', 1) || (this.is('?', 1) && this.is(':', 2)))) {
        this.next();
        this.take('?');
        this.expect(':');
      }
      members.push(this.type());
      this.take('?');
      this.take(',');
    }
    return {is: 'tuple', members, at};
  }

  #typeof(at: Place): TypeNode {
    this.next();
    if (this.is('import')) return this.#import(at);
    const name = this.name();
    while (this.take('.')) this.next();
    if (this.is('<') && !this.beginsLine) this.skipGroup();
    return {is: 'value', name, at};
  }

  #import(at: Place): TypeNode {
    this.next();
    this.skipGroup();
    while (this.take('.')) this.next();
    if (this.is('<')) this.skipGroup();
    return {is: 'none', reason: 'types of import(...) cannot become a schema: import the type by its name', at};
  }

  #reference(at: Place): TypeNode {
    const name = this.name();
    if (name === 'null') return {is: 'literal', value: null, at};
    if (name === 'true' || name === 'false') return {is: 'literal', value: name === 'true', at};
    const path = [name];
    while (this.take('.')) path.push(this.next().text);
    const of = this.arguments();
    const last = path.at(-1)!;
    if ((last === 'Array' || last === 'ReadonlyArray') && path.length === 1 && of.length === 1) return {is: 'array', items: of[0]!, at};
    return {is: 'name', name: last, of, ...(path.length > 1 ? {qualifier: path.slice(0, -1).join('.')} : {}), at};
  }

  /** Reads the arguments of a generic type; none if there are none. */
  arguments(): readonly TypeNode[] {
    const of: TypeNode[] = [];
    if (!this.is('<') || this.beginsLine) return of;
    this.next();
    do of.push(this.type());
    while (this.take(',') && !this.is('>'));
    this.expect('>');
    return of;
  }

  /** Reads the parameters of a generic type; none if there are none. */
  parameters(): readonly Parameter[] {
    const parameters: Parameter[] = [];
    if (!this.take('<')) return parameters;
    while (!this.take('>')) {
      for (const word of ['const', 'in', 'out']) if (this.is(word) && this.isName(1)) this.next();
      const name = this.name();
      if (this.take('extends')) this.type();
      parameters.push({name, ...(this.take('=') ? {default: this.type()} : {})});
      this.take(',');
    }
    return parameters;
  }

  #isMapped(): boolean {
    let ahead = this.is('+', 1) || this.is('-', 1) ? 2 : 1;
    if (this.is('readonly', ahead)) ahead++;
    return this.is('[', ahead) && this.isName(ahead + 1) && this.is('in', ahead + 2);
  }

  #mapped(at: Place): TypeNode {
    this.expect('{');
    while (!this.is('[')) this.next();
    this.next();
    const parameter = this.name();
    this.expect('in');
    const keys = this.type();
    const as = this.take('as') ? {as: this.type()} : {};
    this.expect(']');
    const sign = this.take('-') ? 'removed' : 'added';
    this.take('+');
    const optional = this.take('?') ? sign : 'kept';
    const type: TypeNode = this.take(':') ? this.type() : {is: 'name', name: 'any', of: [], at};
    while (this.take(';') || this.take(',')) continue;
    this.expect('}');
    return {is: 'mapped', parameter, keys, ...as, optional, type, at};
  }

  /** Parses the members of an interface or an object type, with the braces. */
  body(): Body {
    this.expect('{');
    const properties: Property[] = [];
    let index: TypeNode | undefined;
    while (!this.take('}')) {
      if (this.isEnd) this.fail('"}" was expected, not the end of the file');
      const {comment} = this.token;
      for (const word of ['readonly', 'get', 'set']) if (this.#isModifier(word)) this.next();
      if (this.is('[') && this.isName(1) && this.is(':', 2)) index = this.#index();
      else properties.push({...this.#property(), doc: comment ? docOf(comment) : noDoc});
      while (this.take(';') || this.take(',')) continue;
    }
    return {properties, ...(index ? {index} : {})};
  }

  #isModifier(word: string): boolean {
    return this.is(word) && !['?', ':', '(', '<', ';', ',', '}'].some(sign => this.is(sign, 1));
  }

  #index(): TypeNode {
    const at = this.place;
    this.expect('[');
    this.name();
    this.expect(':');
    const key = this.type();
    this.expect(']');
    const type: TypeNode = this.take(':') ? this.type() : {is: 'name', name: 'any', of: [], at};
    const isText = key.is === 'name' && (key.name === 'string' || key.name === 'number') && key.of.length === 0;
    return isText ? type : {is: 'none', reason: 'the keys of an index signature must be strings', at};
  }

  #property(): Omit<Property, 'doc'> {
    const at = this.place;
    const none = (name: string, reason: string): Omit<Property, 'doc'> => {
      this.#signature();
      return {name, isOptional: true, type: {is: 'none', reason, at}, at};
    };
    if (this.is('(') || this.is('<') || this.#isConstructor()) return none('()', functions);
    const {type, text} = this.token;
    if (this.is('[')) {
      const [key, end] = [this.ahead(1)!, this.is(']', 2)];
      this.skipGroup();
      if (key.type !== 'string' || !end) {
        this.take('?');
        return none('[]', 'names in brackets cannot become a schema: leave them out of the kind');
      }
      return this.#typed(key.text, at, none);
    }
    if (type !== 'name' && type !== 'string' && type !== 'number') this.fail(`a property was expected, not ${JSON.stringify(text)}`);
    this.next();
    return this.#typed(text, at, none);
  }

  #typed(name: string, at: Place, none: (name: string, reason: string) => Omit<Property, 'doc'>): Omit<Property, 'doc'> {
    const isOptional = this.take('?');
    if (this.is('(') || this.is('<')) {
      const method = none(name, `${name} is a method: only properties can become a schema`);
      return {...method, isOptional};
    }
    return {name, isOptional, type: this.take(':') ? this.type() : {is: 'name', name: 'any', of: [], at}, at};
  }

  /** Reads the rest of a method, or of a property whose name is not known. */
  #signature(): void {
    this.take('abstract');
    this.take('new');
    if (this.is('<')) this.skipGroup();
    if (this.is('(')) this.skipGroup();
    if (this.take(':')) this.#returned();
  }
}
