import type {Lister} from '#informers/lister.js';
import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {Clock} from '#src/base/clock.js';
import {podInfoOf, type PodInfo} from './cache/pod-info.js';
import type {PluginName} from '#src/scheduler/framework/plugin.js';
import type {SchedulerMetrics} from './metrics.js';
import type {SchedulingFailure} from './pod-status.js';
import type {Nominator} from './queue/nominator.js';
import type {QueuedPod} from './queue/queued-pod.js';
import type {SchedulingQueue} from './queue/queue.js';
import type {Reporter} from './reports.js';

export interface FailureHandlerParts {
  readonly clock: Clock;
  readonly pods: Lister<Pod>;
  readonly queue: SchedulingQueue;
  readonly nominator: Nominator;
  readonly reporter: Reporter;
  readonly metrics: SchedulerMetrics;
  /** Whether requests of whole pods count. */
  readonly podLevel: boolean;
}

/** Returns pods that were not scheduled to the queue, and reports why. */
export class FailureHandler {
  readonly #parts: FailureHandlerParts;

  constructor(parts: FailureHandlerParts) {
    this.#parts = parts;
  }

  podInfo(pod: Frozen<Pod>): PodInfo {
    return podInfoOf(pod, {podLevel: this.#parts.podLevel});
  }

  /** Handles the failure of an attempt that began at `since`. */
  handle(queued: QueuedPod, report: SchedulingFailure, rejectedBy: ReadonlySet<PluginName>, since: number): void {
    const {clock, pods, queue, nominator, reporter, metrics} = this.#parts;
    const {uid, key, pod} = queued.info;
    const result = report.reason === 'Unschedulable' ? 'unschedulable' : 'error';
    metrics.countAttempt(result, pod.spec?.schedulerName ?? '', clock.monotonic() - since);
    const known = pods.get(key);
    if (known?.metadata?.uid !== uid || known.spec?.nodeName) return queue.delete(uid);
    queued.info = this.podInfo(known);
    queue.addUnschedulable(queued, rejectedBy);
    if (report.nominatedNode !== undefined) nominator.set(queued.info, report.nominatedNode);
    reporter.reportFailure(known, report);
  }

  /** Handles an error, after which only the backoff counts. */
  handleError(queued: QueuedPod, message: string, since: number): void {
    this.handle(queued, {reason: 'SchedulerError', message, nominatedNode: ''}, new Set(), since);
  }
}
