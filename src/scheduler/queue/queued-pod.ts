import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import type {PluginName} from '#src/scheduler/framework/plugin.js';

/** The sub-queue that holds a pod; `none` while it is being scheduled or bound. */
export type SubQueue = 'active' | 'backoff' | 'unschedulable' | 'none';

/** A pending pod, with the results of its attempts so far. Times are monotonic, in ms. */
export interface QueuedPod {
  info: PodInfo;
  subQueue: SubQueue;
  /** Increases with each move between sub-queues: a heap entry with another number is stale. */
  generation: number;
  /** Its place among all arrivals in the unschedulable sub-queue, the last time it came there. */
  arrival: number;
  /** When it was added, or last found unschedulable. */
  since: number;
  /** When it was first popped. */
  firstDue: number | undefined;
  attempts: number;
  /** The scheduling cycle in which it was last popped: cycles count the pods that are popped. */
  cycle: number;
  /** How many attempts found it unschedulable. */
  unschedulableCount: number;
  /** Consecutive attempts that ended with an error. */
  errors: number;
  /** The plugins that rejected it in the last attempt. */
  rejectedBy: ReadonlySet<PluginName>;
  /** The plugin that gates it. */
  gatedBy: PluginName | undefined;
}

export const queuedPod = (info: PodInfo, now: number): QueuedPod => ({
  info,
  subQueue: 'none',
  generation: 0,
  arrival: 0,
  since: now,
  firstDue: undefined,
  attempts: 0,
  cycle: 0,
  unschedulableCount: 0,
  errors: 0,
  rejectedBy: new Set(),
  gatedBy: undefined,
});
