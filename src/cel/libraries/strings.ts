import {reading, wholeTraversal} from '#src/cel/values/costs.js';
import {declare, member, overload, type CostOf, type FunctionDeclaration, type Library} from '#src/cel/check/declarations.js';
import {NativeList} from '#src/cel/values/native.js';
import {dyn, int, listOf, string} from '#src/cel/values/types.js';
import {characters, Failure, sizeOf, type ListValue, type Value} from '#src/cel/values/values.js';
import {formatString} from './string-format.js';

const outOfRange = (index: bigint): Failure => new Failure(`index out of range: ${index}`);

/** Returns a substring by character positions. */
const part = (text: string, start: number, end?: number): string =>
  characters(text) === text.length ? text.slice(start, end) : [...text].slice(start, end).join('');

const charAt = (text: string, index: bigint): Value =>
  index < 0n || index > BigInt(characters(text)) ? outOfRange(index) : part(text, Number(index), Number(index) + 1);

/** Returns the UTF-16 offset of a character position. */
const unitOf = (text: string, character: number): number => part(text, 0, character).length;

const indexOf = (text: string, sought: string, from = 0n): Value => {
  if (sought === '') return from;
  if (from < 0n) return outOfRange(from);
  if (from >= BigInt(characters(text))) return -1n;
  const found = text.indexOf(sought, unitOf(text, Number(from)));
  return found === -1 ? -1n : BigInt(characters(text.slice(0, found)));
};

const lastIndexOf = (text: string, sought: string, from?: bigint): Value => {
  const size = BigInt(characters(text));
  if (sought === '') return from ?? size;
  if (from !== undefined && from < 0n) return outOfRange(from);
  if (from !== undefined && from >= size) return -1n;
  const found = text.lastIndexOf(sought, from === undefined ? undefined : unitOf(text, Number(from)));
  return found === -1 ? -1n : BigInt(characters(text.slice(0, found)));
};

/**
 * Replaces up to `limit` occurrences, or all if the limit is negative. An empty text occurs before every character and
 * at the end.
 */
const replace = (text: string, sought: string, put: string, limit = -1n): string => {
  if (limit < 0n)
    return sought === '' ? [put, ...[...text].flatMap(character => [character, put])].join('') : text.replaceAll(sought, () => put);
  let out = '';
  let at = 0;
  for (let count = 0n; count < limit; count += 1n) {
    if (sought === '') {
      out += put;
      if (at >= text.length) return out;
      const character = String.fromCodePoint(text.codePointAt(at)!);
      out += character;
      at += character.length;
    } else {
      const found = text.indexOf(sought, at);
      if (found === -1) break;
      out += text.slice(at, found) + put;
      at = found + sought.length;
    }
  }
  return out + text.slice(at);
};

/**
 * Splits at separators into at most `limit` parts, the last of which is the remainder. A negative limit means no limit.
 */
const split = (text: string, separator: string, limit = -1n): Value => {
  if (limit === 0n) return new NativeList([]);
  const parts = separator === '' ? [...text] : text.split(separator);
  if (limit < 0n || BigInt(parts.length) <= limit) return new NativeList(parts);
  const kept = parts.slice(0, Number(limit) - 1);
  return new NativeList([...kept, parts.slice(kept.length).join(separator)]);
};

const substring = (text: string, start: bigint, end?: bigint): Value => {
  const size = BigInt(characters(text));
  if (end !== undefined && start > end) return new Failure(`invalid substring range. start: ${start}, end: ${end}`);
  if (start < 0n || start > size) return outOfRange(start);
  if (end !== undefined && (end < 0n || end > size)) return outOfRange(end);
  return part(text, Number(start), end === undefined ? undefined : Number(end));
};

const blank = String.raw`[\t-\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]`;
const leading = new RegExp(`^${blank}+`);
const isBlank = new RegExp(blank);

const trim = (text: string): string => {
  let end = text.length;
  while (end > 0 && isBlank.test(text[end - 1]!)) end -= 1;
  return text.slice(0, end).replace(leading, '');
};

const join = (texts: ListValue, separator = ''): Value => {
  const parts: string[] = [];
  for (const text of texts) {
    if (typeof text !== 'string') return new Failure(`join: invalid input: ${String(text)}`);
    parts.push(text);
  }
  return parts.join(separator);
};

const escapes: Readonly<Record<string, string>> = {
  '\u0007': String.raw`\a`,
  '\b': String.raw`\b`,
  '\f': String.raw`\f`,
  '\n': String.raw`\n`,
  '\r': String.raw`\r`,
  '\t': String.raw`\t`,
  '\v': String.raw`\v`,
  '\\': String.raw`\\`,
  '"': String.raw`\"`,
};

const quote = (text: string): string => `"${[...Buffer.from(text).toString()].map(character => escapes[character] ?? character).join('')}"`;

/** Declares a function whose cost does not depend on the overload. */
const withCost = (cost: CostOf, declaration: FunctionDeclaration): FunctionDeclaration => ({...declaration, cost});

const once = reading();
const twice = reading(2);
const through: CostOf = ([holder]) => wholeTraversal(holder!);

const baseFunctions: readonly FunctionDeclaration[] = [
  declare('charAt', member('string_char_at_int', [string, int], string, charAt)),
  withCost(
    through,
    declare(
      'indexOf',
      member('string_index_of_string', [string, string], int, (text: string, sought: string) => indexOf(text, sought)),
      member('string_index_of_string_int', [string, string, int], int, indexOf),
    ),
  ),
  withCost(
    through,
    declare(
      'lastIndexOf',
      member('string_last_index_of_string', [string, string], int, (text: string, sought: string) => lastIndexOf(text, sought)),
      member('string_last_index_of_string_int', [string, string, int], int, lastIndexOf),
    ),
  ),
  withCost(
    once,
    declare(
      'lowerAscii',
      member('string_lower_ascii', [string], string, (text: string) => text.replaceAll(/[A-Z]+/g, letters => letters.toLowerCase())),
    ),
  ),
  withCost(
    once,
    declare(
      'upperAscii',
      member('string_upper_ascii', [string], string, (text: string) => text.replaceAll(/[a-z]+/g, letters => letters.toUpperCase())),
    ),
  ),
  withCost(
    twice,
    declare(
      'replace',
      member('string_replace_string_string', [string, string, string], string, (text: string, sought: string, put: string) =>
        replace(text, sought, put),
      ),
      member('string_replace_string_string_int', [string, string, string, int], string, replace),
    ),
  ),
  withCost(
    twice,
    declare(
      'split',
      member('string_split_string', [string, string], listOf(string), (text: string, separator: string) => split(text, separator)),
      member('string_split_string_int', [string, string, int], listOf(string), split),
    ),
  ),
  withCost(
    once,
    declare(
      'substring',
      member('string_substring_int', [string, int], string, (text: string, start: bigint) => substring(text, start)),
      member('string_substring_int_int', [string, int, int], string, substring),
    ),
  ),
  withCost(once, declare('trim', member('string_trim', [string], string, trim))),
  withCost(
    (_, joined) => Math.ceil(sizeOf(joined) * 0.2),
    declare(
      'join',
      member('list_join', [listOf(string)], string, (texts: ListValue) => join(texts)),
      member('list_join_string', [listOf(string), string], string, join),
    ),
  ),
];

const versionOneFunctions: readonly FunctionDeclaration[] = [
  declare('format', member('string_format', [string, listOf(dyn)], string, formatString, once)),
  declare('strings.quote', overload('strings_quote', [string], string, quote, once)),
];

const versionThreeFunctions: readonly FunctionDeclaration[] = [
  declare(
    'reverse',
    member('string_reverse', [string], string, (text: string) => [...text].toReversed().join('')),
  ),
];

/** The string library in the given version. */
export const strings = (version: 0 | 2 | 3): Library => ({
  name: 'strings',
  functions: [...baseFunctions, ...(version > 0 ? versionOneFunctions : []), ...(version > 2 ? versionThreeFunctions : [])],
});
