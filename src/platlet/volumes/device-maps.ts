// Block devices of volumes as pods have them: a bind mount of the device, a loop device that keeps it open so that no
// other device takes its name, and a link to it for the runtime.

import {join} from 'node:path';
import {messageOf} from '#src/base/message.js';
import type {Host} from '#src/platlet/host/host.js';

export interface DeviceMap {
  /** The uid of the pod. */
  readonly uid: string;
  /** The folder with the bind mount for each pod. */
  readonly maps: string;
  /** The folder of the pod with the links, and the name of the link. */
  readonly links: string;
  readonly name: string;
}

const folderMode = 0o750;

const failing = async (what: string, act: () => Promise<void>): Promise<void> => {
  try {
    await act();
  } catch (error) {
    throw new Error(`${what}: ${messageOf(error)}`, {cause: error});
  }
};

const bind = async (host: Host, device: string, path: string): Promise<void> => {
  const found = await host.status(path);
  if (found?.kind === 'block' || (await host.mounts()).some(mount => mount.path === path)) return;
  if (!found) await host.writeFile(path, '', folderMode);
  await host.mount({type: 'bind', source: device, target: path});
};

/** Returns the loop device of a file or device; undefined if there is none. */
const loopOf = async (host: Host, path: string): Promise<string | undefined> => {
  const found = await host.execute('losetup', ['-j', path]);
  return found?.exitCode === 0 ? /^(\/dev\/[^:\s]+):/.exec(found.output)?.[1] : undefined;
};

const losetup = async (host: Host, ...args: readonly string[]): Promise<void> => {
  const done = await host.execute('losetup', args);
  if (done?.exitCode !== 0) throw new Error(`losetup ${args.join(' ')} failed: ${done ? done.output.trim() : 'it is not installed'}`);
};

/** Maps a device for a pod. Returns the path of the link. It may be mapped already. */
export const mapDevice = async (host: Host, device: string, {uid, maps, links, name}: DeviceMap): Promise<string> => {
  const path = join(maps, uid);
  const link = join(links, name);
  await failing(`blkUtil.MapDevice failed. devicePath: ${device}, globalMapPath:${maps}, podUID: ${uid}, bindMount: true`, async () => {
    await host.makeFolder(maps, folderMode);
    await bind(host, device, path);
  });
  await failing(
    `blkUtil.MapDevice failed. devicePath: ${device}, podVolumeMapPath:${links}, volumeMapName: ${name}, bindMount: false`,
    async () => {
      await host.makeFolder(links, folderMode);
      await host.removeFile(link);
      await host.link(device, link);
    },
  );
  await failing(`blkUtil.AttachFileDevice failed. globalMapPath:${maps}, podUID: ${uid}`, async () => {
    if ((await loopOf(host, path)) === undefined) await losetup(host, '-f', path);
  });
  return link;
};

/** Removes what `mapDevice` has made. What is gone is no error. */
export const unmapDevice = async (host: Host, {uid, maps, links, name}: DeviceMap): Promise<void> => {
  const path = join(maps, uid);
  await failing(`blkUtil.DetachFileDevice failed. globalUnmapPath:${maps}, podUID: ${uid}`, async () => {
    const loop = await loopOf(host, path);
    if (loop !== undefined) await losetup(host, '-d', loop);
  });
  await host.removeFile(join(links, name));
  if ((await host.mounts()).some(mount => mount.path === path)) await host.unmount(path);
  await host.removeFile(path);
};
