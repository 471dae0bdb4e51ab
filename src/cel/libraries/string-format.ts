import {isUtf8} from 'node:buffer';
import {formatDouble} from '#src/base/text/double.js';
import {formatCelDuration, formatTimestamp} from '#src/cel/values/time.js';
import {
  Bytes,
  Duration,
  Failure,
  ListValue,
  MapValue,
  Timestamp,
  typeOfValue,
  TypeValue,
  Uint,
  type Value,
} from '#src/cel/values/values.js';

/** Thrown when a string cannot be formatted. */
export class FormatError extends Error {}

/** The error of each clause for arguments of an unsupported type. */
const clauseErrors: Readonly<Record<string, string>> = {
  s: 'string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps',
  d: 'decimal clause can only be used on integers',
  f: 'fixed-point clause can only be used on doubles',
  e: 'scientific clause can only be used on doubles',
  b: 'only integers and bools can be formatted as binary',
  x: 'only integers, byte buffers, and strings can be formatted as hex',
  X: 'only integers, byte buffers, and strings can be formatted as hex',
  o: 'octal clause can only be used on integers',
};

export const clauseErrorMessage = (letter: string, type: string): string =>
  `error during formatting: ${clauseErrors[letter]}, was given ${type}`;

const clauseError = (letter: string, value: Value): never => {
  throw new FormatError(clauseErrorMessage(letter, typeOfValue(value).name));
};

const integerOf = (value: Value): bigint | undefined =>
  typeof value === 'bigint' ? value : value instanceof Uint ? value.value : undefined;

const quoted = (text: string): string => JSON.stringify(text);

/** Formats a double within a list or a map. */
const formatNestedDouble = (value: number): string =>
  Number.isFinite(value) ? value.toFixed(6) : quoted(Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf');

/** Formats a value within a list or a map. */
const formatNested = (value: Value): string => {
  if (typeof value === 'string') return quoted(value);
  if (typeof value === 'number') return formatNestedDouble(value);
  if (value instanceof Bytes) return `b${quoted(Buffer.from(value.data).toString())}`;
  if (value instanceof Timestamp) return `timestamp(${quoted(formatTimestamp(value))})`;
  if (value instanceof Duration) return `duration(${quoted(formatCelDuration(value))})`;
  return formatValue(value);
};

const textOf = ({data}: Bytes): string => {
  if (!isUtf8(data))
    throw new FormatError(
      'error during formatting: could not convert argument "invalid UTF-8 in bytes, cannot convert to string" to string',
    );
  return Buffer.from(data).toString();
};

const formatValue = (value: Value): string => {
  const integer = integerOf(value);
  if (integer !== undefined) return String(integer);
  if (value === null) return 'null';
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'number') return formatDouble(value);
  if (value instanceof Bytes) return textOf(value);
  if (value instanceof Timestamp) return formatTimestamp(value);
  if (value instanceof Duration) return formatCelDuration(value);
  if (value instanceof TypeValue) return value.type.name;
  if (value instanceof ListValue) return `[${[...value].map(formatNested).join(', ')}]`;
  if (value instanceof MapValue) {
    const entries = [...value.keys()].map(key => [formatNested(key), formatNested(value.find(key) ?? null)] as const);
    return `{${entries
      .toSorted(([left], [right]) => (left < right ? -1 : 1))
      .map(([key, entry]) => `${key}:${entry}`)
      .join(', ')}}`;
  }
  return clauseError('s', value);
};

const special: Readonly<Record<string, number>> = {
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  '-Infinity': Number.NEGATIVE_INFINITY,
};

const doubleOf = (value: Value, letter: string): number => {
  if (typeof value === 'number') return value;
  const named = typeof value === 'string' ? special[value] : undefined;
  return named ?? clauseError(letter, value);
};

const infinite = (value: number): string => (Number.isNaN(value) ? 'NaN' : value > 0 ? '∞' : '-∞');

const grouped = (text: string): string =>
  text.replace(/^(-?)(\d+)/, (_, sign: string, digits: string) => sign + digits.replaceAll(/\B(?=(?:\d{3})+$)/g, ','));

/** Rounds to `precision` fraction digits, ties to even. */
const rounded = (number: number, precision: number): string => {
  const text = number.toFixed(precision);
  const isTie = Math.abs((number * 2 ** (precision + 1)) % 2) === 1;
  const digits = text.replaceAll(/[-.]/g, '');
  if (!isTie || BigInt(digits) % 2n === 0n) return text;
  const nearer = (BigInt(digits) - 1n).toString().padStart(digits.length, '0');
  const sign = number < 0 ? '-' : '';
  return precision === 0 ? sign + nearer : `${sign}${nearer.slice(0, -precision)}.${nearer.slice(-precision)}`;
};

const fixed = (value: Value, precision: number): string => {
  const number = doubleOf(value, 'f');
  if (!Number.isFinite(number)) return infinite(number);
  const text =
    Math.abs(number) < 1e21
      ? rounded(number, Math.min(precision, 100))
      : `${BigInt(number)}${precision > 0 ? `.${'0'.repeat(precision)}` : ''}`;
  return grouped(text);
};

const scientific = (value: Value, precision: number): string => {
  const number = doubleOf(value, 'e');
  if (!Number.isFinite(number)) return infinite(number);
  const [digits = '', exponent = '0'] = number.toExponential(Math.min(precision, 100)).split('e');
  const power = Number(exponent);
  return `${digits}×10${[...`${power < 0 ? '-' : ''}${String(Math.abs(power)).padStart(2, '0')}`].map(digit => superscripts[digit]).join('')}`;
};

const superscripts: Readonly<Record<string, string>> = {
  '-': '⁻',
  0: '⁰',
  1: '¹',
  2: '²',
  3: '³',
  4: '⁴',
  5: '⁵',
  6: '⁶',
  7: '⁷',
  8: '⁸',
  9: '⁹',
};

const inBase = (value: Value, base: number, letter: string): string => integerOf(value)?.toString(base) ?? clauseError(letter, value);

const hexadecimal = (value: Value): string => {
  if (typeof value === 'string') return Buffer.from(value).toString('hex');
  if (value instanceof Bytes) return Buffer.from(value.data).toString('hex');
  return inBase(value, 16, 'x');
};

const defaultPrecision = 6;

const formatClause = (letter: string, value: Value, precision: number): string => {
  switch (letter) {
    case 's':
      return formatValue(value);
    case 'd':
      return inBase(value, 10, 'd');
    case 'f':
      return fixed(value, precision);
    case 'e':
      return scientific(value, precision);
    case 'b':
      return typeof value === 'boolean' ? (value ? '1' : '0') : inBase(value, 2, 'b');
    case 'x':
      return hexadecimal(value);
    case 'o':
      return inBase(value, 8, 'o');
    default:
      return hexadecimal(value).toUpperCase();
  }
};

/** A part of a format template: literal text, or a clause with the index of its argument. */
export type TemplatePart = string | {readonly letter: string; readonly precision: number; readonly index: number};

/** Parses a format template for `count` arguments. Throws `FormatError` for an invalid template or too few arguments. */
export function* parseTemplate(template: string, count: number): Generator<TemplatePart> {
  let index = 0;
  for (let at = 0; at < template.length;) {
    const next = template.indexOf('%', at);
    yield template.slice(at, next === -1 ? undefined : next);
    if (next === -1) return;
    if (template[next + 1] === '%') {
      yield '%';
      at = next + 2;
      continue;
    }
    if (next + 1 >= template.length) throw new FormatError('unexpected end of string');
    if (index >= count) throw new FormatError(`index ${index} out of range`);
    const [precise = '', digits] = /^\.(\d*)/.exec(template.slice(next + 1)) ?? [];
    const letter = template[next + 1 + precise.length];
    if (digits === '' && letter !== undefined)
      throw new FormatError(
        'could not parse formatting clause: error while parsing precision: error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax',
      );
    if (letter === undefined)
      throw new FormatError('could not parse formatting clause: error while parsing precision: could not find end of precision specifier');
    if (!(letter in clauseErrors)) throw new FormatError(`could not parse formatting clause: unrecognized formatting clause "${letter}"`);
    yield {letter, precision: digits === undefined ? defaultPrecision : Number(digits), index};
    index += 1;
    at = next + 2 + precise.length;
  }
}

const format = (template: string, args: ListValue): string => {
  let out = '';
  for (const piece of parseTemplate(template, args.size))
    out += typeof piece === 'string' ? piece : formatClause(piece.letter, args.at(piece.index), piece.precision);
  return out;
};

/** Implements `string.format`. */
export const formatString = (template: string, args: ListValue): Value => {
  try {
    return format(template, args);
  } catch (error) {
    if (error instanceof FormatError) return new Failure(error.message);
    throw error;
  }
};
