import type {PodInfo} from './cache/pod-info.js';

/** What a pod was given besides a node, before the node itself. */
export interface Reservation {
  /** Writes down what was given and waits until the pod may use it. */
  preBind(pod: PodInfo, signal: AbortSignal): Promise<void>;
  /** Takes back what was given, as far as it is not written down. */
  unreserve(pod: PodInfo): void;
}
