import {parseTime} from '#src/api/time.js';
import {runSteps, type Steps} from '#src/base/steps.js';
import {parseCronInSteps} from '#src/model/cron.js';
import {nextCronTime} from '#src/model/cron-times.js';
import type {CachedCronJob} from './kinds.js';

/** Syncs a little after the scheduled time, to tolerate clock skew. */
const slackMs = 100;
/** More missed starts than this are reported. */
const manyMissed = 100;

/** Iterates over scheduled times. */
export interface Schedule {
  next(after: number): number | undefined;
}

/** Returns the schedule in the time zone of the cron job, unless the schedule names one itself. Throws `CronError`. */
export const scheduleOf = (cronJob: CachedCronJob): Schedule => runSteps(scheduleInSteps(cronJob));

/** As `scheduleOf`, in steps: its lists may be long. */
export const scheduleInSteps = function* ({spec}: CachedCronJob): Steps<Schedule> {
  const parsed = yield* parseCronInSteps(spec?.schedule ?? '');
  return {next: after => nextCronTime(parsed, after, spec?.timeZone)};
};

/** Whether a schedule takes long to parse. */
export const isLongSchedule = (schedule: string): boolean => schedule.length > 10_000;

/** The starts that are due. */
export interface DueStart {
  /** The time since which starts were searched. */
  readonly since: number;
  /** The last one. */
  readonly at: number | undefined;
  readonly missed: 'none' | 'few' | 'many';
}

/** Thrown for a schedule that is valid but never matches, or has no time between two starts. */
export class ScheduleError extends Error {
  override readonly name = 'ScheduleError';
}

/** Returns the time of the last start, in ms. */
const lastStart = ({status, metadata}: CachedCronJob): number =>
  parseTime(status?.lastScheduleTime) ?? parseTime(metadata?.creationTimestamp) ?? 0;

/** Returns the last start of an interval that may be long: only the times near its end are iterated. */
const lastBefore = (schedule: Schedule, first: number, intervalMs: number, now: number): Pick<DueStart, 'at' | 'missed'> => {
  const count = Math.floor((now - first) / intervalMs) + 1;
  let at: number | undefined;
  for (let next = schedule.next(first + (count - 2) * intervalMs); next !== undefined && next <= now; next = schedule.next(next)) at = next;
  return {at, missed: count > manyMissed ? 'many' : 'few'};
};

const dueSince = (since: number, schedule: Schedule, now: number): DueStart => {
  const first = schedule.next(since);
  const second = first === undefined ? undefined : schedule.next(first);
  if (first !== undefined && now < first) return {since, at: undefined, missed: 'none'};
  if (second !== undefined && now < second) return {since, at: first, missed: 'none'};
  const intervalMs = first === undefined || second === undefined ? 0 : Math.round((second - first) / 1000) * 1000;
  if (intervalMs < 1000) throw new ScheduleError('time difference between two schedules is less than 1 second');
  return {since, ...lastBefore(schedule, first!, intervalMs, now)};
};

/** Returns the start that is due now, unless its deadline has passed. Throws `ScheduleError`. */
export const dueStart = (cronJob: CachedCronJob, schedule: Schedule, now: number): DueStart => {
  const deadline = cronJob.spec?.startingDeadlineSeconds;
  const since = lastStart(cronJob);
  return dueSince(deadline === undefined ? since : Math.max(since, now - deadline * 1000), schedule, now);
};

/** Returns in how many ms the next start is. */
export const nextStartIn = (cronJob: CachedCronJob, schedule: Schedule, now: number): number => {
  let from = now;
  try {
    const {since, at, missed} = dueSince(lastStart(cronJob), schedule, now);
    from = at ?? (missed === 'none' ? since : now);
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error;
  }
  return (schedule.next(from) ?? now) + slackMs - now;
};
