import type {CronSchedule, CronTimes} from './cron.js';
import {wallClockOf, type WallClock, type WallTime} from './zoned-time.js';

const minuteMs = 60_000;
const dayMinutes = 1440;
/** A schedule that is not met for so long is never met. */
const maxYears = 5;

const matchesDay = ({daysOfMonth, daysOfWeek, anyDayOfMonth, anyDayOfWeek}: CronTimes, {day, weekday}: WallTime): boolean => {
  const [ofMonth, ofWeek] = [daysOfMonth.has(day), daysOfWeek.has(weekday)];
  return anyDayOfMonth || anyDayOfWeek ? ofMonth && ofWeek : ofMonth || ofWeek;
};

const sameDay = (a: WallTime, b: WallTime): boolean => a.day === b.day && a.month === b.month && a.year === b.year;

/** The beginning of the next day, or a time shortly before it where clocks are put back on that day. */
const startOfNextDay = (at: number, local: WallTime, clock: WallClock): number => {
  const next = at + (dayMinutes - local.hour * 60 - local.minute) * minuteMs;
  const nextLocal = clock(next);
  // Clocks that were put forward are past midnight already, unless midnight itself was passed over.
  const midnight = next - (nextLocal.hour * 60 + nextLocal.minute) * minuteMs;
  return midnight > at && sameDay(clock(midnight), nextLocal) ? midnight : next;
};

/** A later time before which nothing can be met; the time itself if it is met. */
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
 * The first time, in ms, after `after` at which the schedule is met, by the clocks of the zone it names, or else of `zone`, or else of this process. Where clocks
 * are put forward, times that they pass over are not met; where they are put back, times that they show twice are met twice. Undefined when there is none in years.
 */
export const nextCronTime = (schedule: CronSchedule, after: number, zone: string | undefined): number | undefined =>
  schedule.kind === 'span' ? Math.floor(after / 1000) * 1000 + schedule.everyMs : nextOfTimes(schedule, after, wallClockOf(schedule.timeZone ?? zone));
