// What the runtime has of a pod, looked up by container.

import type {ContainerInstance, RuntimePod} from '#src/platlet/runtime/state.js';

/** Returns the newest run of a container; undefined if the runtime has none. */
export const latestOf = ({containers}: RuntimePod, name: string): ContainerInstance | undefined =>
  containers.find(instance => instance.name === name);

/** Returns the runs of a container, newest first. */
export const runsOf = ({containers}: RuntimePod, name: string): readonly ContainerInstance[] =>
  containers.filter(instance => instance.name === name);

export const isRunning = ({state}: ContainerInstance): boolean => state === 'running';

/** Whether any container of a pod runs, or may run since its state is unknown. */
export const hasRunning = ({containers}: RuntimePod): boolean => containers.some(({state}) => state === 'running' || state === 'unknown');

/** Whether a run ended with failure. */
export const hasFailed = ({state, exitCode}: ContainerInstance): boolean => state === 'unknown' || (state === 'exited' && exitCode !== 0);
