// The CronJob of the well-known tutorial (https://book.kubebuilder.io/cronjob-tutorial/cronjob-tutorial), with a
// calendar outside of the cluster added to it.
import {
  againAfter,
  conditionOf,
  customKind,
  defaulting,
  defineController,
  forbidden,
  invalid,
  setCondition,
  validating,
  type KubeObject,
  type ObjectKey,
  type Stored,
} from '@platio/plat/operator';
import {Job} from '@platio/plat/operator/kinds';
import {parseSchedule} from './schedule.js';

export interface CronJob extends KubeObject {
  spec: {
    schedule: string;
    startingDeadlineSeconds?: number;
    concurrencyPolicy?: 'Allow' | 'Forbid' | 'Replace';
    suspend?: boolean;
    successfulJobsHistoryLimit?: number;
    failedJobsHistoryLimit?: number;
    jobTemplate: {spec: NonNullable<Job['spec']>};
  };
  status?: {active?: string[]; lastScheduleTime?: string; conditions?: unknown[]};
}

export const CronJob = customKind<CronJob, 'CronJob'>({
  group: 'batch.tutorial.example.com',
  version: 'v1',
  kind: 'CronJob',
  plural: 'cronjobs',
});

/** The system outside of the cluster: where people see what will run when. Both calls may be repeated. */
export interface Calendar {
  announce(entry: string, at: Date): Promise<void>;
  withdraw(entry: string): Promise<void>;
}

const scheduledAt = 'batch.tutorial.example.com/scheduled-at';

const entryOf = ({namespace, name}: ObjectKey): string => `${namespace}/${name}`;

/** How a job ended; undefined while it runs. */
const endOf = (job: Stored<Job>): 'Complete' | 'Failed' | undefined =>
  (['Complete', 'Failed'] as const).find(type => conditionOf(job, type)?.status === 'True');

const timeOf = (job: Stored<Job>): number => Date.parse(job.metadata.annotations?.[scheduledAt] ?? '') || 0;

/** The latest time that is due and was not run, and the next one. */
const timesOf = (cronJob: Stored<CronJob>, now: number): {readonly due: number | undefined; readonly next: number | undefined} => {
  const {schedule, startingDeadlineSeconds = 3600} = cronJob.spec;
  const {next} = parseSchedule(schedule);
  const since = Date.parse(cronJob.status?.lastScheduleTime ?? cronJob.metadata.creationTimestamp);
  let due: number | undefined;
  for (let at = next(Math.max(since, now - startingDeadlineSeconds * 1000)); at !== undefined && at <= now; at = next(at)) due = at;
  return {due, next: next(now)};
};

export const cronJobs = (calendar: Calendar) =>
  defineController({
    name: 'cronjobs',
    for: CronJob,
    owns: [Job],
    finalizer: 'batch.tutorial.example.com/calendar',
    finalize: ({key}) => calendar.withdraw(entryOf(key)),

    async reconcile({key, object: cronJob, caches, client, clock, events}) {
      if (!cronJob) return;
      const {suspend = false, concurrencyPolicy, successfulJobsHistoryLimit = 3, failedJobsHistoryLimit = 1} = cronJob.spec;
      const own = caches
        .list(Job, {namespace: key.namespace})
        .filter(({metadata}) => metadata.ownerReferences?.some(({uid}) => uid === cronJob.metadata.uid))
        .sort((a, b) => timeOf(a) - timeOf(b));
      for (const [end, limit] of [
        ['Complete', successfulJobsHistoryLimit],
        ['Failed', failedJobsHistoryLimit],
      ] as const) {
        const ended = own.filter(job => endOf(job) === end);
        for (const job of ended.slice(0, Math.max(0, ended.length - limit))) await client.delete(job, {propagationPolicy: 'Background'});
      }

      const active = own.filter(job => endOf(job) === undefined);
      const {due, next} = timesOf(cronJob, clock.now());
      const isBlocked = concurrencyPolicy === 'Forbid' && active.length > 0;
      const starts = due !== undefined && !suspend && !isBlocked;
      if (starts) {
        if (concurrencyPolicy === 'Replace') for (const job of active) await client.delete(job, {propagationPolicy: 'Background'});
        // The name follows from the time: a run that is repeated finds its job instead of making another one.
        const {outcome} = await client.apply(Job, {
          metadata: {
            name: `${key.name}-${due / 60_000}`,
            namespace: key.namespace,
            annotations: {[scheduledAt]: new Date(due).toISOString()},
          },
          spec: cronJob.spec.jobTemplate.spec,
        });
        if (outcome === 'created') events.normal(cronJob, 'Started', `the job of ${new Date(due).toISOString()} was started`);
      }

      if (next !== undefined && !suspend) await calendar.announce(entryOf(key), new Date(next));
      else await calendar.withdraw(entryOf(key));
      await client.status(
        cronJob,
        status => {
          status.active = active.map(job => job.metadata.name);
          if (starts) status.lastScheduleTime = new Date(due).toISOString();
        },
        setCondition('Scheduled', suspend ? 'False' : 'True', suspend ? 'Suspended' : 'Scheduled'),
      );
      if (next !== undefined && !suspend) return againAfter(next - clock.now());
      return;
    },
  });

/** Defaults and validation, as the tutorial has them. */
export const webhooks = [
  defaulting(CronJob, ({spec}) => {
    spec.concurrencyPolicy ??= 'Allow';
    spec.suspend ??= false;
    spec.successfulJobsHistoryLimit ??= 3;
    spec.failedJobsHistoryLimit ??= 1;
  }),
  validating(CronJob, function* ({object}) {
    const {metadata, spec} = object!;
    // The name of a job ends in the minute of its time.
    if ((metadata?.name?.length ?? 0) > 52) yield invalid('metadata.name', metadata?.name, 'must be no more than 52 characters');
    if (spec.concurrencyPolicy === 'Allow' && spec.startingDeadlineSeconds === 0)
      yield forbidden('spec.startingDeadlineSeconds', 'nothing would ever start in time');
    try {
      parseSchedule(spec.schedule);
    } catch (error) {
      yield invalid('spec.schedule', spec.schedule, (error as Error).message);
    }
  }),
];
