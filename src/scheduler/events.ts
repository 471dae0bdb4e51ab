import type {Frozen} from '#src/api/key.js';
import type {KubeObject} from '#src/api/types.js';

/** What happens in a cluster that may let a waiting pod fit, by the labels that metrics show. */
export type EventKind =
  | 'NodeAdd'
  | 'NodeDelete'
  | 'NodeUpdateNodeAllocatable'
  | 'NodeUpdateNodeLabel'
  | 'NodeUpdateNodeTaint'
  | 'NodeUpdateNodeCondition'
  | 'NodeUpdateNodeAnnotation'
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
  | `${'PersistentVolume' | 'PersistentVolumeClaim' | 'StorageClass' | 'CSINode' | 'CSIDriver' | 'CSIStorageCapacity' | 'VolumeAttachment' | 'ResourceClaim'}${'Add' | 'Update' | 'Delete'}`;

/** What moves a pod between the parts of the queue besides. */
export type QueueEvent = EventKind | 'ScheduleAttemptFailure' | 'BackoffComplete' | 'PopFromBackoffQ' | 'ForceActivate' | 'UnschedulableTimeout';

/** Something that happened, with the objects it happened to. */
export interface ClusterEvent {
  readonly kind: EventKind;
  readonly old?: Frozen<KubeObject> | undefined;
  readonly now?: Frozen<KubeObject> | undefined;
}
