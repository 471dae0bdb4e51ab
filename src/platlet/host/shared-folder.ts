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
