import {endOf, type Job} from '#controllers/shared/jobs.js';
import {unlessMissing} from '#src/client/missing.js';
import {keyText, keyOf, type Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {parseTime} from '#src/api/time.js';
import {exponentialBuckets} from '#src/base/meter.js';
import {requeueAfter, settled, type KeyedContext, type Reconcile} from '#src/runtime/controller.js';

/** Whether the job has finished and has a TTL. */
export const isTimed = (job: Frozen<Job>): boolean =>
  !job.metadata?.deletionTimestamp && job.spec?.ttlSecondsAfterFinished !== undefined && endOf(job) !== undefined;

/** Returns when the TTL of a finished job ends, in ms. Throws if the time is unknown. */
const expiryOf = (job: Frozen<Job>): {readonly finishedAt: number; readonly expiresAt: number} => {
  const finishedAt = parseTime(endOf(job)?.lastTransitionTime);
  if (finishedAt === undefined) throw new Error(`unable to find the time when the Job ${keyText(keyOf(job))} finished`);
  return {finishedAt, expiresAt: finishedAt + job.spec!.ttlSecondsAfterFinished! * 1000};
};

export const collector = ({lister, writer, client, clock, meter}: KeyedContext): Reconcile => {
  const cached = lister(kinds.jobs);
  const delay = meter.histogram({
    name: 'ttl_after_finished_controller_job_deletion_duration_seconds',
    help: 'The time it took to delete the job since it became eligible for deletion',
    buckets: exponentialBuckets(0.1, 2, 14),
  });

  return async (key, {log}) => {
    /** Returns in how many ms the job may be deleted; undefined if it is to be kept. */
    const left = (job: Frozen<Job> | undefined): number | undefined => {
      if (!job || !isTimed(job)) return undefined;
      const {finishedAt, expiresAt} = expiryOf(job);
      if (finishedAt > clock.now()) log.warn({}, 'a job has ended in the future: clocks do not agree, and it will be deleted later');
      return expiresAt - clock.now();
    };
    const wait = left(cached.get(key));
    if (wait === undefined) return settled;
    if (wait > 0) return requeueAfter(wait);

    // Its TTL may have been extended.
    const live = await unlessMissing(client.resource(kinds.jobs).get(key.name, {namespace: key.namespace}));
    const remaining = left(live);
    if (!live || remaining === undefined) return settled;
    if (remaining > 0) return requeueAfter(remaining);
    await unlessMissing(writer(kinds.jobs).delete(live, {propagationPolicy: 'Foreground'}));
    delay.observe(-remaining / 1000);
    return settled;
  };
};
