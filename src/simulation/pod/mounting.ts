/** The state of a pod's volumes on the node. */
export interface Mounting {
  /** Names of the pod's volumes that are mounted. */
  readonly mounted: Set<string>;
  /** Why the others are not. */
  waiting: readonly {readonly volume: string; readonly why: string}[];
  /** When to look again if nothing changes; infinity for not at all. */
  retryAt: number;
  /** Attempts of failed mounts, by volume. */
  readonly failures: Map<string, {readonly delayMs: number; readonly retryAt: number}>;
  /** When to report the wait. */
  reportAt: number;
}
