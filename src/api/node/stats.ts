import type {ResourceUsage} from './usage.js';

/** Current usage, and the CPU time since the start. */
export interface Consumption extends ResourceUsage {
  readonly cpuSeconds: number;
}

/** The number of probes of a container's current run, by result. */
export interface ProbeStats {
  readonly type: 'Liveness' | 'Readiness' | 'Startup';
  readonly successful: number;
  readonly failed: number;
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
}

/** A pod with a running container. */
export interface PodStats extends Consumption {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly startedAt: number;
  readonly containers: readonly ContainerStats[];
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
  /** The number of pods, and of containers by state. */
  readonly known: {
    readonly pods: number;
    readonly active: number;
    readonly containers: {readonly running: number; readonly exited: number};
  };
}
