// Volumes of CSI drivers that pods use as block devices.

import {messageOf} from '#src/base/message.js';
import type {Host} from '#src/platlet/host/host.js';
import {mapDevice, unmapDevice, type DeviceMap} from '#src/platlet/volumes/device-maps.js';
import {VolumeError} from '#src/platlet/volumes/plugin.js';
import type {DriverObjects} from './driver-objects.js';
import type {CsiPaths} from './paths.js';
import {procedures} from './procedures.js';
import type {Publication, Publishing} from './publishing.js';
import type {Staging} from './staging.js';
import {attachmentName, capabilityOf, type CsiVolume} from './volume.js';
import {saveVolumeData} from './volume-data.js';
import type {NodeVolume} from './volumes-in-use.js';

export interface CsiBlocksParts {
  readonly host: Host;
  readonly paths: CsiPaths;
  readonly objects: Pick<DriverObjects, 'driver'>;
  readonly staging: Pick<Staging, 'stage'>;
  readonly publishing: Pick<Publishing, 'client' | 'contextOf'>;
  readonly nodeName: string;
}

/** A device that is to be published. */
export type BlockRequest = Pick<Publication, 'pod' | 'volume' | 'publishContext'>;

const folderMode = 0o750;
const reason = 'FailedMapVolume';

/** Runs a step of an operation; errors say which step failed. */
const step = async <T>(what: string, act: () => Promise<T>): Promise<T> => {
  try {
    return await act();
  } catch (error) {
    throw new VolumeError(`MapVolume.${what} failed`, messageOf(error), {cause: error, reason});
  }
};

/** Publishes block devices of drivers. */
export class CsiBlocks {
  readonly #parts: CsiBlocksParts;

  constructor(parts: CsiBlocksParts) {
    this.#parts = parts;
  }

  /** Writes the file by which an agent that starts again finds a device. */
  async prepare(volume: CsiVolume): Promise<void> {
    const {host, paths, nodeName} = this.#parts;
    const {specName, handle, driver} = volume;
    const folder = paths.blockData(specName);
    await host.makeFolder(folder, folderMode);
    const attachmentID = attachmentName(volume, nodeName);
    await saveVolumeData(host, folder, {specVolID: specName, volumeHandle: handle, driverName: driver, nodeName, attachmentID});
  }

  /** Stages a device, publishes it to a pod and maps it. Returns the path for the runtime. */
  async publish({pod, volume, publishContext}: BlockRequest, onNode: NodeVolume): Promise<string> {
    const {host, staging, publishing} = this.#parts;
    const uid = pod.metadata?.uid ?? '';
    if (!onNode.isStaged)
      await step('SetUpDevice', async () => {
        const can = await publishing.client(volume.driver, 'blockMapper.SetUpDevice failed to get CSI client').capabilities();
        await staging.stage(volume, {can, publishContext, wishes: {options: []}});
        onNode.isStaged = true;
      });
    onNode.published.add(uid);
    const device = await step('MapPodDevice', () => this.#publish({pod, volume, publishContext}));
    const resolved = await step('EvalHostSymlinks', async () => {
      const path = await host.realPath(device);
      if (path === undefined) throw new Error(`lstat ${device}: no such file or directory`);
      return path;
    });
    return step('MapBlockVolume', () => mapDevice(host, resolved, this.#mapOf(uid, volume.specName)));
  }

  /** Unmaps a device of a pod and unpublishes it. */
  async unpublish({driver, handle, specName}: NodeVolume, uid: string): Promise<void> {
    const {host, paths, publishing} = this.#parts;
    await unmapDevice(host, this.#mapOf(uid, specName));
    const targetPath = paths.blockTarget(uid, specName);
    const client = publishing.client(driver, 'blockMapper.UnmapPodDevice failed to get CSI client');
    await client.call(procedures.unpublish, {volumeId: handle, targetPath});
  }

  async #publish({pod, volume, publishContext}: BlockRequest): Promise<string> {
    const {host, paths, objects, publishing} = this.#parts;
    const client = publishing.client(volume.driver, 'blockMapper.MapPodDevice failed to get CSI client');
    const context = await publishing.contextOf({pod, volume}, await objects.driver(volume.driver));
    const targetPath = paths.blockTarget(pod.metadata?.uid ?? '', volume.specName);
    await host.makeFolder(paths.blockPublishing(volume.specName), folderMode);
    await client.call(procedures.publish, {
      ...context,
      volumeId: volume.handle,
      publishContext,
      stagingTargetPath: paths.blockStaging(volume.specName),
      targetPath,
      volumeCapability: capabilityOf(volume, await client.capabilities(), {options: []}),
      readonly: volume.isReadonly,
    });
    return targetPath;
  }

  #mapOf(uid: string, specName: string): DeviceMap {
    const {paths} = this.#parts;
    return {uid, maps: paths.blockMaps(specName), links: paths.devices(uid), name: specName};
  }
}
