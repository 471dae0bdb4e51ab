import type {GroupTable} from './group-table.js';

const v1alpha1 = {
  CSIStorageCapacity:
    '@1 metadata ObjectMeta; 2 nodeTopology *LabelSelector; 3 storageClassName string!; 4 capacity *quantity; 5 maximumVolumeSize *quantity',
  CSIStorageCapacityList: '@1 metadata ListMeta; 2 items []CSIStorageCapacity!',
  VolumeAttachment: '@1 metadata ObjectMeta; 2 spec VolumeAttachmentSpec; 3 status VolumeAttachmentStatus',
  VolumeAttachmentList: '@1 metadata ListMeta; 2 items []VolumeAttachment!',
  VolumeAttachmentSource: '1 persistentVolumeName *string; 2 inlineVolumeSpec *core/v1.PersistentVolumeSpec',
  VolumeAttachmentSpec: '1 attacher string!; 2 source VolumeAttachmentSource; 3 nodeName string!',
  VolumeAttachmentStatus: '1 attached bool!; 2 attachmentMetadata {string}; 3 attachError *VolumeError; 4 detachError *VolumeError',
  VolumeAttributesClass: '@1 metadata ObjectMeta; 2 driverName string!; 3 parameters {string}',
  VolumeAttributesClassList: '@1 metadata ListMeta; 2 items []VolumeAttributesClass!',
  VolumeError: '1 time time; 2 message string; 3 errorCode *int32',
};

const v1 = {
  ...v1alpha1,
  CSIDriver: '@1 metadata ObjectMeta; 2 spec CSIDriverSpec',
  CSIDriverList: '@1 metadata ListMeta; 2 items []CSIDriver!',
  CSIDriverSpec:
    '1 attachRequired *bool; 2 podInfoOnMount *bool; 3 volumeLifecycleModes []string; 4 storageCapacity *bool; 5 fsGroupPolicy *string; 6 tokenRequests []TokenRequest; 7 requiresRepublish *bool; 8 seLinuxMount *bool; 9 nodeAllocatableUpdatePeriodSeconds *int64; 10 serviceAccountTokenInSecrets *bool',
  CSINode: '@1 metadata ObjectMeta; 2 spec CSINodeSpec',
  CSINodeDriver: '1 name string!; 2 nodeID string!; 3 topologyKeys []string; 4 allocatable *VolumeNodeResources',
  CSINodeList: '@1 metadata ListMeta; 2 items []CSINode!',
  CSINodeSpec: '1 drivers []CSINodeDriver!',
  StorageClass:
    '@1 metadata ObjectMeta; 2 provisioner string!; 3 parameters {string}; 4 reclaimPolicy *string; 5 mountOptions []string; 6 allowVolumeExpansion *bool; 7 volumeBindingMode *string; 8 allowedTopologies []core/v1.TopologySelectorTerm',
  StorageClassList: '@1 metadata ListMeta; 2 items []StorageClass!',
  TokenRequest: '1 audience string!; 2 expirationSeconds *int64',
  VolumeNodeResources: '1 count *int32',
};

/** The protobuf messages of `storage`. */
export const storage: GroupTable = {
  v1,
  v1alpha1,
  v1beta1: v1,
};
