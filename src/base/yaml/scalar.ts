// The types of scalars as the original resolves them: YAML 1.1 with the integers of Go's literals, and a float only if
// the whole text is one.

import {wholeNumber} from '#src/base/json/json.js';
import {malformed, YamlError} from './error.js';
import {isTimestamp} from './timestamp.js';

const core = 'tag:yaml.org,2002:';

/** A resolved scalar. An `int` beyond what a number holds exactly is a bigint; a `timestamp` is its text. */
export type Scalar =
  | {readonly type: 'str' | 'timestamp'; readonly value: string}
  | {readonly type: 'int'; readonly value: number | bigint}
  | {readonly type: 'float'; readonly value: number}
  | {readonly type: 'bool'; readonly value: boolean}
  | {readonly type: 'null'; readonly value: null};

const titled = (word: string): string[] => [word, word[0]!.toUpperCase() + word.slice(1), word.toUpperCase()];
const constants = new Map<string, Scalar>([
  ...['y', 'yes', 'true', 'on'].flatMap(titled).map((word): [string, Scalar] => [word, {type: 'bool', value: true}]),
  ...['n', 'no', 'false', 'off'].flatMap(titled).map((word): [string, Scalar] => [word, {type: 'bool', value: false}]),
  ...['', '~', ...titled('null')].map((word): [string, Scalar] => [word, {type: 'null', value: null}]),
  ...['.nan', '.NaN', '.NAN'].map((word): [string, Scalar] => [word, {type: 'float', value: Number.NaN}]),
  ...['.inf', '.Inf', '.INF'].flatMap((word): [string, Scalar][] => [
    [word, {type: 'float', value: Infinity}],
    [`+${word}`, {type: 'float', value: Infinity}],
    [`-${word}`, {type: 'float', value: -Infinity}],
  ]),
]);

/** What begins a text that may be something other than a string. */
const hint = /^[-+.\dyYnNtTfFoO~]/;

const [leastInt, mostInt, mostUint] = [-(2n ** 63n), 2n ** 63n - 1n, 2n ** 64n - 1n];

/** A sign, and the digits of the base that a prefix names. */
const digitsOf = /^([-+]?)(?:(0[xX][\da-fA-F]+|0[bB][01]+|0|[1-9]\d*)|0[oO]?([0-7]+))$/;
/** The original also accepts a sign between the prefix of a binary number and its digits. */
const signWithin = /^0b([-+])([01]+)$/;

/** Returns an integer of 64 bits. Only those without a sign may need all of them for the digits. */
const integer = (text: string): number | bigint | undefined => {
  const within = signWithin.exec(text);
  const [, sign = '', digits, octal] = within ? [text, within[1], `0b${within[2]}`] : (digitsOf.exec(text) ?? []);
  const literal = octal === undefined ? digits : `0o${octal}`;
  if (literal === undefined) return undefined;
  if (literal.length < 14) return sign === '-' ? 0 - Number(literal) : Number(literal);
  const value = sign === '-' ? -BigInt(literal) : BigInt(literal);
  return value < leastInt || value > (sign === '' ? mostUint : mostInt) ? undefined : exact(value);
};

const exact = (value: bigint): number | bigint => (Number.isSafeInteger(Number(value)) ? Number(value) : value);

const float = /^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/;
/** Underscores separate digits of a text that begins with the point; elsewhere they may be anywhere. */
const pointFirst = /^\.\d+(?:_\d+)*(?:[eE][-+]?\d+(?:_\d+)*)?$/;

const number = (text: string): Scalar | undefined => {
  const plain = text.replaceAll('_', '');
  const isPoint = text.startsWith('.');
  const whole = isPoint ? undefined : integer(plain);
  if (whole !== undefined) return {type: 'int', value: whole};
  if (!(isPoint ? pointFirst.test(text) : float.test(plain))) return undefined;
  const value = Number(plain);
  return Number.isFinite(value) ? {type: 'float', value} : undefined;
};

/** Resolves a text outside of quotes, with the tag that it has. Throws `YamlError` if the text is none of the tag's. */
export const resolved = (text: string, tag?: string): Scalar => {
  const name = tag?.startsWith(core) ? tag.slice(core.length) : tag;
  if (name === 'binary') return {type: 'str', value: decoded(text)};
  if (name !== undefined && !resolvable.has(name)) return {type: 'str', value: text};
  const found = untagged(text, name === undefined || name === 'timestamp');
  if (name === undefined || name === found.type) return found;
  if (name === 'float' && found.type === 'int' && found.value <= mostInt) return {type: 'float', value: Number(found.value)};
  throw malformed(`cannot decode !!${found.type} \`${text}\` as a !!${name}`);
};

const resolvable = new Set(['int', 'float', 'bool', 'null', 'timestamp']);

const untagged = (text: string, mayBeTime: boolean): Scalar => {
  const constant = constants.get(text);
  if (constant) return constant;
  if (!hint.test(text)) return {type: 'str', value: text};
  if (mayBeTime && isTimestamp(text)) return {type: 'timestamp', value: text};
  return /^[-+.\d]/.test(text) ? (number(text) ?? {type: 'str', value: text}) : {type: 'str', value: text};
};

const base64 = /^(?:[A-Za-z\d+/]{4})*(?:[A-Za-z\d+/]{2}==|[A-Za-z\d+/]{3}=)?$/;

const decoded = (text: string): string => {
  const joined = text.replaceAll(/[\r\n]/g, '');
  if (!base64.test(joined)) throw malformed('!!binary value contains invalid base64 data');
  return Buffer.from(joined, 'base64').toString();
};

/** Returns the JSON value of a scalar. Throws `YamlError` for a number that JSON does not have. */
export const jsonValueOf = ({value, type}: Scalar): unknown => {
  if (typeof value === 'bigint') return wholeNumber(String(value));
  if (type !== 'float') return value;
  if (!Number.isFinite(value)) throw new YamlError(`json: unsupported value: ${Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf'}`);
  // JSON has no point behind whole numbers, so that this one is an integer from here on.
  return Number.isInteger(value) && Math.abs(value) < 2 ** 63 ? wholeNumber(String(value)) : value;
};

const base60 = /^[-+]?\d[\d_]*(?::[0-5]?\d)+(?:\.[\d_]*)?$/;

/**
 * Reports whether a text needs quotes to be a string: outside of them, this or another parser of YAML 1.1 reads
 * something else.
 */
export const isAmbiguous = (text: string): boolean => untagged(text, true).type !== 'str' || base60.test(text);
