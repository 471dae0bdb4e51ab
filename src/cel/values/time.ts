// Durations and timestamps of CEL: parsing, formatting, limits, and time zones. Both count nanoseconds as bigint.

import {daysInMonth} from '#src/base/calendar/days-in-month.js';
import {CacheBound} from '#src/base/cache-bound.js';
import {Lru} from '#src/base/lru.js';
import {intOverflow} from './numbers.js';
import {Duration, Failure, Timestamp, type Value} from './values.js';

const second = 1_000_000_000n;
const minute = 60n * second;
const hour = 60n * minute;
const units: Readonly<Record<string, bigint>> = {ns: 1n, us: 1000n, µs: 1000n, μs: 1000n, ms: 1_000_000n, s: second, m: minute, h: hour};

const least = -62_135_596_800n * second;
const most = 253_402_300_799n * second + second - 1n;

const timestampOverflow = new Failure('timestamp overflow');

/** The digits of a number in a duration that count: 64 bits hold no more. */
const longestNumber = 19;
const part = /(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)/y;

/**
 * Parses a duration such as `1h30m` or `-1.5s` to nanoseconds; undefined for other texts. Fractions of a nanosecond are
 * truncated.
 */
export const parseCelDuration = (text: string): bigint | undefined => {
  const sign = /^[+-]/.test(text) ? text[0] : '';
  const body = text.slice(sign === '' ? 0 : 1);
  if (body === '0') return 0n;
  let nanos = 0n;
  part.lastIndex = 0;
  do {
    const [, whole = '', fraction = '', unit = ''] = part.exec(body) ?? [];
    const scale = units[unit];
    if (scale === undefined || whole + fraction === '') return undefined;
    if (whole.length > longestNumber && whole.replace(/^0+/, '').length > longestNumber) return undefined;
    const finest = fraction.slice(0, longestNumber);
    nanos += BigInt(whole || '0') * scale + (BigInt(finest || '0') * scale) / 10n ** BigInt(finest.length);
  } while (part.lastIndex < body.length);
  const signed = sign === '-' ? -nanos : nanos;
  return signed < -(2n ** 63n) || signed >= 2n ** 63n ? undefined : signed;
};

export const durationOf = (nanos: bigint): Value => (nanos < -(2n ** 63n) || nanos >= 2n ** 63n ? intOverflow : new Duration(nanos));

/** Formats a duration in seconds with the precision of a double: `1.5s`. */
export const formatCelDuration = ({nanos}: Duration): string => {
  const seconds = Number(nanos / second) + Number(nanos % second) / 1e9;
  return `${formatInFull(seconds)}s`;
};

const formatInFull = (value: number): string => {
  const text = String(value);
  return text.includes('e') ? value.toFixed(9).replace(/0+$/, '') : text;
};

export const timestampOf = (nanos: bigint, eastMinutes = 0): Value =>
  nanos < least || nanos > most ? timestampOverflow : new Timestamp(nanos, eastMinutes);

const instant = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:[.,](\d+))?(?:Z|([+-])(\d{2}):(\d{2}))$/;

const utc = (year: number, month: number, day: number): number => {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.getTime();
};

/** Parses an RFC 3339 timestamp. Returns a failure outside the years 1 to 9999, and undefined for other texts. */
export const parseTimestamp = (text: string): Value | undefined => {
  const found = instant.exec(text);
  if (!found) return undefined;
  const [year, month, day, hours, minutes, seconds] = found.slice(1, 7).map(Number) as [number, number, number, number, number, number];
  if (month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month) || hours > 23 || minutes > 59 || seconds > 59) return undefined;
  const [eastHours, eastMinutes] = [Number(found[9] ?? 0), Number(found[10] ?? 0)];
  if (eastHours > 24 || eastMinutes > 59) return undefined;
  const east = (found[8] === '-' ? -1 : 1) * (eastHours * 60 + eastMinutes);
  const whole = BigInt(utc(year, month, day) / 1000 + hours * 3600 + minutes * 60 + seconds - east * 60);
  return timestampOf(whole * second + BigInt((found[7] ?? '').slice(0, 9).padEnd(9, '0')), east);
};

const floorSeconds = (nanos: bigint): bigint => (nanos - (((nanos % second) + second) % second)) / second;

export const secondsOf = ({nanos}: Timestamp): bigint => floorSeconds(nanos);

const pad = (value: number, length = 2): string => String(value).padStart(length, '0');

/** Formats a timestamp as RFC 3339 with its fraction, in the zone it was written in. */
export const formatTimestamp = ({nanos, eastMinutes}: Timestamp): string => {
  const whole = floorSeconds(nanos);
  const date = new Date(Number(whole) * 1000 + eastMinutes * 60_000);
  const fraction = (nanos - whole * second).toString().padStart(9, '0').replace(/0+$/, '');
  const zone =
    eastMinutes === 0
      ? 'Z'
      : `${eastMinutes < 0 ? '-' : '+'}${pad(Math.floor(Math.abs(eastMinutes) / 60))}:${pad(Math.abs(eastMinutes) % 60)}`;
  const day = `${pad(date.getUTCFullYear(), 4)}-${pad(date.getUTCMonth() + 1)}-${pad(date.getUTCDate())}`;
  return `${day}T${pad(date.getUTCHours())}:${pad(date.getUTCMinutes())}:${pad(date.getUTCSeconds())}${fraction === '' ? '' : `.${fraction}`}${zone}`;
};

const fixedZone = /^([+-]?\d{1,2}):(\d{2})$/;
const bound = new CacheBound('time_zones', 4 << 20);
/** The approximate size of a cached zone in bytes. */
const zoneBytes = 64 << 10;
const formats = new Lru<string, Intl.DateTimeFormat>(bound, {bytesOf: () => zoneBytes});

/** Returns the offset of a named zone from UTC at a time, in milliseconds; undefined for an unknown zone. */
const zoneOffset = (ms: number, zone: string): number | undefined => {
  let format = formats.get(zone);
  if (!format) {
    try {
      format = new Intl.DateTimeFormat('en-US', {
        timeZone: zone,
        hourCycle: 'h23',
        era: 'short',
        year: 'numeric',
        month: 'numeric',
        day: 'numeric',
        hour: 'numeric',
        minute: 'numeric',
        second: 'numeric',
      });
    } catch {
      return undefined;
    }
    formats.set(zone, format);
  }
  const parts = Object.fromEntries(format.formatToParts(new Date(ms)).map(({type, value}) => [type, value]));
  const year = parts['era'] === 'BC' ? 1 - Number(parts['year']) : Number(parts['year']);
  const there =
    utc(year, Number(parts['month']), Number(parts['day'])) +
    Number(parts['hour']) * 3_600_000 +
    Number(parts['minute']) * 60_000 +
    Number(parts['second']) * 1000;
  return there - Math.floor(ms / 1000) * 1000;
};

/** Returns a date whose UTC getters return the local time in the zone. The default is UTC. */
export const inZone = ({nanos}: Timestamp, zone = 'UTC'): Date | Failure => {
  const ms = Number(floorSeconds(nanos)) * 1000 + Number(((nanos % second) + second) % second) / 1e6;
  if (zone === 'UTC' || zone === '') return new Date(ms);
  const [, hours, minutes] = fixedZone.exec(zone) ?? [];
  if (hours !== undefined) return new Date(ms + (Number(hours) * 60 + (hours.startsWith('-') ? -1 : 1) * Number(minutes)) * 60_000);
  const offset = zone.includes(':') ? undefined : zoneOffset(ms, zone);
  return offset === undefined ? new Failure(`unknown time zone ${zone}`) : new Date(ms + offset);
};
