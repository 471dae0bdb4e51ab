import {isWithin} from '#src/base/files/within.js';
import {mountsBelow, type Host} from './host.js';

type MountHost = Pick<Host, 'mounts' | 'realPath' | 'shareMounts' | 'unmount'>;

/** The mount that a path is on: of those that hold it the innermost, and of several at one place the last. */
const mountOf = async (host: MountHost, path: string) =>
  (await host.mounts())
    .filter(({path: at}) => isWithin(path, at))
    .reduce((best, each) => (each.path.length >= best.path.length ? each : best));

/**
 * Makes mounts below a folder be seen by containers that ask for it: where the folder is on a mount that passes none
 * on, it becomes one of its own. Returns what takes that back when the folder is not used any more, unless something is
 * mounted in it.
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
