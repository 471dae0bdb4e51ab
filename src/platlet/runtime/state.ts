// What a runtime reports of the sandboxes and containers of a pod.

import type {ImageSpec} from './images.js';

/** The identity of a pod, as it is kept in the labels of its sandboxes and containers. */
export interface PodIdentity {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

export interface Sandbox {
  readonly id: string;
  readonly pod: PodIdentity;
  /** Counts the sandboxes of a pod, from 0. */
  readonly attempt: number;
  readonly isReady: boolean;
  readonly createdAt: number;
  /** Empty for pods in the host's network, and for stopped sandboxes. */
  readonly addresses: readonly string[];
  readonly usesHostNetwork: boolean;
  readonly handler: string;
  readonly annotations: Readonly<Record<string, string>>;
}

/** `unknown`: the runtime has lost it. */
export type InstanceState = 'created' | 'running' | 'exited' | 'unknown';

/** One run of a container of a pod. */
export interface ContainerInstance {
  readonly id: string;
  readonly sandbox: string;
  readonly pod: PodIdentity;
  /** The name of the container in the pod. */
  readonly name: string;
  /** Counts the runs of the container, from 0: the restart count. */
  readonly attempt: number;
  readonly state: InstanceState;
  readonly createdAt: number;
  /** Undefined before it has started. */
  readonly startedAt?: number;
  readonly finishedAt?: number;
  readonly exitCode?: number;
  readonly reason?: string;
  readonly message?: string;
  /** As the pod names it. */
  readonly image: ImageSpec;
  /** What `imageID` of a status shows. */
  readonly imageRef: string;
  /** The id of the image on the node. */
  readonly imageId?: string;
  readonly logPath?: string;
  readonly user?: {readonly uid: number; readonly gid: number; readonly supplementalGroups: readonly number[]};
  readonly annotations: Readonly<Record<string, string>>;
  readonly mounts?: readonly {readonly containerPath: string; readonly hostPath: string; readonly recursiveReadonly?: boolean}[];
}

/** The sandboxes and containers of one pod, newest first. */
export interface RuntimePod {
  readonly pod: PodIdentity;
  readonly sandboxes: readonly Sandbox[];
  readonly containers: readonly ContainerInstance[];
}

/** Returns the state of a pod of which the runtime has nothing. */
export const emptyRuntimePod = (pod: PodIdentity): RuntimePod => ({pod, sandboxes: [], containers: []});
