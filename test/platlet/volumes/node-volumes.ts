import {noMeter} from '#src/base/meter.js';
import {noPodCertificates} from '#src/platlet/pod-certificates/pod-certificates.js';
import type {VolumeLabels} from '#src/platlet/volumes/volume-labels.js';
import {ContainerMounts, type ContainerMountsParts} from '#src/platlet/volumes/container-mounts.js';
import {VolumeOperation, type VolumeOperationParts} from '#src/platlet/volumes/operation.js';
import {NodeVolumes, type NodeVolumesParts} from '#src/platlet/volumes/pod-volumes.js';
import {VolumeResolver, type VolumeResolverParts} from '#src/platlet/volumes/resolver.js';
import {StorageOperations} from '#src/platlet/volumes/storage-operations.js';
import {VolumeFolders} from '#src/platlet/volumes/volume-folders.js';

/** What the volumes of a node in a test are made from. */
export type TestVolumesParts = VolumeResolverParts &
  Omit<VolumeOperationParts, 'resolver' | 'labels' | 'operations'> &
  Partial<Pick<VolumeOperationParts, 'labels' | 'operations'>> &
  Omit<NodeVolumesParts, 'operation' | 'folders' | 'certificates'> &
  Partial<Pick<NodeVolumesParts, 'certificates'>> &
  Pick<ContainerMountsParts, 'folders'> &
  Partial<Pick<ContainerMountsParts, 'mountsRecursively'>>;

/** The labels of volumes without the gates for them. */
const noLabels: Pick<VolumeLabels, 'use' | 'leave'> = {use: async () => undefined, leave() {}};

/** Operations that nobody measures. */
export const unmeasured: Pick<StorageOperations, 'measured'> = {measured: (_, __, act) => act()};

/** The volumes of a node, and what containers mount of them. */
export const nodeVolumes = (parts: TestVolumesParts) => {
  const {
    naming,
    plugins,
    claims,
    node,
    host,
    clock,
    log,
    events,
    signal,
    objects,
    tokens,
    certificates = noPodCertificates,
    labels = noLabels,
    operations = new StorageOperations(noMeter, clock, naming),
  } = parts;
  const resolver = new VolumeResolver({naming, plugins, claims, node});
  const folders = new VolumeFolders({host, folders: parts.folders, log, plugins, operations});
  const operation = (name: string) => new VolumeOperation({resolver, labels, operations, host, clock, log, events, signal}, name);
  const volumes = new NodeVolumes({operation, folders, host, objects, tokens, certificates, clock});
  const mountsRecursively = parts.mountsRecursively ?? (() => Promise.resolve(false));
  return {volumes, folders, mounts: new ContainerMounts({volumes, host, folders: parts.folders, log, mountsRecursively})};
};
