import type {CronSchedule, CronTimes} from './cron.js';
import {wallOf, type Wall, type WallTime} from './zoned-time.js';

const minuteMs = 60_000;
const dayMinutes = 1440;
/** A schedule that is not met for so long is never met. */
const mostYears = 5;

const isDay = ({daysOfMonth, daysOfWeek, anyDayOfMonth, anyDayOfWeek}: CronTimes, {day, weekday}: WallTime): boolean => {
  const [ofMonth, ofWeek] = [daysOfMonth.has(day), daysOfWeek.has(weekday)];
  return anyDayOfMonth || anyDayOfWeek ? ofMonth && ofWeek : ofMonth || ofWeek;
};

const sameDay = (a: WallTime, b: WallTime): boolean => a.day === b.day && a.month === b.month && a.year === b.year;

/** The beginning of the next day, or a time shortly before it where clocks are put back on that day. */
const towardsNextDay = (at: number, shown: WallTime, wall: Wall): number => {
  const next = at + (dayMinutes - shown.hour * 60 - shown.minute) * minuteMs;
  const there = wall(next);
  // Clocks that were put forward are past midnight already, unless midnight itself was passed over.
  const midnight = next - (there.hour * 60 + there.minute) * minuteMs;
  return midnight > at && sameDay(wall(midnight), there) ? midnight : next;
};

/** A later time before which nothing can be met; the time itself if it is met. */
const towards = (times: CronTimes, at: number, shown: WallTime, wall: Wall): number => {
  if (!times.months.has(shown.month) || !isDay(times, shown)) return towardsNextDay(at, shown, wall);
  if (times.hours.has(shown.hour)) {
    for (let minute = shown.minute; minute < 60; minute++) if (times.minutes.has(minute)) return at + (minute - shown.minute) * minuteMs;
  }
  return at + (60 - shown.minute) * minuteMs;
};

const nextOfTimes = (times: CronTimes, after: number, wall: Wall): number | undefined => {
  let at = (Math.floor(after / minuteMs) + 1) * minuteMs;
  const lastYear = wall(at).year + mostYears;
  for (;;) {
    const shown = wall(at);
    if (shown.year > lastYear) return undefined;
    const next = towards(times, at, shown, wall);
    if (next === at) return at;
    at = next;
  }
};

/**
 * The first time, in ms, after `after` at which the schedule is met, by the clocks of the zone it names, or else of `zone`, or else of this process. Where clocks
 * are put forward, times that they pass over are not met; where they are put back, times that they show twice are met twice. Undefined when there is none in years.
 */
export const nextCronTime = (schedule: CronSchedule, after: number, zone: string | undefined): number | undefined =>
  schedule.kind === 'span' ? Math.floor(after / 1000) * 1000 + schedule.everyMs : nextOfTimes(schedule, after, wallOf(schedule.timeZone ?? zone));
