import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Pod, PodSpec} from '#src/api/pod.js';
import {isSidecar} from '#src/model/pod/restart.js';
import type {Files} from '#src/simulation/files/files.js';
import type {LogEntry} from '#src/simulation/log/entry.js';
import type {Resizing} from './resizing.js';
import type {PodAllocation} from '#src/simulation/node/allocation.js';
import type {Role} from '#src/simulation/rules/rules.js';

/** A run of a container that is over. Times in ms since the epoch. */
export interface Termination {
  readonly exitCode: number;
  readonly reason: string;
  readonly message?: string;
  readonly startedAt?: number;
  readonly finishedAt?: number;
  readonly id?: string;
}

/** A stop that was asked for: when the container will have ended, and how. */
export interface Stop {
  readonly at: number;
  readonly exitCode: number;
}

/** Where a container stands. `until`: when to look again. */
export type ContainerState =
  | {readonly is: 'waiting'; readonly reason?: string; readonly message?: string; readonly until?: number}
  | {
      readonly is: 'running';
      readonly startedAt: number;
      /** When it counts as started, when it is ready, and when it ends by itself. */
      readonly startedBy: number;
      readonly readyBy: number;
      readonly exitsAt: number;
      readonly stop?: Stop;
    }
  | ({readonly is: 'ended'} & Termination);

/** A delay that doubles: how long it is now, and since when it counts. */
export interface Backoff {
  readonly delayMs: number;
  readonly since: number;
}

/** What the node knows of a container. */
export interface ContainerRecord {
  readonly name: string;
  readonly role: Role;
  state: ContainerState;
  last?: Termination;
  restarts: number;
  /** Names the present run, or the one that ended last. */
  id?: string;
  /** When the pull under way is done. */
  pullDoneAt?: number;
  /** The image of the next run is there. */
  pulled?: boolean;
  pullBackoff?: Backoff & {readonly error: string};
  restartBackoff?: Backoff;
}

/** Why all containers of a pod are ended, and how its status tells of it. */
export interface PodTermination {
  readonly since: number;
  /** Past this moment containers are killed. */
  deadline: number;
  readonly reason?: string;
  readonly message?: string;
  /** Whether the pod failed whatever its containers said. */
  readonly failed?: boolean;
}

/** What the node keeps of one run of a container. */
export interface RunRecord {
  /** The log, as the rules said when the run began, and what was written into it since. */
  readonly entries: readonly LogEntry[];
  readonly written: LogEntry[];
  /** What was put into its file system; absent while nobody asked. */
  files?: Files;
}

/** What of what a pod refers to is not there. */
export interface Missing {
  /** Why a volume cannot be mounted, without which no container starts. */
  readonly mount?: {readonly volume: string; readonly why: string};
  /** Why the environment of a container cannot be made, by container. */
  readonly configs: ReadonlyMap<string, string>;
  /** When it is looked for again. */
  readonly retryAt: number;
}

/** What the node knows of a pod: everything its status is made of. */
export interface PodRecord {
  readonly uid: string;
  readonly key: string;
  readonly nodeName: string;
  /** The newest state of the pod that is known: from the cache, or from the answer to a write. */
  pod: Frozen<Pod>;
  readonly startTime: number;
  /** In the order of the spec: init containers first, ephemeral ones last. */
  readonly containers: ContainerRecord[];
  /** When the sandbox is there, without which nothing runs. */
  sandboxAt: number;
  sandbox: 'pending' | 'up' | 'down';
  addresses: readonly string[];
  /** What it takes of the node's room. */
  allocation?: PodAllocation;
  termination?: PodTermination;
  /** Nothing runs any more, and nothing will. */
  isFinished: boolean;
  /** The node would not take it. */
  rejection?: {readonly reason: string; readonly message: string};
  deleted: boolean;
  readonly resizing: Resizing;
  /** What it refers to and is not there, when it was last looked for. */
  missing?: Missing;
  /** What people were told of its instructions. */
  behaviorError?: string;
  /** The present run and the one before of each container, by their ids. */
  readonly runs: Map<string, RunRecord>;
  /** The instruction to write into logs that was carried out already. */
  writtenAnnotation?: string;
  /** When the node forgot the pod: what was read of it ends. */
  forgottenAt?: number;
  /** Containers that end because what they run has, and with which code. */
  readonly requestedExits: Map<string, number>;
  /** Called when the pod has changed. */
  readonly listeners: Set<() => void>;
}

export interface SpecContainer {
  readonly container: Frozen<AnyContainer>;
  readonly role: Role;
  readonly path: string;
}

/** Every container of a spec in the order of records, with its part and how Events call it. */
export function* specContainers(spec: Frozen<PodSpec>): Iterable<SpecContainer> {
  for (const container of spec.initContainers ?? []) yield {container, role: isSidecar(container) ? 'sidecar' : 'init', path: `spec.initContainers{${container.name}}`};
  for (const container of spec.containers) yield {container, role: 'regular', path: `spec.containers{${container.name}}`};
  for (const container of spec.ephemeralContainers ?? []) yield {container, role: 'ephemeral', path: `spec.ephemeralContainers{${container.name}}`};
}

/** Whether a container of an initialized pod has run: from then on init containers are done with. */
export const isInitialized = ({containers}: PodRecord): boolean =>
  containers.some(({role, state, last, restarts}) => role === 'regular' && (state.is !== 'waiting' || last !== undefined || restarts > 0));

export const isRunning = ({containers}: PodRecord): boolean => containers.some(({state}) => state.is === 'running');
