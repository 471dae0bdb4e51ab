import {Bytes, Uint} from '#src/cel/values/values.js';

/** Thrown for an invalid literal. */
export class LiteralError extends Error {}

const maxInt = 2n ** 63n - 1n;
const minInt = -(2n ** 63n);
const maxUint = 2n ** 64n - 1n;

/** Parses an int literal with its sign. */
export const intLiteral = (digits: string, sign: '' | '-'): bigint => {
  const value = sign === '-' ? -BigInt(digits) : BigInt(digits);
  if (value > maxInt || value < minInt) throw new LiteralError('invalid int literal');
  return value;
};

/** Parses a uint literal with its suffix `u`. */
export const uintLiteral = (text: string): Uint => {
  const value = BigInt(text.slice(0, -1));
  if (value > maxUint) throw new LiteralError('invalid uint literal');
  return new Uint(value);
};

/** Parses a double literal. */
export const doubleLiteral = (text: string): number => {
  const value = Number(text);
  if (!Number.isFinite(value)) throw new LiteralError('invalid double literal');
  return value;
};

const simpleEscapes: Readonly<Record<string, number>> = {
  a: 7,
  b: 8,
  f: 12,
  n: 10,
  r: 13,
  t: 9,
  v: 11,
  '\\': 92,
  "'": 39,
  '"': 34,
  '`': 96,
  '?': 63,
};

/** Parses an escape sequence. `isByte` is set where it stands for a single byte. */
const parseEscape = (
  body: string,
  at: number,
): {readonly code: number; readonly length: number; readonly isByte: boolean; readonly isUnicode: boolean} => {
  const letter = body[at + 1] ?? '';
  const simple = simpleEscapes[letter];
  if (simple !== undefined) return {code: simple, length: 2, isByte: false, isUnicode: false};
  if (/[0-3]/.test(letter)) return {code: Number.parseInt(body.slice(at + 1, at + 4), 8), length: 4, isByte: true, isUnicode: false};
  const digits = {x: 2, X: 2, u: 4, U: 8}[letter];
  if (digits === undefined) throw new LiteralError('unable to unescape string');
  const code = Number.parseInt(body.slice(at + 2, at + 2 + digits), 16);
  return {code, length: 2 + digits, isByte: digits === 2, isUnicode: digits > 2};
};

const isScalar = (code: number): boolean => code <= 0x10_ff_ff && (code < 0xd8_00 || code > 0xdf_ff);

/** Returns the body of a quoted literal, and whether it is raw. */
const parseQuotes = (text: string): {readonly body: string; readonly isRaw: boolean} => {
  const isRaw = /^[rR]/.test(text);
  const quoted = (isRaw ? text.slice(1) : text).replaceAll(/\r\n?/g, '\n');
  const quotes = quoted.length >= 6 && (quoted.startsWith('"""') || quoted.startsWith("'''")) ? 3 : 1;
  return {body: quoted.slice(quotes, quoted.length - quotes), isRaw};
};

/** Parses a string literal. */
export const stringLiteral = (text: string): string => {
  const {body, isRaw} = parseQuotes(text);
  if (isRaw || !body.includes('\\')) return body;
  let out = '';
  for (let at = 0; at < body.length;) {
    const next = body.indexOf('\\', at);
    if (next === -1) return out + body.slice(at);
    out += body.slice(at, next);
    const {code, length} = parseEscape(body, next);
    if (!isScalar(code)) throw new LiteralError('invalid unicode code point');
    out += String.fromCodePoint(code);
    at = next + length;
  }
  return out;
};

/** Parses a bytes literal with its prefix `b`. */
export const bytesLiteral = (text: string): Bytes => {
  const {body, isRaw} = parseQuotes(text.slice(1));
  const parts: Uint8Array[] = [];
  for (let at = 0; at < body.length;) {
    const next = isRaw ? -1 : body.indexOf('\\', at);
    parts.push(Buffer.from(body.slice(at, next === -1 ? body.length : next)));
    if (next === -1) break;
    const {code, length, isByte, isUnicode} = parseEscape(body, next);
    if (isUnicode) throw new LiteralError('unable to unescape string');
    parts.push(isByte ? Uint8Array.of(code) : Buffer.from(String.fromCodePoint(code)));
    at = next + length;
  }
  return new Bytes(Buffer.concat(parts));
};
