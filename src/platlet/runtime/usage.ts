// Resource usage as a runtime reports it.

import type {FilesystemUsage} from './images.js';
import type {PodIdentity} from './state.js';

/** CPU time in nanoseconds since the start; `nanoCores` is the rate over the last interval. */
export interface CpuUsage {
  readonly at: number;
  readonly usageCoreNanoseconds?: bigint;
  readonly nanoCores?: number;
}

export interface MemoryUsage {
  readonly at: number;
  readonly workingSetBytes?: number;
  readonly availableBytes?: number;
  readonly usageBytes?: number;
  readonly rssBytes?: number;
  readonly pageFaults?: number;
  readonly majorPageFaults?: number;
}

export interface ContainerUsage {
  readonly id: string;
  readonly pod: PodIdentity;
  readonly name: string;
  readonly attempt: number;
  readonly cpu?: CpuUsage;
  readonly memory?: MemoryUsage;
  readonly writableLayer?: FilesystemUsage;
}

export interface InterfaceUsage {
  readonly name: string;
  readonly receivedBytes?: number;
  readonly receiveErrors?: number;
  readonly sentBytes?: number;
  readonly sendErrors?: number;
}

export interface SandboxUsage {
  readonly id: string;
  readonly pod: PodIdentity;
  readonly cpu?: CpuUsage;
  readonly memory?: MemoryUsage;
  /** The default interface first. */
  readonly network?: {readonly at: number; readonly interfaces: readonly InterfaceUsage[]};
  readonly processes?: number;
}
