// What the worker of a pod needs of the node beside the runtime. The real agent implements these over the host
// (`src/platlet/volumes`, `cgroups`, `inputs`, `images`), the simulation by its rules.

import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Pod} from '#src/api/pod.js';
import type {ContainerConfig, MountConfig, SandboxConfig} from '#src/platlet/runtime/configs.js';
import type {Runtime} from '#src/platlet/runtime/runtime.js';
import type {ContainerInstance, PodIdentity} from '#src/platlet/runtime/state.js';
import type {OwnStatus} from './status.js';

/**
 * Thrown for what keeps a container or pod waiting: shown as the reason and message of its waiting state, and retried
 * with backoff.
 */
export class WaitingError extends Error {
  override readonly name = 'WaitingError';
  readonly reason: string;

  constructor(reason: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** The volumes of pods. */
export interface PodVolumes {
  /**
   * Mounts what the pod asks for, and refreshes what is mounted. Rejects after a while, with the text of a
   * `FailedMount` event, while volumes are missing.
   */
  mount(pod: Frozen<Pod>, signal: AbortSignal): Promise<void>;
  /** Returns a file in a mounted volume of a pod, of at most so many bytes; undefined if it is missing. */
  readFile?(pod: Frozen<Pod>, volume: string, path: string, maxBytes: number): Promise<Buffer | undefined>;
  /**
   * Unmounts and removes all volumes of a pod whose containers have ended. Returns whether nothing is left; it is
   * called again until then.
   */
  release(uid: string): Promise<boolean>;
  /** Removes what is left of pods that are not known. */
  sweep?(isKnown: (uid: string) => boolean): Promise<void>;
}

/** What containers have of the volumes of their pods. */
export interface PodMounts {
  /** Returns the groups that own volumes of a pod. */
  groupsOf?(pod: Frozen<Pod>): readonly number[];
  /** Returns the mounts of a container, whose volumes are mounted. Throws `WaitingError`. */
  mountsOf(pod: Frozen<Pod>, container: Frozen<AnyContainer>, environment: ReadonlyMap<string, string>): Promise<readonly MountConfig[]>;
}

/** The cgroups of pods. */
export interface PodCgroups {
  /** Creates the cgroup of a pod, or adapts it, and returns the parent of its containers' groups. */
  ensure(pod: Frozen<Pod>): Promise<string>;
  /** Whether the cgroup of a pod is there. */
  exists?(pod: Frozen<Pod>): Promise<boolean>;
  /** Ends what is left in the cgroup of a pod and removes it. Returns whether it is gone. */
  remove(uid: string): Promise<boolean>;
  /** Removes what is left of pods that are not known. */
  sweep?(isKnown: (uid: string) => boolean): Promise<void>;
}

/** The image of a container on the node. */
export interface PulledImage {
  /** What the container is created with. */
  readonly ref: string;
  /** The user of its processes, where the container names none. */
  readonly uid?: number;
  readonly username?: string;
}

/** Provides images. */
export interface Images {
  /** Called before the containers of a pod are started: records an event if secrets for its images are missing. */
  prepare?(pod: Frozen<Pod>): Promise<void>;
  /**
   * Returns the image of a container, pulled as its policy says. Records the events. Throws `WaitingError`, with
   * reasons such as `ErrImagePull` and `ImagePullBackOff`.
   */
  ensure(pod: Frozen<Pod>, container: Frozen<AnyContainer>, signal: AbortSignal): Promise<PulledImage>;
}

/** What a container is created from, beside its pod. */
export interface ContainerConfigRequest {
  readonly pod: Frozen<Pod>;
  readonly container: Frozen<AnyContainer>;
  /** The restart count. */
  readonly attempt: number;
  readonly image: PulledImage;
  readonly sandbox: SandboxConfig;
  readonly addresses: readonly string[];
  /** The id of the running container whose processes an ephemeral one sees. */
  readonly targetId?: string;
}

/** Builds what the runtime creates sandboxes and containers from. */
export interface PodConfigs {
  /**
   * Returns the configuration of a sandbox and the name of the runtime's handler. Creates the directory of the pod's
   * logs.
   */
  sandbox(pod: Frozen<Pod>, attempt: number, cgroupParent: string): Promise<{readonly config: SandboxConfig; readonly handler: string}>;
  /** Throws `WaitingError`, with reason `CreateContainerConfigError`. */
  container(request: ContainerConfigRequest): Promise<ContainerConfig>;
}

/** What runs of containers leave on the node. */
export interface ContainerOutput {
  /** Returns the content of the file for the termination message; empty without one. */
  terminationMessage(instance: ContainerInstance): Promise<string>;
  /** Returns the end of the log: at most so many lines and bytes. */
  logTail(instance: ContainerInstance, lines: number, bytes: number): Promise<string>;
  /** Returns the highest attempt of a container that left a log; undefined if none did. */
  lastAttempt(pod: Frozen<Pod>, container: string): Promise<number | undefined>;
  /** Called when a container has started, with the path of its log. */
  started?(pod: PodIdentity, container: string, id: string, log: string): Promise<void>;
  /** Removes what is left of pods that are not known. */
  sweep?(isKnown: (uid: string) => boolean): Promise<void>;
}

/** Reports the statuses of pods. */
export interface PodStatuses {
  /** Reports what the node knows of a pod. */
  set(pod: Frozen<Pod>, status: OwnStatus): void;
  /** Called when nothing is left of a pod on the node: if it is being deleted, its object goes. */
  finished(pod: Frozen<Pod>): void;
  /** Called when a pod is no longer on the node: what was reported of it does not count for another one. */
  forget(uid: string): void;
  /** Returns what was reported last, which may not have come back from the server; undefined if nothing was. */
  statusOf(uid: string): OwnStatus | undefined;
}

/** What the workers of pods act through on the machine. */
export interface PodPorts {
  readonly runtime: Runtime;
  readonly images: Images;
  readonly volumes: PodVolumes;
  readonly cgroups: PodCgroups;
  readonly configs: PodConfigs;
  readonly output: ContainerOutput;
}
