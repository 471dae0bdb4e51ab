// The simulated node's records of containers: their states, runs, stops and restart backoffs. Data only; the pod's sync
// decides.

import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {Backoff} from '#src/platlet/pod/backoff.js';
import type {Files} from '#src/simulation/files/files.js';
import type {LogEntry} from '#src/simulation/rules/log-entry.js';
import type {Resizing} from './resizing.js';
import type {PodAllocation} from '#src/platlet/pod/admission/allocation.js';
import type {Mounting} from './mounting.js';
import type {Role} from '#src/model/pod/spec-containers.js';

/** A run that has ended. All times of records are those of the timeline of pods. */
export interface Termination {
  readonly exitCode: number;
  readonly reason: string;
  readonly message?: string;
  readonly startedAt?: number;
  readonly finishedAt?: number;
  readonly id?: string;
}

/** A requested stop: when the container will have ended, and with which code. */
export interface Stop {
  readonly at: number;
  readonly exitCode: number;
}

/** The state of a container. `until`: when to sync again. */
export type ContainerState =
  | {readonly is: 'waiting'; readonly reason?: string; readonly message?: string; readonly until?: number}
  | {
      readonly is: 'running';
      readonly startedAt: number;
      /** When it is started, when it is ready, and when it ends by itself. */
      readonly startedBy: number;
      readonly readyBy: number;
      readonly exitsAt: number;
      readonly stop?: Stop;
    }
  | ({readonly is: 'ended'} & Termination);

/** The node's record of a container. */
export interface ContainerRecord {
  readonly name: string;
  readonly role: Role;
  state: ContainerState;
  last?: Termination;
  restarts: number;
  /** The id of the current or last run. */
  id?: string;
  /** When the current pull is done. */
  pullDoneAt?: number;
  /** Whether the image of the next run is there. */
  pulled?: boolean;
  pullBackoff?: Backoff & {readonly error: string};
  restartBackoff?: Backoff;
}

/** Why a pod is terminating, and how its status reports it. */
export interface PodTermination {
  readonly since: number;
  /** After this time containers are killed. */
  deadline: number;
  readonly reason?: string;
  readonly message?: string;
  /** Whether the pod failed regardless of its containers. */
  readonly failed?: boolean;
}

/** The node's record of one run of a container. */
export interface RunRecord {
  /** The log entries of the rules when the run began, and the lines written since. */
  readonly entries: readonly LogEntry[];
  readonly written: LogEntry[];
  /** Its file system; undefined until first used. */
  files?: Files;
}

/** Missing objects that a pod refers to. */
export interface Missing {
  /** Why a volume cannot be mounted; no container starts without it. */
  readonly mount?: {readonly volume: string; readonly why: string};
  /** Why the environment of a container cannot be built, by container. */
  readonly configs: ReadonlyMap<string, string>;
  /** How many containers were checked. */
  readonly containers: number;
  /** When to check again. */
  readonly retryAt: number;
}

/** The node's record of a pod: everything its status is computed from. */
export interface PodRecord {
  readonly uid: string;
  readonly key: string;
  readonly nodeName: string;
  /** The newest known state of the pod: from the cache, or from the response to a write. */
  pod: Frozen<Pod>;
  readonly startTime: number;
  /** How often a sync was requested for another reason than a change of the pod. */
  requests: number;
  /**
   * Up to which version of the pod and which request it is synced, and when it is to be synced next; not set if
   * something else may be to do.
   */
  synced?: {readonly version: string | undefined; readonly requests: number; readonly nextAt: number};
  /** In the order of the spec: init containers first, ephemeral ones last. */
  readonly containers: ContainerRecord[];
  /** When the sandbox is ready; nothing runs before. */
  sandboxAt: number;
  sandbox: 'pending' | 'up' | 'down';
  addresses: readonly string[];
  /** Its allocation of the node's resources. */
  allocation?: PodAllocation;
  termination?: PodTermination;
  /** Nothing runs any more, and nothing will. */
  isFinished: boolean;
  /** Set if the node rejected the pod. */
  rejection?: {readonly reason: string; readonly message: string};
  deleted: boolean;
  readonly resizing: Resizing;
  /** Its devices, if it has claims to some: whether they are prepared, or when to try again. */
  devices?: {readonly isPrepared: boolean; readonly retryAt: number; readonly readyAt?: number};
  /** Missing references at the last check. */
  missing?: Missing;
  /** The state of its volumes, if it has claims. */
  mounting?: Mounting;
  /** The last reported error of its annotations. */
  behaviorError?: string;
  /** The current and the previous run of each container, by id. */
  readonly runs: Map<string, RunRecord>;
  /** The log annotation that was applied already. */
  writtenAnnotation?: string;
  /** When the node removed the record: streams of its logs end. */
  forgottenAt?: number;
  /** Containers that end because their program has, with the exit code. */
  readonly requestedExits: Map<string, number>;
  /** Called when the pod has changed. */
  readonly listeners: Set<() => void>;
}

/** Whether a regular container has run: init containers are done from then on. */
export const isInitialized = ({containers}: PodRecord): boolean =>
  containers.some(({role, state, last, restarts}) => role === 'regular' && (state.is !== 'waiting' || last !== undefined || restarts > 0));

export const isRunning = ({containers}: PodRecord): boolean => containers.some(({state}) => state.is === 'running');
