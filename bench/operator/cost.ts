/** The processor time of a program until then, and the most memory that it had. */
export interface Cost {
  readonly cpuMs: number;
  readonly peakMb: number;
}

/** What an operator cost until its cache was synced, and until it had reconciled all objects. */
export interface Costs {
  readonly synced: Cost;
  readonly done: Cost;
}
