// The state of a pod's sandboxes and containers in a runtime.

import type {ImageSpec} from './images.js';
import type {ActualResources} from './limits.js';

/** The identity of a pod in the labels of its sandboxes and containers. */
export interface PodIdentity {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

export interface Sandbox {
  readonly id: string;
  readonly pod: PodIdentity;
  /** The number of the sandbox of its pod, from 0. */
  readonly attempt: number;
  readonly isReady: boolean;
  readonly createdAt: number;
  /** Empty for pods in the host network and for stopped sandboxes. */
  readonly addresses: readonly string[];
  readonly usesHostNetwork: boolean;
  readonly handler: string;
  readonly annotations: Readonly<Record<string, string>>;
}

/** `unknown`: the runtime has lost track of it. */
export type InstanceState = 'created' | 'running' | 'exited' | 'unknown';

/** A mount of a run. */
export interface InstanceMount {
  readonly containerPath: string;
  readonly hostPath: string;
  readonly recursiveReadonly?: boolean;
  /** The image that is mounted, if that is one. */
  readonly image?: string;
}

/** One run of a container of a pod. */
export interface ContainerInstance {
  readonly id: string;
  readonly sandbox: string;
  readonly pod: PodIdentity;
  /** The name of the container in the pod. */
  readonly name: string;
  /** The number of the run, from 0: the restart count. */
  readonly attempt: number;
  readonly state: InstanceState;
  readonly createdAt: number;
  /** Undefined before the start. */
  readonly startedAt?: number;
  readonly finishedAt?: number;
  readonly exitCode?: number;
  readonly reason?: string;
  readonly message?: string;
  /** As in the pod spec. */
  readonly image: ImageSpec;
  /** The `imageID` of the container status. */
  readonly imageRef: string;
  /** The id of the image on the node. */
  readonly imageId?: string;
  readonly logPath?: string;
  readonly user?: {readonly uid: number; readonly gid: number; readonly supplementalGroups: readonly number[]};
  readonly annotations: Readonly<Record<string, string>>;
  /** What it runs with; absent if the runtime does not tell. */
  readonly resources?: ActualResources;
  readonly mounts?: readonly InstanceMount[];
}

/** The sandboxes and containers of one pod, newest first. */
export interface RuntimePod {
  readonly pod: PodIdentity;
  readonly sandboxes: readonly Sandbox[];
  readonly containers: readonly ContainerInstance[];
}

/** What a runtime tells at once when a container or a sandbox changes. */
export interface ContainerEvent {
  /** Of the container or the sandbox. */
  readonly id: string;
  readonly type: 'created' | 'started' | 'stopped' | 'deleted';
  readonly createdAt: number;
  readonly sandbox: Sandbox;
  /** All containers of the sandbox, with the fields of a list. */
  readonly containers: readonly ContainerInstance[];
}

/** Returns the state of a pod that is unknown to the runtime. */
export const emptyRuntimePod = (pod: PodIdentity): RuntimePod => ({pod, sandboxes: [], containers: []});

/** Whether a pod has running containers or holds resources. */
export const isAlive = ({sandboxes, containers}: RuntimePod): boolean =>
  sandboxes.some(({isReady}) => isReady) || containers.some(({state}) => state === 'running');
