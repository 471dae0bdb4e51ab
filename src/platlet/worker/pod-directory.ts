// All that an agent knows of the pods of its node.

import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {isAlive, type RuntimePod} from '#src/platlet/runtime/state.js';
import type {PodSources} from '#src/platlet/sources/pod-sources.js';
import type {StatusManager} from '#src/platlet/status/status-manager.js';
import type {LifecycleEvents} from './lifecycle-events.js';
import type {WorkingPods} from './working-pods.js';

export interface PodDirectoryParts {
  readonly sources: PodSources;
  readonly statuses: StatusManager;
  readonly runtime: LifecycleEvents;
  readonly working: WorkingPods;
}

/**
 * The pods of a node as known by sources, workers, status manager and runtime. Created empty, before anything works on
 * pods.
 */
export class PodDirectory {
  readonly sources: PodSources;
  readonly statuses: StatusManager;
  readonly runtime: LifecycleEvents;
  /** The pods that have workers. */
  readonly working: WorkingPods;

  constructor({sources, statuses, runtime, working}: PodDirectoryParts) {
    this.sources = sources;
    this.statuses = statuses;
    this.runtime = runtime;
    this.working = working;
  }

  /** The pods of all sources, with the statuses of the agent. */
  get shown(): readonly Frozen<Pod>[] {
    return [...this.sources.all()].map(pod => {
      const own = this.statuses.statusOf(pod.metadata?.uid ?? '');
      return own ? {...pod, status: {...pod.status, ...own}} : pod;
    });
  }

  /** Whether anything of a pod ran at the time of the last runtime list. */
  isRunning(uid: string): boolean {
    return this.listed.some(listed => listed.pod.uid === uid && isAlive(listed));
  }

  /** The pods of the last runtime list. */
  get listed(): readonly RuntimePod[] {
    return this.runtime.pods;
  }
}
