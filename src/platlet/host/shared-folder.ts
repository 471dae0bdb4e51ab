import {isWithin} from '#src/base/files/within.js';
import {mountsBelow, type Host} from './host.js';

type MountHost = Pick<Host, 'mounts' | 'realPath' | 'shareMounts' | 'unmount'>;

/** The mount that a path is on: the innermost one, and of several at one place the last. */
const mountOf = async (host: MountHost, path: string) =>
  (await host.mounts())
    .filter(({path: at}) => isWithin(path, at))
    .reduce((best, each) => (each.path.length >= best.path.length ? each : best));

/**
 * Makes mounts below a directory visible to containers that ask for it: a directory on a mount with private propagation
 * is bind mounted onto itself and made shared. Returns what undoes that when the directory is no longer used, unless
 * something is mounted in it.
 */
export const shareFolder = async (host: MountHost, folder: string): Promise<AsyncDisposable> => {
  const path = (await host.realPath(folder)) ?? folder;
  if ((await mountOf(host, path)).isShared) return {[Symbol.asyncDispose]: () => Promise.resolve()};
  await host.shareMounts(path);
  return {
    async [Symbol.asyncDispose]() {
      if ((await mountsBelow(host, path)).every(mount => mount.path === path)) await host.unmount(path);
    },
  };
};

/**
 * Undoes `shareFolder` for a directory that an agent has left: unmounts the directory from itself, unless something is
 * mounted in it. Another file system that is mounted there stays.
 */
export const unshareFolder = async (host: MountHost, folder: string): Promise<void> => {
  const path = (await host.realPath(folder)) ?? folder;
  const below = await mountsBelow(host, path);
  const [own] = below;
  // A directory that is mounted onto itself has the end of its path as its root in the file system.
  if (below.length === 1 && own?.path === path && own.root !== '/' && path.endsWith(own.root)) await host.unmount(path);
};
