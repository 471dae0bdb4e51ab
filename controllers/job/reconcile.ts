import {filingChildren, possibleChildren} from '#controllers/shared/children.js';
import {claimer} from '#controllers/shared/claiming.js';
import {trackingExpectations} from '#controllers/shared/expectations.js';
import {endOf} from '#controllers/shared/jobs.js';
import {ownWrites} from '#controllers/shared/own-writes.js';
import {keyOf, keyText} from '#src/api/key.js';
import {kinds} from '#src/api/kinds.js';
import {wireTime} from '#src/api/time.js';
import {isControlledBy} from '#src/model/owners.js';
import type {WaitingPodsOptions} from '#controllers/shared/waiting-pods.js';
import {settled, type KeyedContext, type Loops} from '#src/runtime/controller.js';
import type {BackoffRecord} from './backoff.js';
import {condition, withCondition, type Verdict} from './conditions.js';
import {releases, untracker} from './finalizers.js';
import {foreignManager, isSuspended, isTracked, jobPods, marksOf, type CachedJob, type CachedPod} from './kinds.js';
import {podManager, type Managed} from './manage.js';
import {jobMetrics, type Action} from './metrics.js';
import {orphanReleaser} from './orphans.js';
import {progressOf, type Progress} from './progress.js';
import {lookAt, type Round} from './round.js';
import {tracker} from './track.js';
import {deadlineIn, verdictOfCompletion, verdictOn} from './verdict.js';
import {batchMs, followJobs, jobLoop, orphanLoop} from './watching.js';

/** What a look did to the pods, and what it comes to. */
interface Outcome {
  readonly managed: Managed | undefined;
  readonly verdict: Verdict | undefined;
}

/** Runs the pods of jobs until enough have succeeded or too many have failed, and counts them. */
export const runner = (context: KeyedContext<WaitingPodsOptions>): Loops => {
  const {lister, client, clock, events, enqueue, naming} = context;
  const jobs = lister(kinds.jobs);
  const pods = filingChildren(lister(kinds.pods));
  const marks = marksOf(naming);
  const metrics = jobMetrics(context.meter);
  const expected = trackingExpectations(clock);
  const released = releases();
  const written = ownWrites();
  const records = new Map<string, BackoffRecord>();
  const untrack = untracker(context, marks);
  const claim = claimer({client, parents: kinds.jobs, children: kinds.pods});
  const manager = podManager(context, {marks, metrics, expected, untrack});
  const track = tracker(context, {marks, metrics, released, untrack, written, remember: (key, record) => void records.set(key, record)});
  followJobs(context, {marks, metrics, expected, released});

  const forget = (key: string): void => {
    expected.forget(key);
    released.forget(key);
    written.forget(key);
    records.delete(key);
  };
  context.listen(kinds.jobs, ({type, object}) => {
    // Another job may take its name: it starts clean.
    if (type === 'deleted') forget(keyText(keyOf(object)));
  });

  const podsOf = async (job: CachedJob): Promise<readonly CachedPod[]> => {
    const selector = jobPods.selectorOf(job);
    if (!selector) throw new Error("couldn't convert Job selector");
    const claimed = await claim(job, possibleChildren(pods, job, selector), {selector, finalizers: [marks.finalizer]});
    // Those just adopted have the finalizer, as the cache will tell.
    return claimed.map(pod =>
      isControlledBy(pod, job) || isTracked(pod, marks) ? pod : {...pod, metadata: {...pod.metadata, finalizers: [...(pod.metadata?.finalizers ?? []), marks.finalizer]}},
    );
  };

  /** Says whether the job is suspended, once; the time that is counted begins when it is resumed. */
  const noteSuspension = ({job, now}: Round, progress: Progress): boolean => {
    const [word, text, status] = isSuspended(job) ? (['Suspended', 'Job suspended', 'True'] as const) : (['Resumed', 'Job resumed', 'False'] as const);
    const conditions = withCondition(progress.conditions, condition('Suspended', status, {reason: `Job${word}`, message: text}, now));
    if (!conditions) return false;
    progress.conditions = conditions;
    events.normal(job, word, text);
    if (word === 'Resumed') progress.startTime = wireTime(now);
    return true;
  };

  /** Deletes the pods of a job that is to end; as long as some may be left, it does not. */
  const stop = async (round: Round, verdict: Verdict, isUpToDate: boolean): Promise<Outcome> => {
    const managed = await manager.deleteAll(round);
    return {managed: {...managed, action: 'reconciling'}, verdict: managed.deleted === round.active.length && isUpToDate ? verdict : undefined};
  };

  const goOn = async (round: Round, isUpToDate: boolean): Promise<Outcome> => {
    const deadline = deadlineIn(round.job, round.now);
    if (deadline !== undefined) enqueue(keyOf(round.job), {loop: jobLoop, afterMs: deadline});
    const managed = isUpToDate && !round.job.metadata?.deletionTimestamp ? await manager.manage(round) : undefined;
    if (managed?.againInMs !== undefined) enqueue(keyOf(round.job), {loop: jobLoop, afterMs: Math.max(managed.againInMs, batchMs)});
    const {created = 0, deleted = 0} = managed ?? {};
    return {managed, verdict: verdictOfCompletion(round, round.active.length + created - deleted)};
  };

  /** One look at a job that is not over. */
  const work = async (key: string, job: CachedJob, did: (action: Action) => void): Promise<void> => {
    // Before the pods are looked at: what is seen after that is looked at again.
    const isUpToDate = expected.satisfied(key);
    const round = lookAt({key, job, pods: await podsOf(job), marks, released: released.of(key), record: records.get(key), now: clock.now()});
    const progress = progressOf(job);
    if (!isSuspended(job)) progress.startTime ??= wireTime(round.now);

    const early = verdictOn(round);
    const {managed, verdict} = early ? await stop(round, early, isUpToDate) : await goOn(round, isUpToDate);
    if (managed) did(managed.action);
    const isSuspensionNew = !early && !verdict && managed !== undefined && noteSuspension(round, progress);

    const {created = 0, deleted = 0, deletedReady = 0} = managed ?? {};
    const figures = {active: round.active.length + created - deleted, ready: round.ready - deletedReady, terminating: round.terminating + deleted};
    const {status = {}} = job;
    const changed = isSuspensionNew || figures.active !== (status.active ?? 0) || figures.ready !== status.ready || figures.terminating !== status.terminating;
    await track({round, progress: Object.assign(progress, figures), verdict, changed});
    if (managed?.error !== undefined) throw managed.error;
  };

  const reconcile: Loops[string] = async (at, {log}) => {
    const key = keyText(at);
    const job = jobs.get(at);
    if (!job) {
      forget(key);
      return settled;
    }
    if (foreignManager(job, marks) !== undefined) return settled;
    if (endOf(job)) {
      records.delete(key);
      return settled;
    }
    if (!['NonIndexed', 'Indexed', undefined].includes(job.spec?.completionMode)) {
      events.warning(job, 'UnknownCompletionMode', 'Skipped Job sync because completion mode is unknown');
      return settled;
    }
    if (written.isStale(job)) {
      log.v(4).info({resourceVersion: job.metadata?.resourceVersion}, 'the cache does not know yet what was written last');
      return settled;
    }
    const started = clock.monotonic();
    let action: Action = 'reconciling';
    const done = (result: 'success' | 'error') => metrics.synced(job, result, action, (clock.monotonic() - started) / 1000);
    try {
      await work(key, job, did => (action = did));
    } catch (error) {
      done('error');
      throw error;
    }
    done('success');
    return settled;
  };

  return {
    [jobLoop]: {reconcile, queueName: 'job'},
    [orphanLoop]: {reconcile: orphanReleaser(context, {marks, untrack}), workers: 1, queueName: 'job_orphan_pod'},
  };
};
