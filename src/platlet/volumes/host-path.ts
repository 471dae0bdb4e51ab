// Volumes of type hostPath and local.

import {dirname} from 'node:path';
import {messageOf} from '#src/base/message.js';
import type {NodeFolders} from '#src/platlet/host/folders.js';
import {mountsBelow, type FileKind, type Host} from '#src/platlet/host/host.js';
import type {EventRecorder} from '#src/runtime/events/events.js';
import {mapDevice, unmapDevice, type DeviceMap} from './device-maps.js';
import {VolumeError, type VolumePlugin} from './plugin.js';
import type {StorageOperations} from './storage-operations.js';

/** The required kind of path by type, and what is created if it is missing. */
const types: Readonly<Record<string, {readonly kind: FileKind; readonly text: string; readonly create?: number}>> = {
  Directory: {kind: 'folder', text: 'directory'},
  DirectoryOrCreate: {kind: 'folder', text: 'directory', create: 0o755},
  File: {kind: 'file', text: 'file'},
  FileOrCreate: {kind: 'file', text: 'file', create: 0o644},
  Socket: {kind: 'socket', text: 'socket file'},
  CharDevice: {kind: 'character', text: 'character device'},
  BlockDevice: {kind: 'block', text: 'block device'},
};

/** Throws if a host path does not match its type. */
export const checkHostPath = async (host: Host, path: string, type = ''): Promise<void> => {
  if (path.split('/').includes('..')) throw new Error(`path ${JSON.stringify(path)} must not contain '..'`);
  if (type === '') return;
  const wanted = types[type];
  if (!wanted) throw new Error(`${type} is an invalid volume type`);
  const found = await host.status(path);
  if (!found && wanted.create !== undefined) {
    if (wanted.kind === 'folder') await host.makeFolder(path, wanted.create);
    else if ((await host.status(dirname(path)))?.kind === 'folder') await host.writeFile(path, '', wanted.create);
    else throw new Error(`open ${path}: no such file or directory`);
    return;
  }
  if (found?.kind !== wanted.kind) throw new Error(`hostPath type check failed: ${path} is not a ${wanted.text}`);
};

/** Volumes of type hostPath, inline or persistent. */
export const hostPath = (host: Host): VolumePlugin => ({
  folder: undefined,
  measuredAs: 'host-path',
  isRefreshed: false,
  supports: ({volume, persistent}) => (persistent ? persistent.spec?.hostPath : volume.hostPath) !== undefined,
  async setUp({volume, persistent}) {
    const source = persistent ? persistent.spec?.hostPath : volume.hostPath;
    if (!source) throw new Error('the volume has no path of the host');
    const {path, type} = source;
    await checkHostPath(host, path, type);
    return {path};
  },
});

const folderMode = 0o750;

const local = 'local-volume';

const deviceMapOf = (folders: NodeFolders, uid: string, name: string): DeviceMap => ({
  uid,
  maps: folders.deviceMaps(local, name),
  links: folders.pluginDevices(uid, local),
  name,
});

export interface LocalVolumeParts {
  readonly host: Host;
  readonly folders: NodeFolders;
  readonly events: Pick<EventRecorder, 'warning'>;
  readonly operations: Pick<StorageOperations, 'measured'>;
}

/** Maps a block device of the machine for a pod. */
const mapLocalDevice = async (host: Host, source: string, map: DeviceMap): Promise<string> => {
  const step = async <T>(what: string, act: () => Promise<T>): Promise<T> => {
    try {
      return await act();
    } catch (error) {
      throw new VolumeError(`MapVolume.${what} failed`, messageOf(error), {cause: error, reason: 'FailedMapVolume'});
    }
  };
  const device = await step('EvalHostSymlinks', async () => {
    const path = await host.realPath(source);
    if (path === undefined) throw new Error(`lstat ${source}: no such file or directory`);
    return path;
  });
  return step('MapBlockVolume', () => mapDevice(host, device, map));
};

/** Persistent volumes of type local. */
export const localVolume = ({host, folders, events, operations}: LocalVolumeParts): VolumePlugin => ({
  folder: local,
  measuredAs: local,
  isRefreshed: false,
  hasDevices: true,
  supports: ({persistent}) => persistent?.spec?.local !== undefined,
  async setUp({pod, persistent, isReadonly, giveToGroup}) {
    const source = persistent!.spec!.local!.path;
    if (source.split('/').includes('..')) throw new Error(`path ${JSON.stringify(source)} must not contain '..'`);
    const name = persistent!.metadata?.name ?? '';
    if (persistent!.spec!.volumeMode === 'Block') {
      const map = deviceMapOf(folders, pod.metadata?.uid ?? '', name);
      return {path: await mapLocalDevice(host, source, map), isDevice: true, isReadonly, measure: () => Promise.resolve(undefined)};
    }
    const kind = (await host.status(source))?.kind;
    if (kind === undefined) throw new Error(`path ${JSON.stringify(source)} does not exist`);
    if (kind !== 'folder') throw new Error(`path ${JSON.stringify(source)} is no folder, which is all that is supported`);
    const target = folders.volume(pod.metadata?.uid ?? '', local, name);
    const mounts = await mountsBelow(host, folders.pods);
    const mounted = {path: target, isReadonly, isRelabelled: !isReadonly};
    if (mounts.some(({path}) => path === target)) return mounted;
    await host.makeFolder(target, folderMode);
    await host.mount({type: 'bind', source, target, ...(isReadonly ? {options: ['ro']} : {})});
    // A volume already used by other pods is left unchanged: the first users determine its ownership.
    if (mounts.some(({path}) => folders.isVolume(path, local, name))) {
      const group = pod.spec?.securityContext?.fsGroup;
      const gid = (await host.status(target))?.gid;
      if (group !== undefined && gid !== group)
        events.warning(
          pod,
          'AlreadyMountedVolume',
          `The requested fsGroup is ${group}, but the volume ${name} has GID ${gid}. The volume may not be shareable.`,
        );
    } else await giveToGroup(target);
    return mounted;
  },
  async tearDown(uid) {
    for (const name of await host.list(folders.pluginDevices(uid, local)))
      await operations.measured(local, 'unmap_volume', () => unmapDevice(host, deviceMapOf(folders, uid, name)));
  },
});
