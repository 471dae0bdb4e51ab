import {opendir, lstat} from 'node:fs/promises';
import {join} from 'node:path';

/** The disk usage of a directory. */
export interface DiskUsage {
  readonly bytes: number;
  readonly inodes: number;
}

/** The unit of `st_blocks`. */
const blockBytes = 512;
/** The maximum number of files: larger directories are not measured. */
const maxFiles = 500_000;

/**
 * Returns the disk usage of a file or directory like `du -x`: files with several links count once. Undefined if it does
 * not exist, has too many files, or the signal aborts.
 */
export const diskUsage = async (path: string, signal: AbortSignal, limit = maxFiles): Promise<DiskUsage | undefined> => {
  const root = await lstat(path).catch(() => undefined);
  if (!root) return undefined;
  let bytes = root.blocks * blockBytes;
  let inodes = 1;
  const linked = new Set<number>();
  const folders = root.isDirectory() ? [path] : [];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const entries = await opendir(folder).catch(() => undefined); // It may have been removed meanwhile.
    if (!entries) continue;
    for await (const {name} of entries) {
      if (signal.aborted || inodes >= limit) return undefined;
      const found = await lstat(join(folder, name)).catch(() => undefined);
      if (!found || found.dev !== root.dev || linked.has(found.ino)) continue;
      if (found.nlink > 1 && !found.isDirectory()) linked.add(found.ino);
      bytes += found.blocks * blockBytes;
      inodes++;
      if (found.isDirectory()) folders.push(join(folder, name));
    }
  }
  return {bytes, inodes};
};
