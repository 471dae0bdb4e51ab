// Cron schedules as upstream's library parses them: five fields, `@hourly` and the like, `@every`, and a time zone
// prefix. Computes the times of a schedule; starts nothing.

import {parseDuration} from '#src/api/duration.js';
import {runSteps, type Steps} from '#src/base/steps.js';

/** Thrown for an invalid schedule. The message is worded as upstream words it. */
export class CronError extends Error {
  override readonly name = 'CronError';
}

/** The fields of a cron schedule as sets of matching numbers. */
export interface CronTimes {
  readonly kind: 'times';
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly daysOfMonth: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  /** Sunday is 0. */
  readonly daysOfWeek: ReadonlySet<number>;
  /**
   * Whether the field starts with a star. If either day field does, a day must match both; otherwise one match is
   * enough.
   */
  readonly anyDayOfMonth: boolean;
  readonly anyDayOfWeek: boolean;
}

/** A schedule with a fixed interval. */
export interface CronInterval {
  readonly kind: 'span';
  readonly everyMs: number;
}

export type CronSchedule = (CronTimes | CronInterval) & {
  /** The time zone given in the schedule. */
  readonly timeZone?: string;
};

interface Bounds {
  readonly min: number;
  readonly max: number;
  readonly names?: readonly string[];
}

const parts = {
  minutes: {min: 0, max: 59},
  hours: {min: 0, max: 23},
  daysOfMonth: {min: 1, max: 31},
  months: {min: 1, max: 12, names: ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']},
  daysOfWeek: {min: 0, max: 6, names: ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']},
} as const satisfies Record<string, Bounds>;

const parseNumber = (text: string): number => {
  if (!/^[+-]?\d+$/.test(text))
    throw new CronError(`failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`);
  const value = Number(text);
  if (value < 0) throw new CronError(`negative number (${value}) not allowed: ${text}`);
  return value;
};

const parseNumberOrName = (text: string, {min, names}: Bounds): number => {
  const at = names?.indexOf(text.toLowerCase()) ?? -1;
  return at < 0 ? parseNumber(text) : at + min;
};

interface Range {
  readonly start: number;
  readonly end: number;
  readonly step: number;
  readonly isStar: boolean;
}

const parseSpan = (text: string, expression: string, bounds: Bounds): {start: number; end: number; isStar: boolean; isSingle: boolean} => {
  const [low = '', high, ...rest] = text.split('-');
  const isSingle = high === undefined;
  if (low === '*' || low === '?') return {start: bounds.min, end: bounds.max, isStar: true, isSingle};
  const start = parseNumberOrName(low, bounds);
  if (rest.length > 0) throw new CronError(`too many hyphens: ${expression}`);
  return {start, end: isSingle ? start : parseNumberOrName(high, bounds), isStar: false, isSingle};
};

const parseRange = (expression: string, bounds: Bounds): Range => {
  const [text = '', stepText, ...rest] = expression.split('/');
  const {start, end: last, isStar, isSingle} = parseSpan(text, expression, bounds);
  if (rest.length > 0) throw new CronError(`too many slashes: ${expression}`);
  const step = stepText === undefined ? 1 : parseNumber(stepText);
  // `5/15` means from 5 to the maximum in steps of 15.
  const end = stepText !== undefined && isSingle ? bounds.max : last;
  if (start < bounds.min) throw new CronError(`beginning of range (${start}) below minimum (${bounds.min}): ${expression}`);
  if (end > bounds.max) throw new CronError(`end of range (${end}) above maximum (${bounds.max}): ${expression}`);
  if (start > end) throw new CronError(`beginning of range (${start}) beyond end of range (${end}): ${expression}`);
  if (step === 0) throw new CronError(`step of range should be a positive number: ${expression}`);
  return {start, end, step, isStar: isStar && step === 1};
};

interface Field {
  readonly numbers: ReadonlySet<number>;
  readonly isStar: boolean;
}

/** Items of a list that are parsed in one step. */
const itemsAtOnce = 1000;

const parseField = function* (field: string, bounds: Bounds): Steps<Field> {
  const numbers = new Set<number>();
  let isStar = false;
  let since = 0;
  for (let from = 0, to = 0; from < field.length; from = to + 1) {
    const comma = field.indexOf(',', from);
    to = comma < 0 ? field.length : comma;
    if (from === to) continue;
    if (++since % itemsAtOnce === 0) yield;
    const range = parseRange(field.slice(from, to), bounds);
    isStar ||= range.isStar;
    for (let at = range.start; at <= range.end; at += range.step) numbers.add(at);
  }
  return {numbers, isStar};
};

const parseTimes = function* (text: string): Steps<CronTimes> {
  const fields = text.split(/\s+/).filter(Boolean);
  if (fields.length !== 5) throw new CronError(`expected exactly 5 fields, found ${fields.length}: [${fields.join(' ')}]`);
  const minutes = yield* parseField(fields[0]!, parts.minutes);
  const hours = yield* parseField(fields[1]!, parts.hours);
  const daysOfMonth = yield* parseField(fields[2]!, parts.daysOfMonth);
  const months = yield* parseField(fields[3]!, parts.months);
  const daysOfWeek = yield* parseField(fields[4]!, parts.daysOfWeek);
  return {
    kind: 'times',
    minutes: minutes.numbers,
    hours: hours.numbers,
    daysOfMonth: daysOfMonth.numbers,
    months: months.numbers,
    daysOfWeek: daysOfWeek.numbers,
    anyDayOfMonth: daysOfMonth.isStar,
    anyDayOfWeek: daysOfWeek.isStar,
  };
};

const descriptors: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};
const everyPrefix = '@every ';

const parseDescriptor = function* (text: string): Steps<CronTimes | CronInterval> {
  const times = descriptors[text];
  if (times !== undefined) return yield* parseTimes(times);
  if (!text.startsWith(everyPrefix)) throw new CronError(`unrecognized descriptor: ${text}`);
  const duration = text.slice(everyPrefix.length);
  const ms = parseDuration(duration);
  if (ms === undefined) throw new CronError(`failed to parse duration ${text}: time: invalid duration ${JSON.stringify(duration)}`);
  // Intervals are whole seconds, at least one.
  return {kind: 'span', everyMs: Math.max(Math.floor(ms / 1000), 1) * 1000};
};

/** Whether the name is an IANA time zone. */
export const isTimeZone = (name: string): boolean => {
  try {
    return new Intl.DateTimeFormat('en', {timeZone: name}).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
};

const zone = /^(?:CRON_)?TZ=(\S*)/;

/**
 * Parses a cron schedule: five fields with names, lists, ranges and steps, a descriptor such as `@hourly`, or `@every`
 * with a duration. Throws `CronError`.
 */
export const parseCron = (text: string): CronSchedule => runSteps(parseCronInSteps(text));

/** As `parseCron`, in steps: the lists of a schedule may be long. */
export const parseCronInSteps = function* (text: string): Steps<CronSchedule> {
  if (text === '') throw new CronError('empty spec string');
  const [prefix, timeZone] = zone.exec(text) ?? [''];
  if (timeZone !== undefined && !isTimeZone(timeZone))
    throw new CronError(`provided bad location ${timeZone}: unknown time zone ${timeZone}`);
  const rest = prefix === '' ? text : text.slice(prefix.length).trim();
  const schedule = yield* rest.startsWith('@') ? parseDescriptor(rest) : parseTimes(rest);
  return timeZone === undefined ? schedule : {...schedule, timeZone};
};
