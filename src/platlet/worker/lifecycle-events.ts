// Pod lifecycle event generator: detects changes by comparing two lists of the runtime.

import {formatDuration} from '#src/api/duration.js';
import {runEvery, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {onAbort} from '#src/base/signals.js';
import type {AgentMetrics} from '#src/platlet/metrics/agent-metrics.js';
import type {Runtime} from '#src/platlet/runtime/runtime.js';
import type {ContainerEvent, RuntimePod} from '#src/platlet/runtime/state.js';
import {followContainerEvents} from './container-events.js';
import {afterEvent, concernsWork} from './listed-pods.js';

interface Pace {
  readonly periodMs: number;
  /** The runtime counts as unhealthy after this time without a successful list. */
  readonly healthyMs: number;
}

const usualPace: Pace = {periodMs: 1_000, healthyMs: 180_000};
/** While the runtime streams events. */
const slowPace: Pace = {periodMs: 300_000, healthyMs: 600_000};

/** How often it is told that events are waited for. */
const seenMs = 1_000;

export interface LifecycleParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly runtime: Pick<Runtime, 'pods' | 'changes' | 'followEvents'>;
  /** Whether the events that the runtime streams are followed. */
  readonly isEvented: boolean;
  readonly signal: AbortSignal;
  readonly metrics: Pick<
    AgentMetrics,
    'relistDuration' | 'relistInterval' | 'lastSeen' | 'eventConnections' | 'eventErrors' | 'eventLatency'
  >;
}

/** Called with the uid of a pod whose sandboxes or containers have changed. */
type PodChanged = (uid: string) => void;

/**
 * Returns the state of a pod in a list for comparison. Created containers that are not started are skipped: the agent
 * itself is about to start them.
 */
const digestOf = ({sandboxes, containers}: RuntimePod): string =>
  [
    ...sandboxes.map(({id, isReady}) => `${id} ${isReady}`),
    ...containers.flatMap(({id, state}) => (state === 'created' ? [] : [`${id} ${state}`])),
  ]
    .sort()
    .join('\n');

/**
 * Lists the runtime each second and reports changes. Where the events that it streams are followed it is listed more
 * rarely, until their stream has failed too often.
 */
export class LifecycleEvents {
  readonly #parts: LifecycleParts;
  #pods: readonly RuntimePod[] = [];
  #digests = new Map<string, string>();
  #pace: Pace;
  /** The time of the last list, or of the start. */
  #listedAt: number | undefined;
  /** The start of the last list. */
  #begunAt: number | undefined;
  /** Resolves when the list that is under way is done, whether or not it fails. */
  #listing: Promise<unknown> = Promise.resolve();
  /** The events since the begin of the list that is under way, which may not show them; undefined without one. */
  #meanwhile: ContainerEvent[] | undefined;

  constructor(parts: LifecycleParts) {
    this.#parts = parts;
    this.#pace = parts.isEvented ? slowPace : usualPace;
  }

  /** The states of the last list, and of the events since. */
  get pods(): readonly RuntimePod[] {
    return this.#pods;
  }

  /** The time without a list in which there should have been some; 0 before the start. */
  get silentMs(): number {
    return Math.max(0, this.#elapsedMs - this.#pace.periodMs);
  }

  /** Returns why the runtime is unhealthy; undefined if it is healthy. */
  get error(): string | undefined {
    const elapsed = Math.round(this.#elapsedMs / 1000);
    const {healthyMs} = this.#pace;
    return this.#elapsedMs > healthyMs
      ? `PLEG is not healthy: pleg was last seen active ${elapsed}s ago; threshold is ${formatDuration(healthyMs)}`
      : undefined;
  }

  /** Lists for the first time, and continues until the signal aborts. Rejects if the first list fails. */
  async start(changed: PodChanged): Promise<void> {
    const {clock, runtime, isEvented, signal, metrics} = this.#parts;
    this.#listedAt = clock.monotonic();
    const listener = isEvented ? undefined : runtime.changes?.(changed);
    if (listener) onAbort(signal, () => listener[Symbol.dispose]());
    await this.#relist(changed);
    if (!isEvented) return this.#listRegularly(changed, signal);
    runEvery(clock, seenMs, signal, () => metrics.lastSeen.set(clock.now() / 1000));
    void this.#followEvents(changed);
  }

  get #elapsedMs(): number {
    return this.#listedAt === undefined ? 0 : this.#parts.clock.monotonic() - this.#listedAt;
  }

  /** Lists rarely while events come, and at the usual pace afterwards. */
  async #followEvents(changed: PodChanged): Promise<void> {
    const {log, signal} = this.#parts;
    const slow = new AbortController();
    onAbort(signal, () => slow.abort());
    this.#listRegularly(changed, slow.signal);
    await followContainerEvents(
      this.#parts,
      event => this.#take(event, changed),
      () => this.#tryRelist(changed),
    );
    if (signal.aborted) return;
    log.warn('the runtime does not stream the events of containers: it is listed each second instead');
    slow.abort();
    this.#pace = usualPace;
    await this.#tryRelist(changed);
    this.#listRegularly(changed, signal);
  }

  #listRegularly(changed: PodChanged, signal: AbortSignal): void {
    runEvery(this.#parts.clock, this.#pace.periodMs, signal, () => this.#tryRelist(changed));
  }

  async #tryRelist(changed: PodChanged): Promise<void> {
    try {
      await this.#relist(changed);
    } catch (error) {
      this.#parts.log.warn({err: error}, 'failed to list the runtime');
    }
  }

  #take(event: ContainerEvent, changed: PodChanged): void {
    const {uid} = event.sandbox.pod;
    this.#meanwhile?.push(event);
    this.#pods = afterEvent(this.#pods, event);
    const after = this.#pods.find(({pod}) => pod.uid === uid);
    if (after) this.#digests.set(uid, digestOf(after));
    else this.#digests.delete(uid);
    if (concernsWork(event)) changed(uid);
  }

  /** Lists once no other list is under way. */
  #relist(changed: PodChanged): Promise<void> {
    const list = this.#listing.then(() => this.#list(changed));
    this.#listing = list.catch(() => {});
    return list;
  }

  async #list(changed: PodChanged): Promise<void> {
    const {clock, metrics} = this.#parts;
    const since = clock.monotonic();
    if (this.#begunAt !== undefined) metrics.relistInterval.observe((since - this.#begunAt) / 1000);
    this.#begunAt = since;
    const pods = await this.#listed();
    const listedAt = clock.monotonic();
    this.#listedAt = listedAt;
    metrics.relistDuration.observe((listedAt - since) / 1000);
    metrics.lastSeen.set(clock.now() / 1000);
    const digests = new Map(pods.map(pod => [pod.pod.uid, digestOf(pod)]));
    const before = this.#digests;
    this.#pods = pods;
    this.#digests = digests;
    for (const [uid, digest] of digests) if (before.get(uid) !== digest) changed(uid);
    for (const uid of before.keys()) if (!digests.has(uid)) changed(uid);
  }

  async #listed(): Promise<readonly RuntimePod[]> {
    const meanwhile: ContainerEvent[] = [];
    this.#meanwhile = meanwhile;
    try {
      const pods = await this.#parts.runtime.pods();
      return meanwhile.reduce(afterEvent, pods);
    } finally {
      this.#meanwhile = undefined;
    }
  }
}
