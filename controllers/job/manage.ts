import {aggregate} from '#controllers/shared/aggregate.js';
import type {TrackingExpectations} from '#controllers/shared/children/expectations.js';
import {createExpected} from '#controllers/shared/pods/expected-changes.js';
import {podControl} from '#controllers/shared/pods/pod-control.js';
import {podNames, type PlannedPod, type PodNames} from '#controllers/shared/pods/pod-names.js';
import {keyOf, keyText} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {hasCause, isNotFound} from '#src/api/status.js';
import {leastOf} from '#src/base/extremes.js';
import {isReady, isTerminating} from '#src/model/pod/state.js';
import {waitingPodsLimit, type WaitingPodsOptions} from '#controllers/shared/pods/waiting-pods.js';
import type {KeyedContext} from '#src/runtime/controller.js';
import {remainingDelay} from './backoff.js';
import type {Untrack} from './finalizers.js';
import {finishTime} from './finish-time.js';
import {indexesOf, lowestFree, union} from './indexes.js';
import {indexOf, isIndexed, isSuspended, limitPerIndex, replacesFailedOnly, type CachedPod, type JobNames} from './kinds.js';
import type {Action, JobMetrics} from './metrics.js';
import {indexedPrefix, indexedTemplate, trackedTemplate} from './new-pods.js';
import {allFailuresBefore} from './per-index.js';
import type {JobSync} from './sync.js';
import {surplusPods} from './surplus.js';

/** The most pods created or deleted in one sync. */
const burst = 500;

/** The changes made to pods. */
export interface PodChanges {
  readonly action: Action;
  readonly created: number;
  readonly deleted: number;
  readonly deletedReady: number;
  readonly error?: unknown;
  /** When to sync again, in ms, because of a backoff. */
  readonly requeueAfterMs?: number;
}

const nothingDone: PodChanges = {action: 'tracking', created: 0, deleted: 0, deletedReady: 0};

/** Returns how many pods are to be active. */
const desiredActive = ({job, succeeded, active}: JobSync): number => {
  const {completions, parallelism = 0} = job.spec ?? {};
  if (completions === undefined) return succeeded > 0 ? active.length : parallelism;
  return Math.max(0, Math.min(completions - succeeded, parallelism));
};

/** Returns the reason of creations in metrics. */
const creationReason = ({job, failed, terminating}: JobSync): string => {
  if (job.spec?.podReplacementPolicy === 'Failed' && failed > 0) return 'recreate_failed';
  return failed > 0 || terminating > 0 ? 'recreate_terminating_or_failed' : 'new';
};

/** Returns the indexes to create pods for now; or the backoff until one may get a pod. */
const indexesToFill = (
  sync: JobSync,
  count: number,
  marks: JobNames,
): {readonly indexes: readonly number[]; readonly againInMs?: number} => {
  const {job, active, pods, succeededIndexes, failedIndexes = [], waiting, now} = sync;
  const held = replacesFailedOnly(job) ? [...active, ...pods.filter(isTerminating)] : active;
  const taken = union(
    union(succeededIndexes, failedIndexes),
    indexesOf(held.map(pod => indexOf(pod, marks)).filter(index => index !== undefined)),
  );
  const free = lowestFree(taken, count, job.spec?.completions ?? 0);
  if (limitPerIndex(job) === undefined) return {indexes: free};
  const delays = free.map(index => {
    const pod = waiting.get(index);
    return pod ? remainingDelay(allFailuresBefore(pod, marks) + 1, finishTime(pod), now) : 0;
  });
  const indexes = free.filter((_, i) => delays[i] === 0);
  return indexes.length > 0 || free.length === 0 ? {indexes} : {indexes, againInMs: leastOf(delays)};
};

/** What to do about the pods of a job. */
type Decision =
  | {readonly kind: 'delete'; readonly pods: readonly CachedPod[]}
  /** With `indexes`, one pod for each of them. */
  | {readonly kind: 'create'; readonly count: number; readonly indexes?: readonly number[]}
  | {readonly kind: 'wait'; readonly ms: number}
  | {readonly kind: 'nothing'};

/** Returns the pods to create or delete in this sync, to reach the wanted number. */
const decide = (sync: JobSync, marks: JobNames): Decision => {
  const {job, active, terminating, record, now} = sync;
  if (isSuspended(job)) return {kind: 'delete', pods: surplusPods(job, active, active.length, marks)};
  const desiredCount = desiredActive(sync);
  const surplus = surplusPods(job, active, Math.max(0, active.length - desiredCount), marks).slice(0, burst);
  if (surplus.length > 0) return {kind: 'delete', pods: surplus};
  const missing = desiredCount - active.length - (replacesFailedOnly(job) ? terminating : 0);
  if (missing <= 0) return {kind: 'nothing'};
  const delay = limitPerIndex(job) === undefined ? remainingDelay(record.failures, record.lastFailureAt, now) : 0;
  if (delay > 0) return {kind: 'wait', ms: delay};
  const most = Math.min(missing, burst);
  if (!isIndexed(job)) return {kind: 'create', count: most};
  const {indexes, againInMs} = indexesToFill(sync, most, marks);
  return againInMs === undefined ? {kind: 'create', count: indexes.length, indexes} : {kind: 'wait', ms: againInMs};
};

export interface PodManagerParts {
  readonly marks: JobNames;
  readonly metrics: JobMetrics;
  readonly expected: TrackingExpectations;
  readonly untrack: Untrack;
}

/** Creates and deletes the pods of jobs, as `decide` says. */
export class PodManager {
  readonly #control: ReturnType<typeof podControl>;
  readonly #names: PodNames;
  readonly #parts: PodManagerParts;

  constructor(
    context: Pick<
      KeyedContext<WaitingPodsOptions>,
      'name' | 'lister' | 'client' | 'writer' | 'events' | 'naming' | 'options' | 'meter' | 'clock' | 'random'
    >,
    parts: PodManagerParts,
  ) {
    this.#control = podControl(kinds.jobs, context, waitingPodsLimit(context));
    this.#names = podNames(context.lister(kinds.pods), context.clock, context.random);
    this.#parts = parts;
  }

  /** Creates or deletes pods to reach the wanted number. */
  async manage(sync: JobSync): Promise<PodChanges> {
    const decision = decide(sync, this.#parts.marks);
    switch (decision.kind) {
      case 'delete':
        return this.#deletePods(sync, decision.pods);
      case 'create':
        return this.#createPods(sync, decision.count, decision.indexes);
      case 'wait':
        return {...nothingDone, action: 'pods_created', requeueAfterMs: decision.ms};
      case 'nothing':
        return nothingDone;
    }
  }

  /** Deletes all active pods; tracking removes their finalizers. */
  deleteAll(sync: JobSync): Promise<PodChanges> {
    return this.#deleteEach(
      sync,
      sync.active,
      async () => {},
      () => {},
    );
  }

  #deletePods(sync: JobSync, pods: readonly CachedPod[]): Promise<PodChanges> {
    const {expected, untrack} = this.#parts;
    const name = (pod: CachedPod) => keyText(keyOf(pod));
    expected.expectDeletions(sync.key, pods.map(name));
    // A surplus pod counts neither as succeeded nor as failed.
    return this.#deleteEach(sync, pods, untrack, pod => expected.deleted(sync.key, name(pod)));
  }

  async #deleteEach(
    {job}: JobSync,
    pods: readonly CachedPod[],
    before: (pod: CachedPod) => Promise<unknown>,
    failed: (pod: CachedPod) => void,
  ): Promise<PodChanges> {
    const errors: unknown[] = [];
    const deleted: CachedPod[] = [];
    await Promise.all(
      pods.map(async pod => {
        try {
          await before(pod);
          await this.#control.delete(job, pod);
          deleted.push(pod);
        } catch (error) {
          failed(pod);
          if (isNotFound(error)) deleted.push(pod);
          else errors.push(error);
        }
      }),
    );
    return {
      action: 'pods_deleted',
      created: 0,
      deleted: deleted.length,
      deletedReady: deleted.filter(isReady).length,
      error: aggregate(errors),
    };
  }

  async #createPods(sync: JobSync, count: number, indexes: readonly number[] | undefined): Promise<PodChanges> {
    const {key, job} = sync;
    const {marks, metrics, expected} = this.#parts;
    let failures = 0;
    const plain = trackedTemplate(job, marks);
    const places = Array.from({length: count}, (_, position) => {
      const index = indexes?.[position];
      return index === undefined ? {} : {slot: String(index), generateName: indexedPrefix(job.metadata?.name ?? '', index)};
    });
    const planned = this.#names.plan(job, places);
    expected.expectCreations(
      key,
      planned.map(pod => pod.key),
    );
    const create = async (pod: PlannedPod, position: number): Promise<unknown> => {
      const index = indexes?.[position];
      return this.#control.create(job, index === undefined ? plain : indexedTemplate(job, index, sync.waiting.get(index), marks), pod);
    };
    const countFailure = (failure: unknown) => {
      if (!hasCause(failure, 'NamespaceTerminating')) failures++;
      throw failure;
    };
    const {successes, error} = await createExpected(planned, (pod, position) => create(pod, position).catch(countFailure), {
      parent: job,
      key,
      expected,
      names: this.#names,
    });
    metrics.created(creationReason(sync), successes, failures);
    return {...nothingDone, action: 'pods_created', created: successes, error};
  }
}
