// The records of simulated pods and containers: states, runs, stops and restart backoffs. Data only; `PodSync` decides.

import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {Backoff} from '#src/platlet/pod/backoff.js';
import type {ConditionState} from '#src/platlet/pod/conditions.js';
import type {Files} from '#src/simulation/files/files.js';
import type {LogEntry} from '#src/simulation/rules/log-entry.js';
import type {Resizing} from './resizing.js';
import type {PodAllocation} from '#src/platlet/pod/admission/allocation.js';
import type {Mounting} from './mounting.js';
import type {Role} from '#src/model/pod/spec-containers.js';

/** An ended run. All times in records are in ms of the timeline of pods. */
export interface Termination {
  readonly exitCode: number;
  readonly reason: string;
  readonly message?: string;
  readonly startedAt?: number;
  readonly finishedAt?: number;
  readonly id?: string;
}

/** A requested stop: the time and the exit code of the end. */
export interface Stop {
  readonly at: number;
  readonly exitCode: number;
}

/** The state of a container. `until`: the time of its next change. */
export type ContainerState =
  | {readonly is: 'waiting'; readonly reason?: string; readonly message?: string; readonly until?: number}
  | {
      readonly is: 'running';
      readonly startedAt: number;
      /** The times at which it is started, is ready, and exits by itself. */
      readonly startedBy: number;
      readonly readyBy: number;
      readonly exitsAt: number;
      readonly stop?: Stop;
    }
  | ({readonly is: 'ended'} & Termination);

/** The record of a container. */
export interface ContainerRecord {
  readonly name: string;
  readonly role: Role;
  state: ContainerState;
  last?: Termination;
  restarts: number;
  /** The id of the current or last run. */
  id?: string;
  /** The end of the current pull. */
  pullDoneAt?: number;
  /** Whether the image of the next run is present. */
  pulled?: boolean;
  pullBackoff?: Backoff & {readonly error: string};
  restartBackoff?: Backoff;
}

/** Why a pod is terminating, and how its status shows that. */
export interface PodTermination {
  readonly since: number;
  /** The time at which containers are killed. */
  deadline: number;
  readonly reason?: string;
  readonly message?: string;
  /** Whether the pod fails regardless of its containers. */
  readonly failed?: boolean;
  /** The condition of an evicted pod. */
  readonly disruption?: ConditionState;
}

/** The record of one run of a container. */
export interface RunRecord {
  /** The log entries of the rules when the run started, and lines written since then. */
  readonly entries: readonly LogEntry[];
  readonly written: LogEntry[];
  /** Its file system; undefined until first used. */
  files?: Files;
}

/** Missing objects that a pod refers to. */
export interface Missing {
  /** Why a volume cannot be mounted; then no container starts. */
  readonly mount?: {readonly volume: string; readonly why: string};
  /** Why the environment of a container cannot be built, by container name. */
  readonly configs: ReadonlyMap<string, string>;
  /** The number of containers that were checked. */
  readonly containers: number;
  /** The time of the next check. */
  readonly retryAt: number;
}

/** A device of a claim. */
export interface ClaimedDevice {
  readonly driver: string;
  readonly pool: string;
  readonly device: string;
}

/** The record of a pod: everything that its status is computed from. */
export interface PodRecord {
  readonly uid: string;
  readonly key: string;
  readonly nodeName: string;
  /** The newest known version of the pod: from the cache, or from the response to a write. */
  pod: Frozen<Pod>;
  readonly startTime: number;
  /** The number of syncs requested for other reasons than a change of the pod. */
  requests: number;
  /**
   * The version of the pod and the request up to which it is synced, and the time of the next sync; undefined if other
   * work may be left.
   */
  synced?: {readonly version: string | undefined; readonly requests: number; readonly nextAt: number};
  /** In the order of the spec: init containers first, ephemeral ones last. */
  readonly containers: ContainerRecord[];
  /** The time at which the sandbox is ready; nothing runs earlier. */
  sandboxAt: number;
  sandbox: 'pending' | 'up' | 'down';
  addresses: readonly string[];
  /** The resources allocated to it. */
  allocation?: PodAllocation;
  termination?: PodTermination;
  /** Nothing is running, and nothing will be restarted. */
  isFinished: boolean;
  /** Set if the node rejected the pod. */
  rejection?: {readonly reason: string; readonly message: string};
  deleted: boolean;
  readonly resizing: Resizing;
  /** The preparation of its devices, if it has claims: done, or the time of the retry. */
  devices?: {readonly isPrepared: boolean; readonly retryAt: number; readonly readyAt?: number};
  /** The devices of its claims, by claim; undefined while they are not known. */
  claimed?: ReadonlyMap<string, readonly ClaimedDevice[]>;
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
  /** When the record was removed: then streams of its logs end. */
  forgottenAt?: number;
  /** Containers whose program has exited, with the exit code. */
  readonly requestedExits: Map<string, number>;
  /** Called when the pod has changed. */
  readonly listeners: Set<() => void>;
}

/** Whether a regular container has run: then the init containers have completed. */
export const isInitialized = ({containers}: PodRecord): boolean =>
  containers.some(({role, state, last, restarts}) => role === 'regular' && (state.is !== 'waiting' || last !== undefined || restarts > 0));

export const isRunning = ({containers}: PodRecord): boolean => containers.some(({state}) => state.is === 'running');
