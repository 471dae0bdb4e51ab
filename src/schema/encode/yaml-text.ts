import {formatDouble} from '#src/base/text/double.js';
import {isPlainObject, type PlainObject} from '#src/schema/decode/plain.js';
import {yamlScalar, type ScalarPlace} from './yaml-scalar.js';

/**
 * Formats an object as the original's YAML: keys sorted, lists not indented, long lines folded, ambiguous scalars
 * quoted.
 */
export const yamlText = (object: unknown): string => {
  const lines: string[] = [];
  if (isPlainObject(object) && Object.keys(object).length > 0) writeMap(object, '', '', lines);
  else if (Array.isArray(object) && object.length > 0) writeList(object, '', '', lines);
  else lines.push(leaf(object));
  return `${lines.join('\n')}\n`;
};

/** `first` precedes the first key: the dash of a list item, or the indent. */
const writeMap = (map: PlainObject, first: string, indent: string, lines: string[]): void => {
  let before = first;
  for (const key of Object.keys(map).sort(inOrder)) {
    const value = map[key];
    if (value === undefined) continue;
    const head = `${before}${keyText(key, indent)}:`;
    before = indent;
    if (Array.isArray(value) && value.length > 0) {
      lines.push(head);
      writeList(value, indent, indent, lines);
    } else if (isPlainObject(value) && Object.keys(value).length > 0) {
      lines.push(head);
      writeMap(value, `${indent}  `, `${indent}  `, lines);
    } else lines.push(`${head} ${leaf(value, {column: head.length + 1, indent: `${indent}  `})}`);
  }
};

/** Longer keys need the explicit key indicator. */
const longestKey = 1000;

/** Formats a key on one line. */
const keyText = (key: string, indent: string): string => {
  const line = yamlScalar(key);
  return line.length > longestKey ? `? ${line}\n${indent}` : line;
};

const writeList = (list: readonly unknown[], first: string, indent: string, lines: string[]): void => {
  const within = `${indent}  `;
  let before = first;
  for (const item of list) {
    const head = `${before}- `;
    before = indent;
    if (Array.isArray(item) && item.length > 0) writeList(item, head, within, lines);
    else if (isPlainObject(item) && Object.keys(item).length > 0) writeMap(item, head, within, lines);
    else lines.push(`${head}${leaf(item, {column: head.length, indent: within})}`);
  }
};

/** Formats a scalar, or an empty list or object. */
const leaf = (value: unknown, place?: ScalarPlace): string => {
  if (typeof value === 'string') return yamlScalar(value, place);
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'number') return numberText(value);
  return Array.isArray(value) ? '[]' : isPlainObject(value) ? '{}' : String(value ?? null);
};

/** Formats a number. A whole one has no exponent if 64 bits hold it. */
const numberText = (value: number): string =>
  Number.isInteger(value) && value > -(2 ** 63) && value < 2 ** 64 ? String(value) : formatDouble(value);

const letter = /\p{L}/u;
const digits = /\d*/y;

const numberAt = (text: string, at: number): string => {
  digits.lastIndex = at;
  return digits.exec(text)![0];
};

/** Reports whether a nonzero digit precedes, so that a zero is within a number. */
const isWithinNumber = (text: string, at: number): boolean => {
  let before = at - 1;
  while (text[before] === '0') before--;
  return before >= 0 && text[before]! >= '1' && text[before]! <= '9';
};

/** Compares names in natural order: numbers by value, symbols before letters. */
const inOrder = (one: string, other: string): number => {
  let at = 0;
  while (at < one.length && at < other.length && one[at] === other[at]) at++;
  if (at === one.length || at === other.length) return one.length - other.length;
  const [a, b] = [one[at]!, other[at]!];
  const isLetter = [letter.test(a), letter.test(b)];
  if (isLetter[0] && isLetter[1]) return a < b ? -1 : 1;
  if (isLetter[0] || isLetter[1]) return isLetter[1] ? -1 : 1;
  const lead = (a === '0' || b === '0') && isWithinNumber(one, at) ? '1' : '';
  const [an, bn] = [numberAt(one, at), numberAt(other, at)];
  const difference = BigInt(lead + an) - BigInt(lead + bn);
  return difference === 0n ? an.length - bn.length || (a < b ? -1 : 1) : difference < 0n ? -1 : 1;
};
