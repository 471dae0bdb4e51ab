import {jsonText, parseJson, readLiterals} from '#src/base/json/json.js';
import {setProperty} from '#src/base/json/set-property.js';
import {isPlainObject, wellFormed, type PlainObject} from '#src/schema/decode/plain.js';

// The original applies a patch to texts: a value keeps the literal that it was sent with (`1.0`, `1e400`, `"\\u003C"`)
// until the result is decoded. A literal that is not how its value is written again is a symbol here, whose description
// is its text; every other scalar is its own literal.

/**
 * Matches what may be the literal of a number that is written differently again. A match within a string only costs a
 * second pass.
 */
const unusualNumber = /[:,[]\s*(?:-?\d+[.eE]|-0)|\d{16}/;

/** Matches what may be the literal of a string that is written differently again. */
const unusualString = /[\\<>&\u2028\u2029]/;

const escaped = /[<>&\u2028\u2029]/g;

/** Escapes a JSON text as the original writes it. */
export const htmlEscaped = (text: string): string =>
  text.replace(escaped, letter => String.raw`\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** The literals of one patch: equal texts are the same symbol. */
export class Literals {
  readonly #symbols = new Map<string, symbol>();

  /** Returns the literal of a text: a symbol unless it is how the value is written. */
  of(text: string, value: unknown): unknown {
    if (text === (typeof value === 'string' ? htmlEscaped(JSON.stringify(value)) : jsonText(value))) return value;
    let symbol = this.#symbols.get(text);
    if (!symbol) this.#symbols.set(text, (symbol = Symbol(text)));
    return symbol;
  }

  /** Returns a value as it is after it was written anew: with its strings escaped as the original does. */
  rewritten(value: unknown): unknown {
    return mapped(value, ({description: text = ''}) => this.of(htmlEscaped(text), valueOf(text)));
  }
}

const valueOf = (text: string): unknown => wellFormed(parseJson(text), text);

/** Returns the value with other values for its symbols; parts without symbols are shared. */
const mapped = (value: unknown, replaced: (literal: symbol, path: readonly string[]) => unknown, path: readonly string[] = []): unknown => {
  if (typeof value === 'symbol') return replaced(value, path);
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  if (Array.isArray(value)) {
    const items = value.map(item => mapped(item, replaced, path));
    return items.every((item, index) => item === value[index]) ? value : items;
  }
  const copy: PlainObject = {};
  let isSame = true;
  for (const [key, item] of Object.entries(value)) {
    const other = mapped(item, replaced, [...path, key]);
    isSame &&= other === item;
    setProperty(copy, key, other);
  }
  return isSame ? value : copy;
};

/**
 * Reads a JSON text that was parsed to `value` with literals in it; undefined if it has none. `strings` tells whether
 * those of strings matter.
 */
export const literalsIn = (text: string, {strings}: {strings: boolean}): {value: unknown; literals: Literals} | undefined => {
  if (!unusualNumber.test(text) && !(strings && unusualString.test(text))) return undefined;
  const literals = new Literals();
  const value = readLiterals(text, (literal, scalar) => (strings || typeof scalar !== 'string' ? literals.of(literal, scalar) : scalar));
  return {value, literals};
};

/** Returns a value with what its literals stand for, and the literals of numbers by field path. */
export const settleLiterals = (value: unknown): {value: unknown; numbers: ReadonlyMap<string, string>} => {
  const numbers = new Map<string, string>();
  const result = mapped(value, ({description: text = ''}, path) => {
    const at = path.join('.');
    if (!text.startsWith('"') && !numbers.has(at)) numbers.set(at, text);
    return valueOf(text);
  });
  return {value: result, numbers};
};

/** Writes a value with literals as JSON. */
export const literalText = (value: unknown): string => {
  if (typeof value === 'symbol') return value.description ?? '';
  if (Array.isArray(value)) return `[${value.map(literalText).join(',')}]`;
  if (!isPlainObject(value)) return jsonText(value);
  const members = Object.entries(value).filter(([, item]) => item !== undefined);
  return `{${members.map(([key, item]) => `${JSON.stringify(key)}:${literalText(item)}`).join(',')}}`;
};
