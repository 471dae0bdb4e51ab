// Ends pods, and waits until nothing is left of them.

import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import {sleep, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {disruptedCondition} from '#src/platlet/pod/conditions.js';
import {killLimitMs} from '#src/platlet/pod/kill.js';
import {isCritical} from '#src/platlet/pod/origin.js';
import type {EndingPods} from '#src/platlet/worker/ending-pods.js';
import type {EventRecorder} from '#src/runtime/events/events.js';
import {evictedReason} from '#src/platlet/eviction/message.js';

/** How an eviction ends a pod. */
export interface Eviction {
  readonly graceSeconds: number;
  readonly message: string;
  /** Of the event. */
  readonly annotations?: Readonly<Record<string, string>>;
  /** Whether the pod is a victim of the node's state, which a condition of it says. */
  readonly isDisruption?: boolean;
}

export interface EvictorParts {
  readonly naming: Naming;
  readonly pods: EndingPods;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** How long, and how often, it is looked whether anything is left of evicted pods. */
const cleanUpMs = 30_000;
const cleanUpLookMs = 1_000;

export class Evictor {
  readonly #parts: EvictorParts;
  /** How long pods that are being evicted may take to stop, by the monotonic clock. */
  #stopsBy = 0;

  constructor(parts: EvictorParts) {
    this.#parts = parts;
  }

  active(): readonly Frozen<Pod>[] {
    return this.#parts.pods.active();
  }

  /** Begins to end a pod. Returns false if it may not be evicted. */
  evict(pod: Frozen<Pod>, {graceSeconds, message, annotations, isDisruption}: Eviction): boolean {
    const {naming, pods, events, clock, log} = this.#parts;
    const {name, namespace} = pod.metadata ?? {};
    if (isCritical(naming, pod)) {
      log.error({pod: name, namespace}, 'Eviction manager: cannot evict a critical pod');
      return false;
    }
    events.warning(pod, evictedReason, message, annotations);
    log.v(3).info({pod: name, namespace, message}, 'Evicting pod');
    this.#stopsBy = Math.max(this.#stopsBy, clock.monotonic() + killLimitMs(graceSeconds));
    pods.end(pod, {
      outcome: {reason: evictedReason, message, isFailure: true},
      graceSeconds,
      isEviction: true,
      ...(isDisruption ? {disruption: disruptedCondition(naming, message)} : {}),
    });
    return true;
  }

  /** Resolves when nothing is left of pods that were evicted, or they have had the time that they may take. */
  async cleanedUp(evictedPods: readonly Frozen<Pod>[]): Promise<void> {
    const {pods, clock, log, signal} = this.#parts;
    const names = evictedPods.map(({metadata}) => metadata?.name);
    log.info({pods: names}, 'Eviction manager: pods evicted, waiting for pod to be cleaned up');
    const progressed = (least: readonly string[]): boolean => evictedPods.every(pod => least.includes(pods.progress(pod)));
    const waited = async (until: number, least: readonly string[]): Promise<boolean> => {
      while (!progressed(least) && clock.monotonic() < until && !signal.aborted) await sleep(clock, cleanUpLookMs, signal).catch(() => {});
      return progressed(least);
    };
    if (!(await waited(this.#stopsBy, ['stopped', 'gone']))) log.error({pods: names}, 'Eviction manager: pod failed to evict');
    const isGone = await waited(clock.monotonic() + cleanUpMs, ['gone']);
    if (signal.aborted) return;
    log.info(
      {pods: names},
      isGone ? 'Eviction manager: pods successfully cleaned up' : 'Eviction manager: timed out waiting for pods to be cleaned up',
    );
  }
}
