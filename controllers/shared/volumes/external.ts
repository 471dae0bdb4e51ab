// The plugins of storage that other programs, or the nodes alone, handle: here it is only recognized.

import type {Naming} from '#src/api/naming.js';
import type {Attacher, VolumePlugin} from './plugin.js';

/**
 * Volumes of CSI drivers. They are attached by VolumeAttachment objects, everything else is up to the driver's own
 * controllers.
 */
export const csiPlugin = (naming: Naming, attacher?: Attacher): VolumePlugin => ({
  name: naming.key('csi'),
  supportsMountOptions: true,
  canSupport: ({source}) => source.csi !== undefined,
  uniqueName: ({source}) => `${source.csi?.driver}^${(source.csi as {volumeHandle?: string} | undefined)?.volumeHandle ?? ''}`,
  ...(attacher ? {attacher} : {}),
});

/** Exports of NFS servers. */
export const nfsPlugin = (naming: Naming, recycle?: VolumePlugin['recycle']): VolumePlugin => ({
  name: naming.key('nfs'),
  supportsMountOptions: true,
  canSupport: ({source}) => source.nfs !== undefined,
  uniqueName: ({source}) => `${source.nfs?.server}/${source.nfs?.path}`,
  ...(recycle ? {recycle} : {}),
});

/** Disks and folders of one node. */
export const localPlugin = (naming: Naming): VolumePlugin => ({
  name: naming.key('local-volume'),
  supportsMountOptions: true,
  canSupport: ({source}) => source.local !== undefined,
  uniqueName: ({name}) => name,
});
