// Renders the templates of charts that plat writes: the part of Helm's language that they use, and no more.

import {parseBody} from '#src/schema/decode/document.js';
import {yamlText} from '#src/schema/encode/yaml-text.js';

type Fields = Readonly<Record<string, unknown>>;

/** Text, or what stands between braces. */
type Token = {readonly text: string} | {readonly action: string};

/** Splits a template; a dash within the braces takes the white space beside them. */
const tokensOf = (template: string): Token[] => {
  const parts = template.split(/(\{\{-? (?:"\{\{"|[^{}]*?) -?\}\})/);
  return parts.map((part, at) => {
    if (at % 2 === 1) return {action: part.replace(/^\{\{-? /, '').replace(/ -?\}\}$/, '')};
    const before = parts[at - 1]?.endsWith('-}}') ? part.trimStart() : part;
    return {text: parts[at + 1]?.startsWith('{{-') ? before.trimEnd() : before};
  });
};

const isTrue = (value: unknown): boolean =>
  Array.isArray(value) ? value.length > 0 : typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : Boolean(value);

/** The templates of a chart with the values of a release. */
export class ChartRenderer {
  readonly #named = new Map<string, Token[]>();
  readonly #root: Fields;

  constructor(root: Fields) {
    this.#root = root;
  }

  /** Returns the text of a template; those that it defines are known from then on. */
  render(template: string): string {
    return this.#block(tokensOf(template), this.#root);
  }

  /** Renders tokens up to the end of their block. */
  #block(tokens: Token[], scope: unknown): string {
    let result = '';
    for (let token = tokens.shift(); token; token = tokens.shift()) {
      if ('text' in token) result += token.text;
      else if (token.action === 'end' || token.action === 'else') {
        tokens.unshift(token);
        return result;
      } else result += this.#action(token.action, tokens, scope);
    }
    return result;
  }

  #action(action: string, tokens: Token[], scope: unknown): string {
    const [word, ...rest] = action.split(' ');
    const argument = rest.join(' ');
    if (word === 'define') {
      this.#named.set(JSON.parse(argument) as string, this.#inner(tokens));
      return '';
    }
    if (word !== 'if' && word !== 'with') return String(this.#pipeline(action, scope));
    const value = this.#pipeline(argument, scope);
    const inner = word === 'with' ? value : scope;
    const [held, other] = this.#branches(tokens);
    if (isTrue(value)) return this.#block(held, inner);
    return other ? this.#block(other, scope) : '';
  }

  /** Takes the tokens up to the end that belongs to a block that has begun. */
  #inner(tokens: Token[]): Token[] {
    const inner: Token[] = [];
    for (let depth = 1; ;) {
      const token = tokens.shift()!;
      if ('action' in token && /^(if|with|define) /.test(token.action)) depth++;
      if ('action' in token && token.action === 'end' && --depth === 0) return inner;
      inner.push(token);
    }
  }

  #branches(tokens: Token[]): readonly [Token[], Token[] | undefined] {
    const inner = this.#inner(tokens);
    let depth = 0;
    const at = inner.findIndex(token => {
      if (!('action' in token)) return false;
      if (/^(if|with) /.test(token.action)) depth++;
      if (token.action === 'end') depth--;
      return token.action === 'else' && depth === 0;
    });
    return at < 0 ? [inner, undefined] : [inner.slice(0, at), inner.slice(at + 1)];
  }

  #pipeline(text: string, scope: unknown): unknown {
    let value: unknown;
    for (const [at, stage] of text.split(' | ').entries()) {
      const [name = '', ...args] = stage.match(/"[^"]*"|\S+/g) ?? [];
      value = this.#call(name, [...args.map(each => this.#operand(each, scope)), ...(at > 0 ? [value] : [])], scope);
    }
    return value;
  }

  #call(name: string, args: readonly unknown[], scope: unknown): unknown {
    const [one, other] = args;
    if (name === 'include') return this.#block([...this.#named.get(one as string)!], other);
    if (name === 'toYaml') return yamlText(one).trimEnd();
    if (name === 'nindent') return `\n${String(other).replaceAll(/^/gm, ' '.repeat(one as number))}`;
    if (name === 'quote') return JSON.stringify(one);
    if (name === 'default') return isTrue(other) ? other : one;
    if (name === 'not') return !isTrue(one);
    if (name === 'and') return args.every(isTrue);
    if (args.length > 0) throw new Error(`the function ${name} is not known`);
    return this.#operand(name, scope);
  }

  #operand(text: string, scope: unknown): unknown {
    if (text.startsWith('"')) return JSON.parse(text);
    if (/^\d+$/.test(text)) return Number(text);
    if (text === '.') return scope;
    const names = text.slice(1).split('.');
    return names.reduce<unknown>((value, name) => (value as Fields)[name], scope);
  }
}

/** Returns an object of YAML. */
export const parsedYaml = (text: string): Fields => parseBody(text, 'yaml').value as Fields;
