// Lookups of container runs in the runtime state of a pod.

import type {ContainerInstance, RuntimePod} from '#src/platlet/runtime/state.js';

/** Returns the newest run of a container; undefined if there is none. */
export const latestOf = ({containers}: RuntimePod, name: string): ContainerInstance | undefined =>
  containers.find(instance => instance.name === name);

/** Returns the runs of a container, newest first. */
export const runsOf = ({containers}: RuntimePod, name: string): readonly ContainerInstance[] =>
  containers.filter(instance => instance.name === name);

export const isRunning = ({state}: ContainerInstance): boolean => state === 'running';

/** Whether any container of a pod is running, or in an unknown state and possibly running. */
export const hasRunning = ({containers}: RuntimePod): boolean => containers.some(({state}) => state === 'running' || state === 'unknown');

/** Whether a run exited with failure. */
export const hasFailed = ({state, exitCode}: ContainerInstance): boolean => state === 'unknown' || (state === 'exited' && exitCode !== 0);
