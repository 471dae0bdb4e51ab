import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import type {PluginName} from '#src/scheduler/plugin.js';

/** The part of the queue a pod waits in; `none` while it is being scheduled or bound. */
export type SubQueue = 'active' | 'backoff' | 'unschedulable' | 'none';

/** A pod that waits for a node, with what was tried so far. Times are those of the monotonic clock, in ms. */
export interface QueuedPod {
  info: PodInfo;
  subQueue: SubQueue;
  /** Grows whenever it changes its place: an entry of a heap with another number is out of date. */
  generation: number;
  /** When it came, or was last found not to fit. */
  since: number;
  /** When it was first due. */
  firstDue: number | undefined;
  attempts: number;
  /** How often it did not fit. */
  unschedulableCount: number;
  /** How often in a row it could not be tried for a fault. */
  errors: number;
  /** Who found, when it was last tried, that it does not fit. */
  rejectedBy: ReadonlySet<PluginName>;
  /** Who keeps it from being tried at all. */
  gatedBy: PluginName | undefined;
}

export const queuedPod = (info: PodInfo, now: number): QueuedPod => ({
  info,
  subQueue: 'none',
  generation: 0,
  since: now,
  firstDue: undefined,
  attempts: 0,
  unschedulableCount: 0,
  errors: 0,
  rejectedBy: new Set(),
  gatedBy: undefined,
});
