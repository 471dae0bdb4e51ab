import type {ResourceUsage} from './usage.js';

/** How long tasks have waited for a resource: in microseconds in all, and in percent of the last seconds. */
export interface PressureLine {
  readonly total: number;
  readonly avg10: number;
  readonly avg60: number;
  readonly avg300: number;
}

/** Times at which some tasks waited, and at which all did. */
export interface PressureStats {
  readonly full: PressureLine;
  readonly some: PressureLine;
}

export interface ResourcePressure {
  readonly cpu?: PressureStats;
  readonly memory?: PressureStats;
  readonly io?: PressureStats;
}

/** What is swapped out, and what may still be if that is limited. */
export interface SwapStats {
  readonly usageBytes: number;
  readonly availableBytes?: number;
}

/** Current usage, and the CPU time since the start. */
export interface Consumption extends ResourceUsage {
  readonly cpuSeconds: number;
  /** Where it is measured. */
  readonly pressure?: ResourcePressure;
  readonly swap?: SwapStats;
}

/** The number of probes of a container's current run, by result. */
export interface ProbeStats {
  readonly type: 'Liveness' | 'Readiness' | 'Startup';
  readonly successful: number;
  readonly failed: number;
}

/** How long probes took: how many at most so many seconds, by the bounds of the buckets, and all. */
export interface ProbeDurations {
  readonly bounds: readonly number[];
  readonly counts: readonly number[];
  readonly count: number;
  readonly seconds: number;
}

/** The probes of one kind of a container since it is probed. */
export interface ContainerProbes extends ProbeStats {
  readonly namespace: string;
  readonly pod: string;
  readonly uid: string;
  readonly container: string;
  readonly unknown: number;
  readonly durations: ProbeDurations;
}

/** What is counted of a network interface. */
export interface InterfaceStats {
  readonly name: string;
  readonly receivedBytes?: number;
  readonly receiveErrors?: number;
  readonly sentBytes?: number;
  readonly sendErrors?: number;
}

/** What a file system has, or what is used of it. `at` is when it was measured, if not with the rest. */
export interface FilesystemStats {
  readonly at?: number;
  readonly capacityBytes?: number;
  readonly availableBytes?: number;
  readonly usedBytes?: number;
  readonly inodes?: number;
  readonly inodesFree?: number;
  readonly inodesUsed?: number;
}

/**
 * A volume of a pod, with the claim that it is of, if it is of one. An ephemeral one takes from the storage of the
 * node.
 */
export interface VolumeStats extends FilesystemStats {
  readonly name: string;
  readonly claim?: string;
  readonly isEphemeral: boolean;
  /** Whether the driver of the volume reports that it is not in order; absent if it does not say. */
  readonly isAbnormal?: boolean;
}

/** Parts of the memory in use, where they are known, and what is left below the limit. */
export interface MemoryStats {
  readonly availableBytes?: number;
  readonly usageBytes?: number;
  readonly rssBytes?: number;
  readonly pageFaults?: number;
  readonly majorPageFaults?: number;
}

/** A group of processes of the node that is not a pod. */
export interface SystemStats extends Consumption {
  readonly name: string;
  readonly startedAt: number;
  readonly memory?: MemoryStats;
}

/** A running container. Times in ms since the epoch; limits and requests are absent where the spec has none. */
export interface ContainerStats extends Consumption {
  readonly name: string;
  /** Without the runtime's scheme. */
  readonly id: string;
  readonly image: string;
  readonly startedAt: number;
  readonly cpuRequestMillis?: number;
  readonly cpuLimitMillis?: number;
  readonly memoryLimitBytes?: number;
  readonly probes: readonly ProbeStats[];
  readonly memory?: MemoryStats;
  /** What it has written over its image, and its logs. */
  readonly rootfs?: FilesystemStats;
  readonly logs?: FilesystemStats;
}

/** A pod of which something runs. */
export interface PodStats extends Consumption {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly startedAt: number;
  readonly containers: readonly ContainerStats[];
  readonly memory?: MemoryStats;
  /** The interfaces of its network namespace, the default one first. */
  readonly network?: readonly InterfaceStats[];
  readonly volumes?: readonly VolumeStats[];
  readonly processes?: number;
}

/** The measurements of a node agent at one time. */
export interface NodeStats extends Consumption {
  readonly name: string;
  readonly time: number;
  readonly startedAt: number;
  readonly machine: {
    readonly id: string;
    readonly systemId: string;
    readonly bootId: string;
    readonly cores: number;
    readonly memoryBytes: number;
    readonly storageBytes: number;
    /** The storage used by images. */
    readonly imageBytes: number;
  };
  readonly pods: readonly PodStats[];
  readonly system?: readonly SystemStats[];
  readonly memory?: MemoryStats;
  readonly network?: readonly InterfaceStats[];
  /** The file systems of the agent's data, of images and of containers; the last two with what they take. */
  readonly fs?: FilesystemStats;
  readonly imageFs?: FilesystemStats;
  readonly containerFs?: FilesystemStats;
  /** The most processes of the machine, and those that there are. */
  readonly processes?: {readonly max: number; readonly current: number};
  /** The number of pods, and of containers by state. */
  readonly known: {
    readonly pods: number;
    readonly active: number;
    readonly containers: {readonly running: number; readonly exited: number};
  };
}
