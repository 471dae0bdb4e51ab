import type {Frozen} from '#src/api/key.js';
import type {ObjectOf, kinds} from '#src/api/kinds.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import {isAvailable, isReady} from '#src/model/pod/state.js';

export type StatefulSet = Frozen<ObjectOf<typeof kinds.statefulSets>>;
export type StatefulSetStatus = NonNullable<ObjectOf<typeof kinds.statefulSets>['status']>;
export type Claim = ObjectOf<typeof kinds.persistentVolumeClaims>;

/** The label of a pod with the name of the revision it was made from. */
export const revisionLabel = 'controller-revision-hash';

/** The labels that tell a pod's place in its set. */
export const podLabels = (naming: Naming): {readonly podName: string; readonly podIndex: string} => ({
  podName: naming.subKey('statefulset', 'pod-name'),
  podIndex: naming.subKey('apps', 'pod-index'),
});

/** The name of the revision that a pod was made from; empty if it does not say. */
export const revisionOfPod = ({metadata}: Frozen<Pod>): string => metadata?.labels?.[revisionLabel] ?? '';

export const isTerminating = ({metadata}: Frozen<Pod>): boolean => Boolean(metadata?.deletionTimestamp);

/** Whether all pods may be made and deleted at once, instead of one after the other. */
export const isParallel = ({spec}: StatefulSet): boolean => spec?.podManagementPolicy === 'Parallel';

export const isRunningAndReady = (pod: Frozen<Pod>): boolean => pod.status?.phase === 'Running' && isReady(pod);

/** Whether the pod has been ready for as long as the set asks for. */
export const isServing = (pod: Frozen<Pod>, {spec}: StatefulSet, now: number): boolean => isAvailable(pod, spec?.minReadySeconds ?? 0, now);

/** Whether the pod is not running, not ready for as long as the set asks for, or being deleted. A place without a pod is unavailable too. */
export const isUnavailable = (pod: Frozen<Pod> | undefined, set: StatefulSet, now: number): boolean =>
  !pod || !isRunningAndReady(pod) || !isServing(pod, set, now) || isTerminating(pod);
