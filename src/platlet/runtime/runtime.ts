// The port to what runs containers. `src/platlet/cri` implements it over the container runtime interface (gRPC on a
// unix socket), `src/simulation` by rules on a clock. Everything that decides (`src/platlet/pod`) sees only these
// types, so that a simulated pod and a real one pass through the same code.
//
// Times are milliseconds since the epoch. An operation rejects with a `RuntimeError`; a missing container or sandbox is
// no error for stop and remove.

import type {Duplex, Readable, Writable} from 'node:stream';
import type {ContainerConfig, SandboxConfig, SandboxUpdate, ContainerResources} from './configs.js';
import type {Image, ImageCredentials, ImageSpec, FilesystemUsage} from './images.js';
import type {ContainerEvent, ContainerInstance, RuntimePod, Sandbox} from './state.js';
import type {ContainerUsage, SandboxUsage} from './usage.js';

/** The error of an operation of the runtime, with the runtime's own text. */
export class RuntimeError extends Error {
  override readonly name = 'RuntimeError';
  readonly kind: RuntimeErrorKind;

  constructor(kind: RuntimeErrorKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

/** `timeout`: the operation may still take effect. `unavailable`: the runtime was not reached. */
export type RuntimeErrorKind = 'failed' | 'not-found' | 'timeout' | 'unavailable' | 'unimplemented';

export interface RuntimeVersion {
  /** As in `containerRuntimeVersion` of a Node: `containerd`, `1.6.20`. */
  readonly name: string;
  readonly version: string;
  readonly apiVersion: string;
}

/** A condition of the runtime: `RuntimeReady` or `NetworkReady`. */
export interface RuntimeCondition {
  readonly type: string;
  readonly status: boolean;
  readonly reason: string;
  readonly message: string;
}

/** A runtime handler that a RuntimeClass may name. */
export interface RuntimeHandler {
  readonly name: string;
  readonly recursiveReadOnlyMounts: boolean;
  readonly userNamespaces: boolean;
}

export interface RuntimeStatus {
  readonly conditions: readonly RuntimeCondition[];
  /** Absent if the runtime does not report them. */
  readonly handlers?: readonly RuntimeHandler[];
  /** Absent if the runtime reports no features. */
  readonly supplementalGroupsPolicy?: boolean;
}

/** The output of a completed command. */
export interface CommandResult {
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly exitCode: number;
}

/** The streams of a command; absent ones are not opened. With a terminal all output is on `stdout`. */
export interface ProcessStreams {
  readonly stdin?: Readable | undefined;
  readonly stdout?: Writable | undefined;
  readonly stderr?: Writable | undefined;
  readonly tty: boolean;
  /** Terminal sizes while the process runs. */
  readonly sizes?: AsyncIterable<{readonly width: number; readonly height: number}> | undefined;
}

/** Receives the events of a runtime. `connected` is called once the stream is open. */
export interface EventFollower {
  connected(): void;
  /** Undefined for an event of a pod that the runtime can no longer tell. */
  received(event: ContainerEvent | undefined): void;
}

/** Runs sandboxes and containers, and pulls images. */
export interface Runtime extends AsyncDisposable {
  version(): Promise<RuntimeVersion>;
  status(): Promise<RuntimeStatus>;
  /** The cgroup driver of the runtime; undefined if it does not report one. */
  cgroupDriver(): Promise<'cgroupfs' | 'systemd' | undefined>;
  /** Announces the pod CIDRs of the node, comma-separated. */
  updatePodCidr(podCidr: string): Promise<void>;

  /**
   * Lists the pods with sandboxes or containers, running or not. Containers have only the fields of the list: the exit
   * code needs `podStatus`.
   */
  pods(): Promise<readonly RuntimePod[]>;
  /** Returns all sandboxes and containers of a pod in full, newest first. */
  podStatus(uid: string): Promise<RuntimePod>;
  /**
   * Calls `listener` with the uid of a pod whose sandboxes or containers have changed, if the runtime supports events;
   * otherwise it has to be listed periodically.
   */
  readonly changes?: (listener: (uid: string) => void) => Disposable;
  /**
   * Follows the events of containers and sandboxes. Resolves when the signal aborts; rejects when the stream has ended,
   * whatever the reason.
   */
  followEvents(follower: EventFollower, signal: AbortSignal): Promise<void>;

  /** Creates and starts a sandbox. Returns its id. */
  runSandbox(config: SandboxConfig, handler: string): Promise<string>;
  /** Kills all processes of a sandbox and releases its network. */
  stopSandbox(id: string): Promise<void>;
  removeSandbox(id: string): Promise<void>;
  sandboxStatus(id: string): Promise<Sandbox>;
  /** Tells what the group of a sandbox's pod has been changed to. Not all runtimes can be told. */
  updateSandboxResources(id: string, update: SandboxUpdate): Promise<void>;

  /** Creates a container. Returns its id. */
  createContainer(sandbox: string, config: ContainerConfig, sandboxConfig: SandboxConfig): Promise<string>;
  startContainer(id: string): Promise<void>;
  /** Stops a container. Resolves once it has exited; it is killed after the grace period, in seconds. */
  stopContainer(id: string, graceSeconds: number): Promise<void>;
  removeContainer(id: string): Promise<void>;
  containerStatus(id: string): Promise<ContainerInstance>;
  updateResources(id: string, resources: ContainerResources): Promise<void>;
  reopenLog(id: string): Promise<void>;
  /** Checkpoints a container into an archive. The timeout is at least the usual one. Not all runtimes support it. */
  checkpoint(id: string, location: string, timeoutSeconds: number): Promise<void>;

  /** Runs a command to completion. Rejects with kind `timeout` after the given seconds; 0 is no limit. */
  execSync(id: string, command: readonly string[], timeoutSeconds: number): Promise<CommandResult>;
  /**
   * Runs a command with streams. Resolves with its exit code once all output is written; ends when the signal aborts.
   */
  exec(id: string, command: readonly string[], streams: ProcessStreams, signal: AbortSignal): Promise<number>;
  /** Attaches to the main process. Resolves when it or its streams have ended, with the exit code if known. */
  attach(id: string, streams: ProcessStreams, signal: AbortSignal): Promise<number>;
  /** Connects to a port in the network namespace of a sandbox. */
  portForward(sandbox: string, port: number, connection: Duplex, signal: AbortSignal): Promise<void>;

  containerUsage(): Promise<readonly ContainerUsage[]>;
  sandboxUsage(): Promise<readonly SandboxUsage[]>;

  images(): Promise<readonly Image[]>;
  /** Returns undefined if the image is not present. */
  imageStatus(image: ImageSpec): Promise<Image | undefined>;
  /** Pulls an image. Returns its reference. */
  pullImage(image: ImageSpec, credentials: ImageCredentials | undefined, sandboxConfig: SandboxConfig): Promise<string>;
  removeImage(image: ImageSpec): Promise<void>;
  /** Returns the image of sandboxes, if the runtime reports it. It is needed although no container uses it. */
  sandboxImage(): Promise<string | undefined>;
  /** The file systems of images and of containers, if these differ. */
  imageFilesystems(): Promise<{readonly images: readonly FilesystemUsage[]; readonly containers: readonly FilesystemUsage[]}>;
}
