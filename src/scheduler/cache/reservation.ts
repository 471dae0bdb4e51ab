import type {PodInfo} from './pod-info.js';

/** What a plugin reserves for a pod before it is bound. */
export interface Reservation {
  /** Writes the reservation and waits until the pod may use it. */
  preBind(pod: PodInfo, signal: AbortSignal): Promise<void>;
  /** Releases the reservation, as far as it is not written. */
  unreserve(pod: PodInfo): void;
}
