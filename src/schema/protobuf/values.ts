import {CacheBound} from '#src/base/cache-bound.js';
import {Lru} from '#src/base/lru.js';
import {parseDuration} from '#src/api/duration.js';
import {canonicalQuantity} from '#src/api/quantity.js';
import {DecodeError} from '#src/schema/decode/error.js';

// Scalars that differ between protobuf and JSON: times, quantities, durations.

/** 0001-01-01T00:00:00Z, the zero time. */
const zeroTime = -62_135_596_800;
const lastTime = 253_402_300_799;

/** A cache of the last date: objects created together have the same few times. */
let lastSeconds = Number.NaN;
let lastText = '';

/** Formats the date and time of RFC 3339 without zone. */
const date = (seconds: number): string => {
  if (seconds === lastSeconds) return lastText;
  if (seconds < zeroTime || seconds > lastTime) throw new DecodeError('Time.MarshalJSON: year outside of range [0,9999]');
  lastText = new Date(seconds * 1000).toISOString().slice(0, 19);
  lastSeconds = seconds;
  return lastText;
};

/** Formats a time with whole seconds; undefined for the zero time. */
export const timeText = (seconds: number): string | undefined => (seconds === zeroTime ? undefined : `${date(seconds)}Z`);

/** Formats a time with six decimals, as JSON does; undefined for the zero time. */
export const microTimeText = (seconds: number, nanos: number): string | undefined => {
  const whole = Math.floor(nanos / 1e9);
  const micros = Math.floor((nanos - whole * 1e9) / 1000);
  if (seconds + whole === zeroTime && micros === 0) return undefined;
  return `${date(seconds + whole)}.${String(micros).padStart(6, '0')}Z`;
};

/** A time as seconds since 1970 and microseconds. */
export interface Timestamp {
  readonly seconds: number;
  readonly micros: number;
  readonly isZero: boolean;
}

const rfc3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(?:Z|[+-]\d{2}:\d{2})$/;

/** Parses a time in RFC 3339; undefined for an invalid text. */
export const parseTimestamp = (text: string): Timestamp | undefined => {
  const found = rfc3339.exec(text);
  const seconds = Math.floor(Date.parse(text) / 1000);
  if (!found || Number.isNaN(seconds)) return undefined;
  const micros = found[1] === undefined ? 0 : Number(found[1].slice(1, 7).padEnd(6, '0'));
  return {seconds, micros, isZero: seconds === zeroTime};
};

const bound = new CacheBound('quantities', 256 << 10);
const quantities = new Lru<string, string>(bound, {bytesOf: ({length}) => length});

/** Returns the canonical form of a quantity. Throws `DecodeError`. */
export const quantityText = (text: string): string => {
  const known = quantities.peek(text);
  if (known !== undefined) return known;
  try {
    const canonical = canonicalQuantity(text);
    quantities.set(text, canonical);
    return canonical;
  } catch (error) {
    throw new DecodeError((error as Error).message, {cause: error});
  }
};

const hour = 3_600_000_000_000n;
const minute = 60_000_000_000n;
const units: readonly (readonly [string, bigint])[] = [
  ['s', 1_000_000_000n],
  ['ms', 1_000_000n],
  ['µs', 1000n],
  ['ns', 1n],
];

const decimal = (value: bigint, unit: bigint): string => {
  const fraction = String(value % unit)
    .padStart(String(unit).length - 1, '0')
    .replace(/0+$/, '');
  return fraction === '' || unit === 1n ? String(value / unit) : `${value / unit}.${fraction}`;
};

/** Formats nanoseconds as a duration, for example `1h0m0.5s`. */
export const durationText = (nanos: bigint): string => {
  if (nanos < 0n) return `-${durationText(-nanos)}`;
  if (nanos === 0n) return '0s';
  const [unit, size] = units.find(([, size]) => nanos >= size) ?? ['ns', 1n];
  if (unit !== 's') return `${decimal(nanos, size)}${unit}`;
  const hours = nanos / hour;
  const minutes = (nanos % hour) / minute;
  const seconds = `${decimal(nanos % minute, size)}s`;
  return hours > 0n ? `${hours}h${minutes}m${seconds}` : minutes > 0n ? `${minutes}m${seconds}` : seconds;
};

const unitNanos = new Map<string, bigint>([['h', hour], ['m', minute], ...units, ['us', 1000n], ['μs', 1000n]]);

const longestDuration = 1000;

/** Parses a duration to nanoseconds; undefined for an invalid text. */
export const durationNanos = (text: string): bigint | undefined => {
  if (text === '0') return 0n;
  // Arithmetic on longer numbers would take too long; none fits 64 bits.
  if (text.length > longestDuration || parseDuration(text) === undefined) return undefined;
  let total = 0n;
  for (const [, whole, fraction = '', unit = ''] of text.matchAll(/(?<![\d.])(\d*)\.?(\d*)(h|ms|m|s|us|µs|μs|ns)/g)) {
    const size = unitNanos.get(unit) ?? 1n;
    total += BigInt(whole || 0) * size + (fraction === '' ? 0n : (BigInt(fraction) * size) / 10n ** BigInt(fraction.length));
  }
  return text.startsWith('-') ? -total : total;
};
