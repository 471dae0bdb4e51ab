// What is cleaned up regularly: pods that no source has, and containers that have ended.

import {every, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {garbageOf, type GarbageLimits} from '#src/platlet/pod/garbage.js';
import type {Runtime} from '#src/platlet/runtime/runtime.js';
import type {RuntimePod} from '#src/platlet/runtime/state.js';
import type {PodWorkers} from './pod-workers.js';

const cleanMs = 2_000;
const collectMs = 60_000;

export interface HousekeepingParts {
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  readonly runtime: Pick<Runtime, 'pods' | 'removeContainer' | 'removeSandbox'>;
  readonly workers: PodWorkers;
  readonly limits: GarbageLimits;
  /** Whether every source of pods has delivered: before, nothing is cleaned up. */
  isReady(): boolean;
  /** Whether a source has a pod. */
  isKnown(uid: string): boolean;
  /** What the last list of the runtime had. */
  listed(): readonly RuntimePod[];
}

/** Whether anything of a pod runs or holds resources. */
const isAlive = ({sandboxes, containers}: RuntimePod): boolean =>
  sandboxes.some(({isReady}) => isReady) || containers.some(({state}) => state === 'running');

/** Cleans up until the signal aborts. */
export class Housekeeping {
  readonly #parts: HousekeepingParts;

  constructor(parts: HousekeepingParts) {
    this.#parts = parts;
    const {clock, signal, log} = parts;
    every(clock, cleanMs, signal, () => this.clean());
    every(clock, collectMs, signal, () => this.collect().catch((error: unknown) => log.warn({err: error}, 'garbage could not be collected')));
  }

  /** Ends pods that no source has. */
  clean(): void {
    const {workers, isReady, isKnown, listed} = this.#parts;
    if (!isReady()) return;
    workers.sweep(isKnown);
    for (const pod of listed()) if (!isKnown(pod.pod.uid) && isAlive(pod)) workers.orphan(pod);
  }

  /** Removes what has ended. */
  async collect(): Promise<void> {
    const {runtime, workers, limits, clock, isReady, isKnown} = this.#parts;
    if (!isReady()) return;
    const usefulness = (uid: string) => (isKnown(uid) || workers.get(uid) ? 'present' : 'gone');
    const {containers, sandboxes} = garbageOf(await runtime.pods(), usefulness, limits, clock.now());
    for (const id of containers) await runtime.removeContainer(id);
    for (const id of sandboxes) await runtime.removeSandbox(id);
  }
}
