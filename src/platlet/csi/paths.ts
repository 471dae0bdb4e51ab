// The paths of the volumes of CSI drivers on a node.

import {join} from 'node:path';
import type {NodeFolders} from '#src/platlet/host/folders.js';
import {stagingFolder, type CsiVolume} from './volume.js';

/** The name of the plugin in paths. */
export const pluginFolder = 'csi';

/** The folder of block devices, beside those of drivers. */
export const blockFolder = 'volumeDevices';

type Volume = Pick<CsiVolume, 'driver' | 'handle' | 'specName'>;

/** Returns the paths of volumes. */
export class CsiPaths {
  readonly #folders: NodeFolders;

  constructor(folders: NodeFolders) {
    this.#folders = folders;
  }

  /** The folder with a folder for each driver. */
  get drivers(): string {
    return this.#folders.plugin(pluginFolder);
  }

  /** Where a volume is mounted once a node. */
  globalMount({driver, handle}: Pick<Volume, 'driver' | 'handle'>): string {
    return join(this.drivers, driver, stagingFolder(handle), 'globalmount');
  }

  /** Where a volume is mounted for a pod. */
  target(uid: string, specName: string): string {
    return join(this.#folders.volume(uid, pluginFolder, specName), 'mount');
  }

  /** The folder with a folder for each volume that is mounted for a pod. */
  mounts(uid: string): string {
    return this.#folders.pluginVolumes(uid, pluginFolder);
  }

  /** The folder with a link for each device of a pod. */
  devices(uid: string): string {
    return this.#folders.pluginDevices(uid, pluginFolder);
  }

  get blocks(): string {
    return join(this.drivers, blockFolder);
  }

  /** All that the node has of a block device, except for what the driver makes. */
  block(specName: string): string {
    return join(this.blocks, specName);
  }

  /** The folder with the file about a block device. */
  blockData(specName: string): string {
    return join(this.block(specName), 'data');
  }

  /** The folder with the device as each pod has it. */
  blockMaps(specName: string): string {
    return join(this.block(specName), 'dev');
  }

  blockStaging(specName: string): string {
    return join(this.blocks, 'staging', specName);
  }

  blockPublishing(specName: string): string {
    return join(this.blocks, 'publish', specName);
  }

  /** Where a driver puts the device for a pod. */
  blockTarget(uid: string, specName: string): string {
    return join(this.blockPublishing(specName), uid);
  }
}
