// The limits of cgroups, as they are wanted and as the kernel has them.

/** The limits of a cgroup. An undefined value is left unchanged. */
export interface CgroupLimits {
  readonly cpuShares?: number;
  /** 0: none. */
  readonly cpuQuota?: number;
  readonly cpuPeriod?: number;
  readonly memoryBytes?: number;
  /** The memory that is protected from being reclaimed; cgroups of version 2 only. */
  readonly memoryMin?: number;
  readonly pids?: number;
  /** Bytes by the size of pages, such as `2MB`. */
  readonly hugePages?: Readonly<Record<string, number>>;
}

/**
 * The limits that processes run with, as the kernel has them. What is not known, and memory without a limit, is absent.
 */
export interface ActualResources {
  readonly cpuShares?: number;
  /** Of cgroups of version 2, from which the shares were computed. */
  readonly cpuWeight?: number;
  /** -1: none. */
  readonly cpuQuota?: number;
  readonly cpuPeriod?: number;
  readonly memoryLimitBytes?: number;
}
