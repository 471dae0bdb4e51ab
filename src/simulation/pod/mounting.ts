import type {MissingVolume} from '#src/platlet/pod/missing-volumes.js';

/** The state of a pod's volumes on the node. */
export interface Mounting {
  /** Names of the pod's volumes that are mounted. */
  readonly mounted: Set<string>;
  /** The others. */
  waiting: readonly MissingVolume[];
  /** The time of the next attempt if nothing changes; Infinity for none. */
  retryAt: number;
  /** Attempts of failed mounts, by volume. */
  readonly failures: Map<string, {readonly delayMs: number; readonly retryAt: number}>;
  /** The time of the next event about volumes that cannot be used; Infinity while all may become ready. */
  reportAt: number;
}
