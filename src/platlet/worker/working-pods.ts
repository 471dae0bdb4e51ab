// The pods that an agent works on, and why.

import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {PodWorker} from './pod-worker.js';

/** The workers of a node's pods, by uid. */
export class WorkingPods {
  readonly #workers = new Map<string, PodWorker>();
  /** The pods that are gone from their source while their workers continue. */
  readonly #removed = new Set<string>();
  /** The pods that only the runtime had. */
  readonly #runtimeOnly = new Set<string>();

  get all(): Iterable<PodWorker> {
    return this.#workers.values();
  }

  get(uid: string): PodWorker | undefined {
    return this.#workers.get(uid);
  }

  /** The admitted pods that have not finished. */
  get active(): readonly Frozen<Pod>[] {
    return [...this.#workers.values()].filter(({stage}) => stage === 'sync' || stage === 'terminating').map(({pod}) => pod);
  }

  /** Why the agent works on a pod: a source has it, a source had it, or only the runtime has it. */
  originOf({uid}: Pick<PodWorker, 'uid'>): 'desired' | 'orphan' | 'runtime_only' {
    return this.#runtimeOnly.has(uid) ? 'runtime_only' : this.#removed.has(uid) ? 'orphan' : 'desired';
  }

  add(worker: PodWorker): void {
    this.#workers.set(worker.uid, worker);
    this.#removed.delete(worker.uid);
  }

  forget({uid}: PodWorker): void {
    this.#workers.delete(uid);
    this.#removed.delete(uid);
    this.#runtimeOnly.delete(uid);
  }

  /** Called when a pod is gone from its source while its worker continues. */
  markRemoved(uid: string): void {
    this.#removed.add(uid);
  }

  isRemoved(uid: string): boolean {
    return this.#removed.has(uid);
  }

  /** Called with a pod that no source has ever had. */
  markRuntimeOnly(uid: string): void {
    this.#runtimeOnly.add(uid);
  }
}
