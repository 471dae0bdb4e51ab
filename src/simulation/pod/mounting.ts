/** The state of a pod's volumes on the node. */
export interface Mounting {
  /** Names of the pod's volumes that are mounted. */
  readonly mounted: Set<string>;
  /** Why the others are not mounted. */
  waiting: readonly {readonly volume: string; readonly why: string}[];
  /** The time of the next attempt if nothing changes; Infinity for none. */
  retryAt: number;
  /** Attempts of failed mounts, by volume. */
  readonly failures: Map<string, {readonly delayMs: number; readonly retryAt: number}>;
  /** The time of the next event about the wait. */
  reportAt: number;
}
