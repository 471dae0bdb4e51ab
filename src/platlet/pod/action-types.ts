// What is to be done for a pod, and what that depends on.

import type {Frozen} from '#src/api/key.js';
import type {AnyContainer} from '#src/api/pod.js';
import type {ContainerInstance, RuntimePod} from '#src/platlet/runtime/state.js';
import type {KillReason} from './kill.js';
import type {ProbeResults} from './probe-results.js';
import type {RestartGates} from './restart.js';

/** A container that must not run on while its pod does. */
export interface ContainerToKill {
  readonly instance: ContainerInstance;
  readonly container: Frozen<AnyContainer>;
  /** The text of the event. */
  readonly message: string;
  readonly reason?: KillReason;
}

/** What is to be done, in the order of the members. Containers are named. */
export interface PodActions {
  /** All containers and the sandbox are killed. */
  readonly killPod: boolean;
  readonly toKill: readonly ContainerToKill[];
  /** All containers are ended and removed; the pod begins anew in its sandbox. */
  readonly restartAll: boolean;
  readonly createSandbox: boolean;
  /** Of the sandbox to create or to use. */
  readonly attempt: number;
  /** Of the sandbox to use, or of the one that is replaced. */
  readonly sandbox?: string;
  readonly ephemeral: readonly string[];
  readonly initContainers: readonly string[];
  readonly containers: readonly string[];
}

/** What actions depend on beside the pod. */
export interface ActionInputs {
  readonly runtime: RuntimePod;
  readonly probes: ProbeResults;
  readonly gates?: RestartGates;
  /** Whether a run was created from another definition of the container. */
  isChanged(container: Frozen<AnyContainer>, instance: ContainerInstance): boolean;
}
