import {controllingParent} from '#controllers/shared/children/parents.js';
import {isResync, type Change} from '#informers/change.js';
import {keyOf} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {CronError} from '#src/model/cron.js';
import type {ControllerManagerOptions} from '#src/options/programs/controller-manager.js';
import {defineController, type KeyedContext} from '#src/runtime/controller.js';
import type {CronJob} from './kinds.js';
import {cronJobReconciler} from './reconcile.js';
import {isLongSchedule, nextStartIn, scheduleOf} from './schedule.js';

type Options = Pick<ControllerManagerOptions, 'concurrentCronJobSyncs'>;

/** A change of the schedule queues the cron job for its next time, any other change at once. */
const watchCronJobs = ({listen, enqueue, events, clock}: KeyedContext): void =>
  listen(kinds.cronJobs, (change: Change<CronJob>) => {
    const cronJob = change.object;
    const {schedule, timeZone} = cronJob.spec ?? {};
    if (change.type !== 'updated' || (change.old.spec?.schedule === schedule && change.old.spec?.timeZone === timeZone))
      return enqueue(keyOf(cronJob));
    // The reconciler parses a long one in steps.
    if (isLongSchedule(schedule ?? '')) return enqueue(keyOf(cronJob));
    try {
      enqueue(keyOf(cronJob), {afterMs: nextStartIn(cronJob, scheduleOf(cronJob), clock.now())});
    } catch (error) {
      if (!(error instanceof CronError)) throw error;
      events.warning(cronJob, 'UnParseableCronJobSchedule', `unparseable schedule for cronjob: ${schedule}`);
    }
  });

const watchJobs = ({listen, lister, enqueue, naming}: KeyedContext): void => {
  const cronJobs = lister(kinds.cronJobs);
  listen(kinds.jobs, change => {
    if (isResync(change)) return;
    for (const job of change.type === 'updated' ? [change.old, change.object] : [change.object]) {
      const parent = controllingParent(job, kinds.cronJobs, cronJobs, naming);
      if (parent) enqueue(keyOf(parent));
    }
  });
};

/**
 * Creates a job for each time of a cron job's schedule, named by the time so that it is created once; maintains the
 * list of active jobs, and deletes the oldest finished ones. Of missed times only the last is made up for.
 */
export default defineController<Options>({
  doc: 'Creates jobs on the schedules of cron jobs, and deletes old ones.',
  name: 'cronjob-controller',
  serviceAccount: 'cronjob-controller',
  configuration: {CronJobController: {ConcurrentCronJobSyncs: 'concurrent-cron-job-syncs'}},
  queue: {name: 'cronjob'},
  workers: options => options.concurrentCronJobSyncs,
  reads: [kinds.cronJobs, kinds.jobs],
  create(context) {
    watchCronJobs(context);
    watchJobs(context);
    return cronJobReconciler(context);
  },
});
