// JSON with whole numbers kept to the digit: beyond what a number holds exactly, those of 64 bits are bigints. All else
// is as `JSON` has it, and costs the same.

import {setProperty} from './set-property.js';

/** So many digits in a row may be more than a number holds exactly, where they stand alone. */
const manyDigits = 16;

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;

/**
 * Whether a text has so many digits in a row. Looks at one character of as many, and around it if it is a digit: each
 * body and record is searched.
 */
const hasManyDigits = (text: string): boolean => {
  for (let at = manyDigits - 1; at < text.length; at += manyDigits) {
    if (!isDigit(text.charCodeAt(at))) continue;
    let start = at;
    while (isDigit(text.charCodeAt(start - 1))) start--;
    let end = at + 1;
    while (isDigit(text.charCodeAt(end))) end++;
    if (end - start >= manyDigits) return true;
  }
  return false;
};

const manyAlone = /(?:^|[:,[])\s*-?\d{16,}\s*(?:$|[,\]}])/;
const token = /[^\s:,]/g;
const wholeDigits = /-?\d+(?![\d.eE])/y;
const scalar = /"[^"\\]*(?:\\.[^"\\]*)*"|[^\s,\]}]+/y;

/** Whether any value of this process has ever held a bigint. */
let hasBigints = false;

/** How deep values are read to the digit; what lies deeper is refused wherever it comes from. */
const deepest = 1200;

/** Returns a whole number of 64 bits: a number if that holds it exactly, else a bigint. What is larger is a number. */
export const wholeNumber = (digits: string): number | bigint => {
  const value = Number(digits);
  if (Number.isSafeInteger(value)) return value;
  const exact = BigInt(digits);
  if (BigInt.asIntN(64, exact) !== exact) return value;
  hasBigints = true;
  return exact;
};

/** Returns what stands for a literal of a text, which is neither a key nor in one. */
export type ReadLiteral = (literal: string, value: unknown) => unknown;

/** Reads a text that is known to be JSON. */
class ExactReader {
  readonly #text: string;
  readonly #literal: ReadLiteral | undefined;
  #at = 0;

  constructor(text: string, literal?: ReadLiteral) {
    this.#text = text;
    this.#literal = literal;
  }

  value(depth: number): unknown {
    if (depth > deepest) throw new RangeError('nested too deeply');
    const next = this.#peek();
    if (next === '{') return this.#object(depth);
    if (next === '[') return this.#array(depth);
    const start = this.#at;
    const value = this.#scalar();
    return this.#literal ? this.#literal(this.#text.slice(start, this.#at), value) : value;
  }

  /** The next character that is neither space nor a separator. */
  #peek(): string {
    token.lastIndex = this.#at;
    const found = token.exec(this.#text)!;
    this.#at = found.index;
    return found[0];
  }

  #scalar(): unknown {
    wholeDigits.lastIndex = this.#at;
    const digits = wholeDigits.exec(this.#text)?.[0];
    if (digits !== undefined) {
      this.#at += digits.length;
      return wholeNumber(digits);
    }
    scalar.lastIndex = this.#at;
    const [text] = scalar.exec(this.#text)!;
    this.#at += text.length;
    return JSON.parse(text) as unknown;
  }

  #object(depth: number): unknown {
    const object: Record<string, unknown> = {};
    for (this.#at++; this.#peek() !== '}';) {
      const key = this.#scalar() as string;
      setProperty(object, key, this.value(depth + 1));
    }
    this.#at++;
    return object;
  }

  #array(depth: number): unknown {
    const list: unknown[] = [];
    for (this.#at++; this.#peek() !== ']';) list.push(this.value(depth + 1));
    this.#at++;
    return list;
  }
}

/** Reads JSON. Throws `SyntaxError` for what is none. */
export const parseJson = (text: string): unknown => {
  const value = JSON.parse(text) as unknown;
  if (!hasManyDigits(text) || !manyAlone.test(text)) return value;
  try {
    return new ExactReader(text).value(0);
  } catch (error) {
    if (error instanceof RangeError) return value;
    throw error;
  }
};

/**
 * Reads a text that is known to be JSON, nested less deeply than `maxDepth` allows, with what `literal` returns for
 * each of its scalars.
 */
export const readLiterals = (text: string, literal: ReadLiteral): unknown => new ExactReader(text, literal).value(0);

const exactText = (value: unknown, indent: string, before: string): string => {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const inner = before + indent;
  const entries = Array.isArray(value)
    ? value.map(item => exactText(item, indent, inner))
    : Object.entries(value).flatMap(([key, item]) =>
        item === undefined ? [] : `${JSON.stringify(key)}:${indent && ' '}${exactText(item, indent, inner)}`,
      );
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  if (entries.length === 0) return open! + close!;
  return indent ? `${open}\n${entries.map(entry => inner + entry).join(',\n')}\n${before}${close}` : `${open}${entries.join(',')}${close}`;
};

/** Writes a value as JSON, whole numbers to the digit; indented by so many spaces. */
export const jsonText = (value: unknown, spaces = 0): string => {
  try {
    return spaces === 0 ? JSON.stringify(value) : JSON.stringify(value, undefined, spaces);
  } catch (error) {
    // It knows no bigints.
    if (!(error instanceof TypeError)) throw error;
    hasBigints = true;
    return exactText(value, ' '.repeat(spaces), '');
  }
};

const rounded = (value: unknown): unknown => {
  if (typeof value === 'bigint') return Number(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items = value.map(rounded);
    return items.every((item, index) => item === value[index]) ? value : Object.freeze(items);
  }
  const fields = Object.entries(value).map(([key, item]): [string, unknown, boolean] => {
    const other = rounded(item);
    return [key, other, other === item];
  });
  return fields.every(([, , isSame]) => isSame) ? value : Object.freeze(Object.fromEntries(fields));
};

/**
 * Returns the value with numbers in place of bigints, for code that expects plain JSON numbers; the value itself if it
 * has none.
 */
export const withNumbers = <T>(value: T): T => (hasBigints ? (rounded(value) as T) : value);
