// The ports of a pod worker to the node, besides the runtime. The real agent implements them on the host
// (`src/platlet/volumes`, `cgroups`, `inputs`, `images`), the simulation by rules.

import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Pod, Volume} from '#src/api/pod.js';
import type {CgroupLimits} from '#src/platlet/runtime/limits.js';
import type {
  ContainerConfig,
  ContainerResources,
  DeviceConfig,
  MountConfig,
  SandboxConfig,
  SandboxUpdate,
} from '#src/platlet/runtime/configs.js';
import type {ImageSpec} from '#src/platlet/runtime/images.js';
import type {Runtime} from '#src/platlet/runtime/runtime.js';
import type {ActualResources} from '#src/platlet/runtime/limits.js';
import type {ContainerInstance, PodIdentity} from '#src/platlet/runtime/state.js';
import type {OwnStatus} from './status.js';

/**
 * Thrown while a container or pod has to wait: shown as the reason and message of the waiting state, and retried with
 * backoff.
 */
export class WaitingError extends Error {
  override readonly name = 'WaitingError';
  readonly reason: string;

  constructor(reason: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** Thrown when the volumes of a pod are not mounted in time. The pod is synced again, without an event. */
export class MountTimeout extends Error {
  override readonly name = 'MountTimeout';
}

/** The volumes of pods. */
export interface PodVolumes {
  /** Called with a pod that is new on the node or has changed. */
  track?(pod: Frozen<Pod>): void;
  /**
   * Mounts the volumes of a pod, and updates those that are mounted. Rejects if volumes are not ready: with
   * `MountTimeout` after a while, with `PodRejected` if the node cannot have them, at once if some cannot be used.
   */
  mount(pod: Frozen<Pod>, signal: AbortSignal): Promise<void>;
  /** Returns the content of a file in a mounted volume, up to a number of bytes; undefined if it is missing. */
  readFile?(pod: Frozen<Pod>, volume: string, path: string, maxBytes: number): Promise<Buffer | undefined>;
  /**
   * Unmounts and removes all volumes of a pod whose containers have exited. Returns whether none is left; it is called
   * again until then.
   */
  release(uid: string): Promise<boolean>;
  /** Removes the volumes of unknown pods. */
  sweep?(isKnown: (uid: string) => boolean): Promise<void>;
}

/** The volumes of a pod as its containers see them. */
export interface PodMounts {
  /** Returns the supplemental groups of a pod's volumes. */
  groupsOf?(pod: Frozen<Pod>): readonly number[];
  /** Returns the block devices of a container. Throws `WaitingError`. */
  devicesOf?(pod: Frozen<Pod>, container: Frozen<AnyContainer>): readonly DeviceConfig[];
  /** Returns the mounts of a container whose volumes are mounted. Throws `WaitingError`. */
  mountsOf(
    pod: Frozen<Pod>,
    container: Frozen<AnyContainer>,
    environment: ReadonlyMap<string, string>,
    images?: ReadonlyMap<string, ImageSpec>,
  ): Promise<readonly MountConfig[]>;
}

/** The cgroups of pods. */
export interface PodCgroups {
  /**
   * Creates the cgroup of a pod if it is missing, and returns the parent of its containers' groups. The limits of the
   * pod are set unless its containers run.
   */
  ensure(pod: Frozen<Pod>, isRunning?: boolean): Promise<string>;
  /** Whether pods have groups of their own, with limits. */
  readonly hasLimits: boolean;
  /** Returns the limits that a pod is to have. */
  limitsFor(pod: Frozen<Pod>): CgroupLimits;
  /** Returns the limits that a pod, or one of its containers by its id, has; undefined if the group is not found. */
  limitsOf(pod: Frozen<Pod>, container?: string): Promise<ActualResources | undefined>;
  /** Returns the memory that a pod, or one of its containers, uses; undefined if the group is not found. */
  memoryOf(pod: Frozen<Pod>, container?: string): Promise<number | undefined>;
  /** Reads a file of the group of a pod, or of one of its containers, in version 2; undefined if it is not there. */
  read?(pod: Frozen<Pod>, file: string, container?: string): Promise<string | undefined>;
  /** Changes limits of a pod; those that are undefined stay as they are. */
  change(pod: Frozen<Pod>, limits: CgroupLimits): Promise<void>;
  /** Whether the cgroup of a pod exists. */
  exists?(pod: Frozen<Pod>): Promise<boolean>;
  /** Kills the processes in the cgroup of a pod and removes it. Returns whether it was removed. */
  remove(uid: string): Promise<boolean>;
  /** Removes the cgroups of unknown pods. */
  sweep?(isKnown: (uid: string) => boolean): Promise<void>;
}

/** The image of a container on the node. */
export interface PulledImage {
  /** The image reference that the container is created with. */
  readonly ref: string;
  /** The user of the image, for containers without one. */
  readonly uid?: number;
  readonly username?: string;
}

/** Provides images to containers. */
export interface Images {
  /** Called before the containers of a pod are started: records an event if pull secrets are missing. */
  prepare?(pod: Frozen<Pod>): Promise<void>;
  /**
   * Returns the image of a container, pulled according to its policy. Records events. Throws `WaitingError`, with
   * reasons such as `ErrImagePull` and `ImagePullBackOff`.
   */
  ensure(pod: Frozen<Pod>, container: Frozen<AnyContainer>, signal: AbortSignal): Promise<PulledImage>;
  /** Returns the image of a volume likewise; undefined if images are not mounted. Absent: as if they were not. */
  ensureVolume?(pod: Frozen<Pod>, volume: Frozen<Volume>, signal: AbortSignal): Promise<ImageSpec | undefined>;
}

/** The inputs of a container configuration besides the pod. */
export interface ContainerConfigRequest {
  readonly pod: Frozen<Pod>;
  readonly container: Frozen<AnyContainer>;
  /** The restart count. */
  readonly attempt: number;
  readonly image: PulledImage;
  /** The images that it mounts, by volume. */
  readonly imageVolumes?: ReadonlyMap<string, ImageSpec>;
  readonly sandbox: SandboxConfig;
  readonly addresses: readonly string[];
  /** The id of the target container of an ephemeral one. */
  readonly targetId?: string;
}

/** Builds the configurations of sandboxes and containers. */
export interface PodConfigs {
  /**
   * Returns the configuration of a sandbox and the name of the runtime handler. Creates the log directory of the pod.
   */
  sandbox(pod: Frozen<Pod>, attempt: number, cgroupParent: string): Promise<{readonly config: SandboxConfig; readonly handler: string}>;
  /** Returns the resources of a container, for one that runs. */
  resources(pod: Frozen<Pod>, container: Frozen<AnyContainer>): ContainerResources;
  /** Returns what a runtime is told of a pod whose group has these limits. */
  sandboxUpdate(pod: Frozen<Pod>, limits: ContainerResources): SandboxUpdate;
  /** Returns the configuration of a container. Throws `WaitingError`, with reason `CreateContainerConfigError`. */
  container(request: ContainerConfigRequest): Promise<ContainerConfig>;
}

/** The files that containers leave on the node. */
export interface ContainerOutput {
  /** Returns the content of the termination message file; empty without one. */
  terminationMessage(instance: ContainerInstance): Promise<string>;
  /** Returns the tail of the log, up to a number of lines and bytes. */
  logTail(instance: ContainerInstance, lines: number, bytes: number): Promise<string>;
  /** Returns the highest attempt of a container that has a log; undefined if there is none. */
  lastAttempt(pod: Frozen<Pod>, container: string): Promise<number | undefined>;
  /** Called when a container has started, with the path of its log. */
  started?(pod: PodIdentity, container: string, id: string, log: string): Promise<void>;
  /** Called before a run is removed from the runtime: removes its log, those rotated from it, and the link to it. */
  removeLogs?(run: ContainerInstance): Promise<void>;
  /** Removes the files of unknown pods. */
  sweep?(isKnown: (uid: string) => boolean): Promise<void>;
}

/** Reports the statuses of pods. */
export interface PodStatuses {
  /** Reports the status of a pod. */
  set(pod: Frozen<Pod>, status: OwnStatus): void;
  /** Called when nothing of a pod is left on the node: if it is being deleted, its object is removed. */
  finished(pod: Frozen<Pod>): void;
  /** Called when a pod is no longer on the node: its last status does not apply to another pod. */
  forget(uid: string): void;
  /** Returns the status reported last, which may not have been written yet; undefined if there is none. */
  statusOf(uid: string): OwnStatus | undefined;
}

/** The ports through which pod workers act on the machine. */
export interface PodPorts {
  readonly runtime: Runtime;
  readonly images: Images;
  readonly volumes: PodVolumes;
  readonly cgroups: PodCgroups;
  readonly configs: PodConfigs;
  readonly output: ContainerOutput;
}
