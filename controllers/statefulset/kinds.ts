import type {Frozen} from '#src/api/key.js';
import type {ObjectOf, kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import {isAvailable, isReady} from '#src/model/pod/state.js';

export type StatefulSet = Frozen<ObjectOf<typeof kinds.statefulSets>>;
export type StatefulSetStatus = NonNullable<ObjectOf<typeof kinds.statefulSets>['status']>;
export type Claim = ObjectOf<typeof kinds.persistentVolumeClaims>;

/** The label of a pod with the name of its revision. */
export const revisionLabel = 'controller-revision-hash';

/** The labels with a pod's name and ordinal. */
export const podLabels = (naming: Naming): {readonly podName: string; readonly podIndex: string} => ({
  podName: naming.subKey('statefulset', 'pod-name'),
  podIndex: naming.subKey('apps', 'pod-index'),
});

/** Returns the revision of a pod; empty if unknown. */
export const revisionOfPod = ({metadata}: Frozen<Pod>): string => metadata?.labels?.[revisionLabel] ?? '';

export const isTerminating = ({metadata}: Frozen<Pod>): boolean => Boolean(metadata?.deletionTimestamp);

/** Whether pods may be created and deleted concurrently. */
export const isParallel = ({spec}: StatefulSet): boolean => spec?.podManagementPolicy === 'Parallel';

export const isRunningAndReady = (pod: Frozen<Pod>): boolean => pod.status?.phase === 'Running' && isReady(pod);

/** Whether the pod is available. */
export const isServing = (pod: Frozen<Pod>, {spec}: StatefulSet, now: number): boolean => isAvailable(pod, spec?.minReadySeconds ?? 0, now);

/** Whether the pod is missing, not running and ready, not available yet, or being deleted. */
export const isUnavailable = (pod: Frozen<Pod> | undefined, set: StatefulSet, now: number): boolean =>
  !pod || !isRunningAndReady(pod) || !isServing(pod, set, now) || isTerminating(pod);
