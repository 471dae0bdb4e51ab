// Other mounts of what is mounted at a path. Pure.

import {join} from 'node:path';
import {volumePluginDomain} from '#src/api/naming.js';
import type {MountPoint} from '#src/platlet/host/host.js';

const isWithin = (path: string, folder: string): boolean => path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`);

/** Returns the paths at which the same folder of the same file system is mounted as well. */
export const mountReferences = (mounts: readonly MountPoint[], path: string): readonly string[] => {
  const own = mounts.findLast(mount => isWithin(path, mount.path));
  if (!own) return [];
  const root = join(own.root, path.slice(own.path.length));
  return mounts.filter(mount => mount !== own && mount.root === root && mount.device === own.device).map(mount => mount.path);
};

/**
 * Throws if a staged volume is mounted elsewhere too: then it must not be unstaged. `path` is the path of its mount
 * without links. Mounts of the data directory of the agent at other places, which contain the mount, do not count.
 */
export const checkUnreferenced = (mounts: readonly MountPoint[], path: string): void => {
  const references = mountReferences(mounts, path);
  const at = path.indexOf(`/plugins/${volumePluginDomain}/`);
  const suffix = at < 0 ? path : path.slice(at);
  if (references.every(reference => reference.includes(suffix))) return;
  const text = `the device mount path ${JSON.stringify(path)} is still mounted by other references [${references.join(' ')}]`;
  throw new Error(`GetDeviceMountRefs check failed: ${text}`);
};
