import type * as upstream from '@kubernetes/client-node';
import {kind} from '#src/api/kind.js';
import type {Wire} from '#src/api/types.js';

/** The kinds of the group; a version that is not the best one is named with its version. */
export const storageKinds = {
  csiDrivers: kind<Wire<upstream.V1CSIDriver>>('storage', 'v1', 'CSIDriver', 'csidrivers', false),
  csiNodes: kind<Wire<upstream.V1CSINode>>('storage', 'v1', 'CSINode', 'csinodes', false),
  csiStorageCapacities: kind<Wire<upstream.V1CSIStorageCapacity>>('storage', 'v1', 'CSIStorageCapacity', 'csistoragecapacities', true),
  storageClasses: kind<Wire<upstream.V1StorageClass>>('storage', 'v1', 'StorageClass', 'storageclasses', false),
  volumeAttachments: kind<Wire<upstream.V1VolumeAttachment>>('storage', 'v1', 'VolumeAttachment', 'volumeattachments', false),
  volumeAttributesClasses: kind<Wire<upstream.V1VolumeAttributesClass>>(
    'storage',
    'v1',
    'VolumeAttributesClass',
    'volumeattributesclasses',
    false,
    '1.34',
  ),
  volumeAttributesClassesV1beta1: kind<Wire<upstream.V1beta1VolumeAttributesClass>>(
    'storage',
    'v1beta1',
    'VolumeAttributesClass',
    'volumeattributesclasses',
    false,
    '1.31',
  ),
} as const;
