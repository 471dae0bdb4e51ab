import type {Frozen} from '#src/api/key.js';
import type {KubeObject} from '#src/api/types.js';

/** Further resources whose changes may make a pod schedulable. */
type WatchedResource =
  | 'PersistentVolume'
  | 'PersistentVolumeClaim'
  | 'StorageClass'
  | 'CSINode'
  | 'CSIDriver'
  | 'CSIStorageCapacity'
  | 'VolumeAttachment'
  | 'ResourceClaim'
  | 'DeviceClass'
  | 'ResourceSlice'
  | 'Workload';

/** Cluster events that may make a pending pod schedulable, by their metric labels. */
export type EventKind =
  | 'NodeAdd'
  | 'NodeDelete'
  | 'NodeUpdateNodeAllocatable'
  | 'NodeUpdateNodeLabel'
  | 'NodeUpdateNodeTaint'
  | 'NodeUpdateNodeCondition'
  | 'NodeUpdateNodeAnnotation'
  | 'NodeUpdateNodeDeclaredFeature'
  | 'AssignedPodAdd'
  | 'AssignedPodUpdate'
  | 'AssignedPodUpdatePodLabel'
  | 'AssignedPodUpdatePodScaleDown'
  | 'AssignedPodUpdatePodToleration'
  | 'AssignedPodUpdatePodSchedulingGatesEliminated'
  | 'AssignedPodUpdatePodGeneratedResourceClaim'
  | 'AssignedPodDelete'
  | 'UnschedulablePodAdd'
  | 'UnschedulablePodUpdate'
  | 'UnschedulablePodUpdatePodLabel'
  | 'UnschedulablePodUpdatePodScaleDown'
  | 'UnschedulablePodUpdatePodToleration'
  | 'UnschedulablePodUpdatePodSchedulingGatesEliminated'
  | 'UnschedulablePodUpdatePodGeneratedResourceClaim'
  | 'UnschedulablePodDelete'
  | `${WatchedResource}${'Add' | 'Update' | 'Delete'}`;

/** Events that move a pod between the parts of the scheduling queue. */
export type QueueEvent =
  | EventKind
  | 'ScheduleAttemptFailure'
  | 'BackoffComplete'
  | 'PopFromBackoffQ'
  | 'ForceActivate'
  | 'UnschedulableTimeout';

/** An event, with the old and the new object. */
export interface ClusterEvent {
  readonly kind: EventKind;
  readonly old?: Frozen<KubeObject> | undefined;
  readonly now?: Frozen<KubeObject> | undefined;
}
