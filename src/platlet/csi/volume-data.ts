// The files by which an agent that starts again finds the volumes of CSI drivers.

import {dirname, join} from 'node:path';
import type {Host} from '#src/platlet/host/host.js';

/** What a file says of a volume. */
export interface VolumeData {
  readonly specVolID?: string;
  readonly volumeHandle: string;
  readonly driverName: string;
  readonly nodeName?: string;
  readonly attachmentID?: string;
  readonly volumeLifecycleMode?: string;
  readonly seLinuxMountContext?: string;
}

const fileName = 'vol_data.json';
const fileMode = 0o644;

/** Writes the file of a volume into a folder. */
export const saveVolumeData = (host: Pick<Host, 'writeFile'>, folder: string, data: VolumeData): Promise<void> => {
  const sorted = Object.fromEntries(Object.entries(data).sort(([a], [b]) => (a < b ? -1 : 1)));
  return host.writeFile(join(folder, fileName), `${JSON.stringify(sorted)}\n`, fileMode);
};

/** Reads the file of a volume; undefined if there is none. Throws for a malformed one. */
export const loadVolumeData = async (host: Pick<Host, 'read'>, folder: string): Promise<VolumeData | undefined> => {
  const path = join(folder, fileName);
  const content = await host.read(path);
  if (content === undefined) return undefined;
  try {
    return JSON.parse(String(content)) as VolumeData;
  } catch (error) {
    throw new Error(`failed to parse volume data file [${path}]: ${String(content).trim()}`, {cause: error});
  }
};

/** Whether something is mounted at a path. */
export const isMounted = async (host: Pick<Host, 'mounts'>, path: string): Promise<boolean> =>
  (await host.mounts()).some(mount => mount.path === path);

/** Removes a mount point, its file and its folder, unless something is mounted there. */
export const removeMountPoint = async (
  host: Pick<Host, 'mounts' | 'linkStatus' | 'removeFile' | 'removeFolder'>,
  path: string,
): Promise<void> => {
  if (await isMounted(host, path)) return;
  if ((await host.linkStatus(path))?.kind === 'folder') await host.removeFolder(path);
  else await host.removeFile(path);
  const folder = dirname(path);
  await host.removeFile(join(folder, fileName));
  await host.removeFolder(folder);
};
