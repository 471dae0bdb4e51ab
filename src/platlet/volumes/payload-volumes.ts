// Volumes with files from API objects: config maps, secrets, the downward API, and projections of several.

import {join, relative} from 'node:path';
import type {Frozen} from '#src/api/key.js';
import type {Pod, Volume} from '#src/api/pod.js';
import type {Clock} from '#src/base/clock.js';
import type {Random} from '#src/base/random.js';
import {containersOf} from '#src/model/pod/containers.js';
import {writeVolume, type Payload} from './atomic-writer.js';
import {makeEmptyFolder, type EmptyFolderParts} from './empty-dir.js';
import {giveToGroup} from './ownership.js';
import type {Payloads} from './payloads.js';
import type {VolumePlugin} from './plugin.js';
import type {StorageOperations} from './storage-operations.js';

export interface PayloadVolumeParts extends EmptyFolderParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly payloads: Payloads;
  readonly operations: Pick<StorageOperations, 'measured'>;
}

interface PayloadKind {
  readonly folder: string;
  /** Whether its files must not be written to disk. */
  readonly isInMemory: boolean;
  has(volume: Frozen<Volume>): boolean;
  payload(pod: Frozen<Pod>, volume: Frozen<Volume>, payloads: Payloads): Promise<Payload> | Payload;
}

const payloadKinds: readonly PayloadKind[] = [
  {
    folder: 'configmap',
    isInMemory: false,
    has: ({configMap}) => configMap !== undefined,
    payload: (pod, {configMap}, payloads) => payloads.configMap(pod, {...configMap, name: configMap?.name ?? ''}, configMap?.defaultMode),
  },
  {
    folder: 'secret',
    isInMemory: true,
    has: ({secret}) => secret !== undefined,
    payload: (pod, {secret}, payloads) => payloads.secret(pod, {...secret, name: secret?.secretName ?? ''}, secret?.defaultMode),
  },
  {
    folder: 'downward-api',
    isInMemory: true,
    has: ({downwardAPI}) => downwardAPI !== undefined,
    payload: (pod, {downwardAPI}, payloads) => payloads.downward(pod, downwardAPI?.items, downwardAPI?.defaultMode),
  },
  {
    folder: 'projected',
    isInMemory: true,
    has: ({projected}) => projected !== undefined,
    payload: (pod, volume, payloads) => payloads.projected(pod, volume),
  },
];

const folderMode = 0o777;
const nestedMode = 0o755;
const numbers = 1_000_000_000;

/** Returns the paths in a volume at which containers mount other volumes. */
export const nestedMountPoints = ({spec}: Frozen<Pod>, name: string): string[] => {
  const found = new Set<string>();
  for (const {volumeMounts = []} of containersOf(spec as never))
    for (const {name: own, mountPath, subPath} of volumeMounts) {
      if (own !== name || subPath) continue;
      for (const other of volumeMounts) {
        const path = relative(mountPath, other.mountPath);
        if (path && !path.startsWith('..')) found.add(path);
      }
    }
  return [...found].sort();
};

const payloadVolume = (parts: PayloadVolumeParts, kind: PayloadKind): VolumePlugin => ({
  folder: kind.folder,
  measuredAs: kind.folder,
  isRefreshed: true,
  supports: ({volume}) => kind.has(volume),
  async setUp({pod, name, volume}) {
    const {host, clock, random, payloads, operations} = parts;
    const payload = await kind.payload(pod, volume, payloads);
    const options = parts.excludesSwap ? ['noswap'] : [];
    const path = await makeEmptyFolder(parts, {
      uid: pod.metadata?.uid ?? '',
      plugin: kind.folder,
      name,
      mode: folderMode,
      ...(kind.isInMemory ? {mount: {type: 'tmpfs', options}} : {}),
    });
    const group = pod.spec?.securityContext?.fsGroup;
    const give = async (path: string): Promise<void> => {
      if (group === undefined) return;
      const giving = {path, group, isReadonly: true, onlyOnMismatch: false};
      await operations.measured(kind.folder, 'volume_apply_access_control', () => giveToGroup(host, clock, giving));
    };
    await writeVolume(host, path, payload, {now: clock.now(), number: Math.floor(random.float() * numbers), prepare: give});
    for (const nested of nestedMountPoints(pod, name))
      if (!(await host.linkStatus(join(path, nested)))) await host.makeFolder(join(path, nested), nestedMode);
    if (group !== undefined) await host.changeOwner(path, -1, group);
    return {path, isReadonly: true, isRelabelled: true};
  },
});

/** Volumes with files from API objects. */
export const payloadVolumes = (parts: PayloadVolumeParts): VolumePlugin[] => payloadKinds.map(kind => payloadVolume(parts, kind));
