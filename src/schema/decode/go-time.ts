import {daysInMonth} from '#src/base/calendar/days-in-month.js';
import {DecodeError} from './error.js';

const quote = (text: string): string => JSON.stringify(text);

/** Parses a time as the original does: element by element, naming the first mismatch. */
class TimeReader {
  readonly #layout: string;
  readonly #value: string;
  #rest: string;

  constructor(value: string, layout: string) {
    this.#layout = layout;
    this.#value = value;
    this.#rest = value;
  }

  get rest(): string {
    return this.#rest;
  }

  /** Parses between `least` and `most` digits. */
  number(element: string, least: number, most: number): number {
    const digits = new RegExp(`^[0-9]{${least},${most}}`).exec(this.#rest)?.[0];
    if (digits === undefined) this.mismatch(element);
    this.#rest = this.#rest.slice(digits.length);
    return Number(digits);
  }

  literal(text: string): void {
    if (!this.#rest.startsWith(text)) this.mismatch(text);
    this.#rest = this.#rest.slice(text.length);
  }

  take(pattern: RegExp): string | undefined {
    const found = pattern.exec(this.#rest)?.[0];
    if (found !== undefined) this.#rest = this.#rest.slice(found.length);
    return found;
  }

  mismatch(element: string): never {
    throw new DecodeError(
      `parsing time ${quote(this.#value)} as ${quote(this.#layout)}: cannot parse ${quote(this.#rest)} as ${quote(element)}`,
    );
  }

  fail(detail: string): never {
    throw new DecodeError(`parsing time ${quote(this.#value)}: ${detail}`);
  }

  within(value: number, least: number, most: number, what: string): void {
    if (value < least || value > most) this.fail(`${what} out of range`);
  }
}

/** Returns the minutes east of UTC. */
const zone = (reader: TimeReader): number => {
  if (reader.take(/^Z/)) return 0;
  const text = /^[+-][0-9]{2}:[0-9]{2}/.exec(reader.rest)?.[0];
  if (text === undefined) reader.mismatch('Z07:00');
  const hours = Number(text.slice(1, 3));
  const minutes = Number(text.slice(4, 6));
  reader.within(hours, 0, 24, 'time zone offset hour');
  reader.within(minutes, 0, 60, 'time zone offset minute');
  reader.take(/^.{6}/);
  return (text.startsWith('-') ? -1 : 1) * (hours * 60 + minutes);
};

const utc = (year: number, month: number, day: number, hour: number, minute: number, second: number): Date => {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second);
  return date;
};

interface ParsedTime {
  readonly date: Date;
  /** Six digits. */
  readonly micros: string;
}

const read = (text: string, layout: string, micro: boolean): ParsedTime => {
  const reader = new TimeReader(text, layout);
  const year = reader.number('2006', 4, 4);
  reader.literal('-');
  const month = reader.number('01', 2, 2);
  reader.within(month, 1, 12, 'month');
  reader.literal('-');
  const day = reader.number('02', 2, 2);
  reader.literal('T');
  const hour = reader.number('15', 1, 2);
  reader.within(hour, 0, 23, 'hour');
  reader.literal(':');
  const minute = reader.number('04', 2, 2);
  reader.within(minute, 0, 59, 'minute');
  reader.literal(':');
  const second = reader.number('05', 2, 2);
  reader.within(second, 0, 59, 'second');
  const fraction = reader.take(micro ? /^[.,][0-9]{6}/ : /^[.,][0-9]+/);
  if (micro && fraction === undefined) reader.mismatch('.000000');
  const offset = zone(reader);
  if (reader.rest !== '') reader.fail(`extra text: ${quote(reader.rest)}`);
  reader.within(day, 1, daysInMonth(year, month), 'day');
  return {date: utc(year, month, day, hour, minute - offset, second), micros: (fraction ?? '').slice(1, 7).padEnd(6, '0')};
};

const zeroSeconds = '0001-01-01T00:00:00';

const text = ({date, micros}: ParsedTime, micro: boolean): string | undefined => {
  const seconds = date.toISOString().slice(0, -5);
  if (seconds === zeroSeconds && Number(micros) === 0) return undefined;
  return micro ? `${seconds}.${micros}Z` : `${seconds}Z`;
};

const canonicalForm = '0000-00-00T00:00:00Z';

/** Returns the number that two digits at an index write. */
const pairAt = (value: string, at: number): number => value.charCodeAt(at) * 10 + value.charCodeAt(at + 1) - 11 * 48;

/** Whether a time already has the form of `canonicalTime`. Nearly all have: nothing is made to see it. */
const isCanonical = (value: string): boolean => {
  if (value.length !== canonicalForm.length || value === `${zeroSeconds}Z`) return false;
  for (let at = 0; at < canonicalForm.length; at++) {
    const [wanted, code] = [canonicalForm.charCodeAt(at), value.charCodeAt(at)];
    if (wanted === 48 ? code < 48 || code > 57 : code !== wanted) return false;
  }
  const [month, day] = [pairAt(value, 5), pairAt(value, 8)];
  if (month < 1 || month > 12 || day < 1 || pairAt(value, 11) > 23 || pairAt(value, 14) > 59 || pairAt(value, 17) > 59) return false;
  // Every month has 28 days.
  return day <= 28 || day <= daysInMonth(Number(value.slice(0, 4)), month);
};

/**
 * Returns the time in UTC with whole seconds; undefined for the zero time. Throws `DecodeError` with the original's
 * text.
 */
export const canonicalTime = (value: string): string | undefined =>
  isCanonical(value) ? value : text(read(value, '2006-01-02T15:04:05Z07:00', false), false);

/** Returns the time in UTC with six decimals; undefined for the zero time. The input must have exactly six decimals. */
export const canonicalMicroTime = (value: string): string | undefined => text(read(value, '2006-01-02T15:04:05.000000Z07:00', true), true);
