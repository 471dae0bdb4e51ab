// What has changed in the runtime, by comparing two lists of it.

import {every, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {onAbort} from '#src/base/signals.js';
import type {AgentMetrics} from '#src/platlet/metrics/agent-metrics.js';
import type {Runtime} from '#src/platlet/runtime/runtime.js';
import type {RuntimePod} from '#src/platlet/runtime/state.js';

const relistMs = 1_000;
/** The runtime counts as not answering when it was not listed for so long. */
const healthyMs = 180_000;

export interface LifecycleParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly runtime: Pick<Runtime, 'pods' | 'changes'>;
  readonly signal: AbortSignal;
  readonly metrics: Pick<AgentMetrics, 'relistDuration' | 'relistInterval' | 'lastSeen'>;
  /** Called with the uid of a pod whose sandboxes or containers have changed. */
  changed(uid: string): void;
}

/** The state of a pod in a list, for comparison. A container that was created and not started is of the agent's own doing. */
const digestOf = ({sandboxes, containers}: RuntimePod): string =>
  [
    ...sandboxes.map(({id, isReady}) => `${id} ${isReady}`),
    ...containers.flatMap(({id, state}) => (state === 'created' ? [] : [`${id} ${state}`])),
  ]
    .sort()
    .join('\n');

/** Lists the runtime each second, and reports changes. Those that a runtime reports itself are reported at once. */
export class LifecycleEvents {
  readonly #parts: LifecycleParts;
  #pods: readonly RuntimePod[] = [];
  #digests = new Map<string, string>();
  #listedAt: number;
  /** When the last list was begun. */
  #begunAt: number | undefined;

  constructor(parts: LifecycleParts) {
    this.#parts = parts;
    this.#listedAt = parts.clock.monotonic();
  }

  /** What the last list had. */
  get pods(): readonly RuntimePod[] {
    return this.#pods;
  }

  /** How long ago the runtime was listed last. */
  get silentMs(): number {
    return this.#parts.clock.monotonic() - this.#listedAt;
  }

  /** Returns why the runtime does not answer; undefined if it does. */
  get error(): string | undefined {
    const elapsed = this.silentMs;
    return elapsed > healthyMs
      ? `PLEG is not healthy: pleg was last seen active ${Math.round(elapsed / 1000)}s ago; threshold is 3m0s`
      : undefined;
  }

  /** Lists for the first time, and goes on until the signal aborts. Rejects if the runtime cannot be listed. */
  async start(): Promise<void> {
    const {clock, runtime, signal, log} = this.#parts;
    const listener = runtime.changes?.(uid => this.#parts.changed(uid));
    if (listener) onAbort(signal, () => listener[Symbol.dispose]());
    await this.relist();
    every(clock, relistMs, signal, () =>
      this.relist().catch((error: unknown) => log.warn({err: error}, 'the runtime could not be listed')),
    );
  }

  async relist(): Promise<void> {
    const {clock, runtime, metrics} = this.#parts;
    const since = clock.monotonic();
    if (this.#begunAt !== undefined) metrics.relistInterval.observe((since - this.#begunAt) / 1000);
    this.#begunAt = since;
    const pods = await runtime.pods();
    this.#listedAt = clock.monotonic();
    metrics.relistDuration.observe((this.#listedAt - since) / 1000);
    metrics.lastSeen.set(clock.now() / 1000);
    const digests = new Map(pods.map(pod => [pod.pod.uid, digestOf(pod)]));
    const before = this.#digests;
    this.#pods = pods;
    this.#digests = digests;
    for (const [uid, digest] of digests) if (before.get(uid) !== digest) this.#parts.changed(uid);
    for (const uid of before.keys()) if (!digests.has(uid)) this.#parts.changed(uid);
  }
}
