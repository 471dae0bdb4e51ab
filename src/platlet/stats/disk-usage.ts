import {opendir, lstat} from 'node:fs/promises';
import {join} from 'node:path';

/** What a folder takes on its disk. */
export interface DiskUsage {
  readonly bytes: number;
  readonly inodes: number;
}

/** The unit of a file's blocks. */
const blockBytes = 512;
/** How many files are looked at: what has more is not measured. */
const maxFiles = 500_000;

/**
 * Returns what a file or folder takes, as `du` does: on its own file system alone, and files with several names once.
 * Undefined if nothing is there, it has too many files, or the signal aborts.
 */
export const diskUsage = async (path: string, signal: AbortSignal, limit = maxFiles): Promise<DiskUsage | undefined> => {
  const root = await lstat(path).catch(() => undefined);
  if (!root) return undefined;
  let bytes = root.blocks * blockBytes;
  let inodes = 1;
  const linked = new Set<number>();
  const folders = root.isDirectory() ? [path] : [];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const entries = await opendir(folder).catch(() => undefined); // It may be gone meanwhile.
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
