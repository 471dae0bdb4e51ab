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
