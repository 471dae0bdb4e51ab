import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Files} from '#src/base/files/files.js';
import type {Random} from '#src/base/random.js';
import type {Volume} from '#src/model/volumes.js';
import type {ProvisionRequest, VolumePlugin} from './plugin.js';

export interface HostPathParts {
  readonly naming: Naming;
  readonly files: Pick<Files, 'makeFolder' | 'removeFolder'>;
  readonly random: Random;
  /** Whether claims of classes with this provisioner get a folder of this machine. */
  readonly provisions: boolean;
  readonly recycle?: VolumePlugin['recycle'];
}

/** Folders are only ever removed below this one. */
const removable = /^\/tmp\/.+/;

/**
 * Folders of nodes. With provisioning, for tests on one machine only, claims get folders of the machine that runs the
 * controller manager.
 */
export const hostPathPlugin = ({naming, files, random, provisions, recycle}: HostPathParts): VolumePlugin => ({
  name: naming.key('host-path'),
  supportsMountOptions: false,
  canSupport: ({source}) => source.hostPath !== undefined,
  uniqueName: ({source}) => source.hostPath?.path ?? '',
  ...(recycle ? {recycle} : {}),
  ...(provisions
    ? {
        provision({volumeName, claim, storageClass}: ProvisionRequest): Promise<Volume> {
          const path = `/tmp/hostpath_pv/${random.uuid()}`;
          files.makeFolder(path);
          const {resources, accessModes = [], volumeMode = 'Filesystem'} = claim.spec ?? {};
          return Promise.resolve({
            apiVersion: naming.apiVersion('', 'v1'),
            kind: kinds.persistentVolumes.kind,
            metadata: {name: volumeName, annotations: {[naming.key('createdby')]: 'hostpath-dynamic-provisioner'}},
            spec: {
              persistentVolumeReclaimPolicy: storageClass.reclaimPolicy ?? 'Delete',
              accessModes: accessModes.length > 0 ? [...accessModes] : ['ReadWriteOnce'],
              capacity: {storage: resources?.requests?.['storage'] ?? '0'},
              volumeMode,
              hostPath: {path},
            },
          });
        },
      }
    : {}),
  // Also without provisioning: turning it off must not change the policy of existing volumes.
  async delete({source}) {
    const path = source.hostPath?.path ?? '';
    if (!removable.test(path) || path.split('/').includes('..'))
      throw new Error(`host_path deleter only supports /tmp/.+ but received provided ${path}`);
    await files.removeFolder(path);
  },
});
