import type {CronSchedule, CronTimes} from './cron.js';
import {wallClockOf, type WallClock, type WallTime} from './zoned-time.js';

const minuteMs = 60_000;
const dayMinutes = 1440;
/** A schedule without a match in this many years never matches. */
const maxYears = 5;

const matchesDay = ({daysOfMonth, daysOfWeek, anyDayOfMonth, anyDayOfWeek}: CronTimes, {day, weekday}: WallTime): boolean => {
  const [ofMonth, ofWeek] = [daysOfMonth.has(day), daysOfWeek.has(weekday)];
  return anyDayOfMonth || anyDayOfWeek ? ofMonth && ofWeek : ofMonth || ofWeek;
};

const sameDay = (a: WallTime, b: WallTime): boolean => a.day === b.day && a.month === b.month && a.year === b.year;

/** Returns the start of the next day, or an earlier time if clocks are set back on that day. */
const startOfNextDay = (at: number, local: WallTime, clock: WallClock): number => {
  const next = at + (dayMinutes - local.hour * 60 - local.minute) * minuteMs;
  const nextLocal = clock(next);
  // If clocks were set forward, the next day's midnight was earlier, unless midnight itself was skipped.
  const midnight = next - (nextLocal.hour * 60 + nextLocal.minute) * minuteMs;
  return midnight > at && sameDay(clock(midnight), nextLocal) ? midnight : next;
};

/** Returns a later time before which the schedule does not match, or `at` if it matches. */
const nextCandidate = (times: CronTimes, at: number, local: WallTime, clock: WallClock): number => {
  if (!times.months.has(local.month) || !matchesDay(times, local)) return startOfNextDay(at, local, clock);
  if (times.hours.has(local.hour)) {
    for (let minute = local.minute; minute < 60; minute++) if (times.minutes.has(minute)) return at + (minute - local.minute) * minuteMs;
  }
  return at + (60 - local.minute) * minuteMs;
};

const nextOfTimes = (times: CronTimes, after: number, clock: WallClock): number | undefined => {
  let at = (Math.floor(after / minuteMs) + 1) * minuteMs;
  const lastYear = clock(at).year + maxYears;
  for (;;) {
    const local = clock(at);
    if (local.year > lastYear) return undefined;
    const next = nextCandidate(times, at, local, clock);
    if (next === at) return at;
    at = next;
  }
};

/**
 * Returns the first time in ms after `after` at which the schedule matches, in the schedule's time zone, else in
 * `zone`, else in the process's. When clocks are set forward, skipped times do not match; when they are set back,
 * repeated times match twice. Undefined if there is no match within years.
 */
export const nextCronTime = (schedule: CronSchedule, after: number, zone: string | undefined): number | undefined =>
  schedule.kind === 'span'
    ? Math.floor(after / 1000) * 1000 + schedule.everyMs
    : nextOfTimes(schedule, after, wallClockOf(schedule.timeZone ?? zone));
