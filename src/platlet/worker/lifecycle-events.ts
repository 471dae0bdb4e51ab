// Pod lifecycle event generator: detects changes by comparing two lists of the runtime.

import {runEvery, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {onAbort} from '#src/base/signals.js';
import type {AgentMetrics} from '#src/platlet/metrics/agent-metrics.js';
import type {Runtime} from '#src/platlet/runtime/runtime.js';
import type {RuntimePod} from '#src/platlet/runtime/state.js';

const relistMs = 1_000;
/** The runtime counts as unhealthy after this time without a successful list. */
const healthyMs = 180_000;

export interface LifecycleParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly runtime: Pick<Runtime, 'pods' | 'changes'>;
  readonly signal: AbortSignal;
  readonly metrics: Pick<AgentMetrics, 'relistDuration' | 'relistInterval' | 'lastSeen'>;
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

/** Lists the runtime each second and reports changes, in addition to the events of the runtime. */
export class LifecycleEvents {
  readonly #parts: LifecycleParts;
  #pods: readonly RuntimePod[] = [];
  #digests = new Map<string, string>();
  /** The time of the last list, or of the start. */
  #listedAt: number | undefined;
  /** The start of the last list. */
  #begunAt: number | undefined;

  constructor(parts: LifecycleParts) {
    this.#parts = parts;
  }

  /** The states of the last list. */
  get pods(): readonly RuntimePod[] {
    return this.#pods;
  }

  /** The time since the last list; 0 before the start. */
  get silentMs(): number {
    return this.#listedAt === undefined ? 0 : this.#parts.clock.monotonic() - this.#listedAt;
  }

  /** Returns why the runtime is unhealthy; undefined if it is healthy. */
  get error(): string | undefined {
    const elapsed = this.silentMs;
    return elapsed > healthyMs
      ? `PLEG is not healthy: pleg was last seen active ${Math.round(elapsed / 1000)}s ago; threshold is 3m0s`
      : undefined;
  }

  /** Lists for the first time, and continues until the signal aborts. Rejects if the first list fails. */
  async start(changed: PodChanged): Promise<void> {
    const {clock, runtime, signal, log} = this.#parts;
    this.#listedAt = clock.monotonic();
    const listener = runtime.changes?.(changed);
    if (listener) onAbort(signal, () => listener[Symbol.dispose]());
    await this.#relist(changed);
    runEvery(clock, relistMs, signal, () =>
      this.#relist(changed).catch((error: unknown) => log.warn({err: error}, 'failed to list the runtime')),
    );
  }

  async #relist(changed: PodChanged): Promise<void> {
    const {clock, runtime, metrics} = this.#parts;
    const since = clock.monotonic();
    if (this.#begunAt !== undefined) metrics.relistInterval.observe((since - this.#begunAt) / 1000);
    this.#begunAt = since;
    const pods = await runtime.pods();
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
}
