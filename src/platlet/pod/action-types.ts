// The actions that sync a pod, and their inputs.

import type {Frozen} from '#src/api/key.js';
import type {AnyContainer} from '#src/api/pod.js';
import type {ContainerInstance, RuntimePod} from '#src/platlet/runtime/state.js';
import type {KillReason} from './kill.js';
import type {ProbeResults} from './probe-results.js';
import type {PodResize, ResizeInputs} from './resize-actions.js';
import type {RestartGates} from './restart.js';

/** A container to kill although its pod keeps running. */
export interface ContainerToKill {
  readonly instance: ContainerInstance;
  readonly container: Frozen<AnyContainer>;
  /** The message of the event. */
  readonly message: string;
  readonly reason?: KillReason;
}

/** The actions of a sync, executed in the order of the members. Containers are given by name. */
export interface PodActions {
  /** All containers and the sandbox are killed. */
  readonly killPod: boolean;
  readonly toKill: readonly ContainerToKill[];
  /** All containers are killed and removed; the pod restarts in the same sandbox. */
  readonly restartAll: boolean;
  readonly createSandbox: boolean;
  /** The attempt of the sandbox to create or to use. */
  readonly attempt: number;
  /** The id of the sandbox to use or to replace. */
  readonly sandbox?: string;
  readonly ephemeral: readonly string[];
  readonly initContainers: readonly string[];
  readonly containers: readonly string[];
  /** Resources that running containers are to have. */
  readonly resize?: PodResize;
}

/** The inputs of the actions besides the pod. */
export interface ActionInputs {
  readonly runtime: RuntimePod;
  readonly probes: ProbeResults;
  readonly gates?: RestartGates;
  /** What resizes depend on; absent for a pod that cannot be resized. */
  readonly resize?: ResizeInputs;
  /** Whether the container's definition has changed since a run was created. */
  isChanged(container: Frozen<AnyContainer>, instance: ContainerInstance): boolean;
}
