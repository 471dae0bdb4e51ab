// Sub-path mounts of volumes. Containers may write to a volume and thereby create malicious links: paths are opened
// without following links, and mounted from the open file.

import {join, relative} from 'node:path';
import type {NodeFolders} from '#src/platlet/host/folders.js';
import {mountsBelow, type Host} from '#src/platlet/host/host.js';

export interface SubPath {
  readonly uid: string;
  /** The path of the volume on the host. */
  readonly volumePath: string;
  readonly path: string;
  readonly volume: string;
  readonly container: string;
  /** The index of the mount in its container. */
  readonly index: number;
}

const folderMode = 0o750;

/** Throws for an invalid sub-path. */
export const checkSubPath = (path: string): void => {
  if (path.startsWith('/')) throw new Error(`error SubPath ${JSON.stringify(path)} must not be an absolute path`);
  if (path.split('/').includes('..')) throw new Error(`unable to provision SubPath ${JSON.stringify(path)}: must not contain '..'`);
};

/** Returns the names on the path from a directory to a path below it. Throws if it is not below. */
const namesBelow = (folder: string, path: string): string[] => {
  const way = relative(folder, path);
  if (way === '..' || way.startsWith('../') || way.startsWith('/')) throw new Error(`${path} is not in ${folder}`);
  return way === '' ? [] : way.split('/');
};

/** Returns the existing and the missing names of a sub-path, with links resolved. */
const resolvedNames = async (host: Host, volume: string, path: string): Promise<string[]> => {
  const existing = path.split('/').filter(name => name !== '' && name !== '.');
  const missing: string[] = [];
  for (;;) {
    const real = await host.realPath(join(volume, ...existing));
    if (real !== undefined) return [...namesBelow(volume, real), ...missing];
    missing.unshift(existing.pop()!);
  }
};

/** Mounts a sub-path. Returns the path for the runtime. */
export const prepareSubPath = async (host: Host, folders: NodeFolders, sub: SubPath): Promise<string> => {
  const volume = await host.realPath(sub.volumePath);
  const mode = (await host.status(sub.volumePath))?.mode;
  if (volume === undefined || mode === undefined) throw new Error(`${sub.volumePath} is missing`);
  using held = await host.hold(volume, await resolvedNames(host, volume, sub.path), mode);
  const folder = join(folders.subPaths(sub.uid), sub.volume, sub.container);
  const target = join(folder, String(sub.index));
  await host.makeFolder(folder, folderMode);
  // The mount for the previous run may be of another file of that name.
  for (const {path} of await mountsBelow(host, target)) if (path === target) await host.unmount(target);
  if (held.kind === 'folder') await host.makeFolder(target, folderMode);
  else await host.writeFile(target, '', 0o640);
  await host.mount({type: 'bind', source: held.path, target});
  return target;
};
