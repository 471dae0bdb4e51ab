import type {ResourceUsage} from './usage.js';

/** What something uses now, and the processor time it has used since it began. */
export interface Consumption extends ResourceUsage {
  readonly cpuSeconds: number;
}

/** How often a probe was tried in the present run of its container, by what came of it. */
export interface ProbeStats {
  readonly type: 'Liveness' | 'Readiness' | 'Startup';
  readonly successful: number;
  readonly failed: number;
}

/** A container that runs. Times in ms since the epoch; limits and requests are absent where the spec has none. */
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
}

/** A pod of which something runs. */
export interface PodStats extends Consumption {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly startedAt: number;
  readonly containers: readonly ContainerStats[];
}

/** What the agent of a node measures, at one moment. */
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
    /** What its images take of the storage. */
    readonly imageBytes: number;
  };
  readonly pods: readonly PodStats[];
  /** How many pods there are, and how many containers by their states. */
  readonly known: {readonly pods: number; readonly active: number; readonly containers: {readonly running: number; readonly exited: number}};
}
