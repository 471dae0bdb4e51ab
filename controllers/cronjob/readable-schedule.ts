import {withClockHeld} from '#src/base/clock.js';
import {runStepsYielding} from '#src/base/steps.js';
import {Yielder} from '#src/base/turn.js';
import {CronError, isTimeZone} from '#src/model/cron.js';
import type {KeyedContext} from '#src/runtime/controller.js';
import type {CachedCronJob} from './kinds.js';
import {dueStart, isLongSchedule, ScheduleError, scheduleInSteps, scheduleOf, type DueStart, type Schedule} from './schedule.js';

/**
 * Returns the schedule of a cron job that is not suspended. For an invalid one it records an event and returns
 * undefined; it is not retried until it changes.
 */
export const readSchedule = async (
  cronJob: CachedCronJob,
  {events, naming, clock}: Pick<KeyedContext, 'events' | 'naming' | 'clock'>,
): Promise<Schedule | undefined> => {
  const {schedule = '', timeZone, suspend} = cronJob.spec ?? {};
  if (timeZone !== undefined && !isTimeZone(timeZone)) {
    events.warning(cronJob, 'UnknownTimeZone', `invalid timeZone: ${JSON.stringify(timeZone)}: unknown time zone ${timeZone}`);
    return undefined;
  }
  if (suspend) return undefined;
  if (schedule.includes('TZ')) {
    events.warning(
      cronJob,
      'UnsupportedSchedule',
      `CRON_TZ or TZ used in schedule ${JSON.stringify(schedule)} is not officially supported, see ${naming.page('concepts/workloads/controllers/cron-jobs/')} for more details`,
    );
  }
  try {
    return isLongSchedule(schedule)
      ? await withClockHeld(clock, () => runStepsYielding(scheduleInSteps(cronJob), new Yielder(clock)))
      : scheduleOf(cronJob);
  } catch (error) {
    if (!(error instanceof CronError)) throw error;
    events.warning(cronJob, 'UnparseableSchedule', `unparseable schedule: ${JSON.stringify(schedule)} : ${error.message}`);
    return undefined;
  }
};

/** Returns the start that is due. For a schedule that never matches it records an event and returns undefined. */
export const readDueStart = (
  cronJob: CachedCronJob,
  schedule: Schedule,
  {now, events}: Pick<KeyedContext, 'events'> & {readonly now: number},
): DueStart | undefined => {
  try {
    return dueStart(cronJob, schedule, now);
  } catch (error) {
    if (!(error instanceof ScheduleError)) throw error;
    events.warning(cronJob, 'InvalidSchedule', `invalid schedule: ${cronJob.spec?.schedule} : ${error.message}`);
    return undefined;
  }
};
