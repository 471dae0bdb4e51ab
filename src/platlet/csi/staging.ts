// Stages volumes at a driver: once a node, before they are published to pods, until no pod uses them.

import {dirname, join} from 'node:path';
import type {Draft} from '#src/platlet/rpc/codec.js';
import {removeUnmounted, type Host} from '#src/platlet/host/host.js';
import {CsiError} from './client.js';
import type {DriverObjects} from './driver-objects.js';
import type {CsiDrivers} from './drivers.js';
import type {StorageMetrics} from './metrics.js';
import {checkUnreferenced} from './mount-references.js';
import type {CsiPaths} from './paths.js';
import {procedures, type Capability} from './procedures.js';
import {capabilityOf, type CsiVolume, type MountWishes, type SecretReference} from './volume.js';
import {loadVolumeData, removeMountPoint, saveVolumeData} from './volume-data.js';

export interface StagingParts {
  readonly host: Host;
  readonly paths: CsiPaths;
  readonly drivers: Pick<CsiDrivers, 'client'>;
  readonly objects: Pick<DriverObjects, 'secret'>;
  readonly metrics: StorageMetrics;
  /** The prefix of messages: the name of the volume type. */
  readonly type: string;
}

/** What the driver is told besides the volume. */
export interface StageContext {
  readonly can: ReadonlySet<Capability>;
  readonly publishContext: Readonly<Record<string, string>>;
  readonly wishes: MountWishes;
  /** The SELinux label that the volume is mounted with, if any. */
  readonly label?: string | undefined;
}

const folderMode = 0o750;

/** Throws if a device is still mapped for pods. */
const checkUnmapped = async (host: Pick<Host, 'list' | 'linkStatus' | 'mounts'>, maps: string): Promise<void> => {
  const mounts = await host.mounts();
  const references: string[] = [];
  for (const name of await host.list(maps)) {
    const path = join(maps, name);
    const kind = (await host.linkStatus(path))?.kind;
    if (kind === 'block' || kind === 'character' || mounts.some(mount => mount.path === path)) references.push(path);
  }
  if (references.length === 0) return;
  throw new Error(`UnmapDevice failed: The device ${JSON.stringify(maps)} is still referenced from other Pods [${references.join(' ')}]`);
};

/** Stages and unstages volumes. */
export class Staging {
  readonly #parts: StagingParts;

  constructor(parts: StagingParts) {
    this.#parts = parts;
  }

  /** Returns where a volume is staged, if its driver stages volumes. */
  pathOf(volume: CsiVolume, can: ReadonlySet<Capability>): string {
    const {paths} = this.#parts;
    if (!can.has('STAGE_UNSTAGE_VOLUME')) return '';
    return volume.isBlock ? paths.blockStaging(volume.specName) : paths.globalMount(volume);
  }

  /** Stages a volume, if its driver does. After an error that is not final it may be staged all the same. */
  async stage(volume: CsiVolume, context: StageContext): Promise<void> {
    const path = this.pathOf(volume, context.can);
    if (!path) return;
    const {host, drivers} = this.#parts;
    const {handle, driver} = volume;
    const secrets = await this.#secretsOf(volume.secrets.stage, volume.isBlock);
    await host.makeFolder(path, folderMode);
    if (!volume.isBlock) {
      const labelled = context.label ? {seLinuxMountContext: context.label} : {};
      await saveVolumeData(host, dirname(path), {volumeHandle: handle, driverName: driver, ...labelled});
    }
    const request: Draft<Parameters<typeof procedures.stage.request.encode>[0]> = {
      volumeId: handle,
      publishContext: context.publishContext,
      stagingTargetPath: path,
      volumeCapability: capabilityOf(volume, context.can, context.wishes),
      secrets,
      volumeContext: volume.attributes,
    };
    try {
      await drivers.client(driver).call(procedures.stage, request);
    } catch (error) {
      if (error instanceof CsiError && error.isFinal) await this.#clear(volume, path);
      throw error;
    }
  }

  /** Unstages a mounted volume and removes its folder. Rejects if it is mounted elsewhere too. */
  unstage(volume: Pick<CsiVolume, 'driver' | 'handle'>): Promise<void> {
    return this.#parts.metrics.measured(volume.driver, 'unmount_device', () => this.#unstage(volume));
  }

  async #unstage({driver, handle}: Pick<CsiVolume, 'driver' | 'handle'>): Promise<void> {
    const {host, paths, drivers, type} = this.#parts;
    const path = paths.globalMount({driver, handle});
    if (!(await loadVolumeData(host, dirname(path)))) return;
    if (await host.status(path)) checkUnreferenced(await host.mounts(), (await host.realPath(path)) ?? path);
    const client = drivers.client(driver);
    if ((await client.capabilities()).has('STAGE_UNSTAGE_VOLUME'))
      await client.call(procedures.unstage, {volumeId: handle, stagingTargetPath: path}).catch((error: unknown) => {
        throw new Error(`${type}: attacher.UnmountDevice failed: ${String((error as Error).message)}`, {cause: error});
      });
    await removeMountPoint(host, path);
  }

  /** Unstages a block device and removes its folders. Rejects if pods still have it. */
  unstageBlock(volume: Pick<CsiVolume, 'driver' | 'handle' | 'specName'>): Promise<void> {
    return this.#parts.metrics.measured(volume.driver, 'unmap_device', () => this.#unstageBlock(volume));
  }

  async #unstageBlock({driver, handle, specName}: Pick<CsiVolume, 'driver' | 'handle' | 'specName'>): Promise<void> {
    const {host, paths, drivers} = this.#parts;
    await checkUnmapped(host, paths.blockMaps(specName));
    const path = paths.blockStaging(specName);
    if (await host.status(path)) {
      const client = drivers.client(driver);
      if ((await client.capabilities()).has('STAGE_UNSTAGE_VOLUME')) {
        await client.call(procedures.unstage, {volumeId: handle, stagingTargetPath: path});
        await removeUnmounted(host, path);
      }
    }
    await this.#clearBlock(specName);
  }

  #clear(volume: CsiVolume, path: string): Promise<void> {
    return volume.isBlock ? this.#clearBlock(volume.specName) : removeMountPoint(this.#parts.host, path);
  }

  async #clearBlock(specName: string): Promise<void> {
    const {host, paths} = this.#parts;
    await host.removeFolder(paths.blockPublishing(specName));
    await host.removeFolder(paths.blockStaging(specName));
    await removeUnmounted(host, paths.block(specName));
  }

  async #secretsOf(reference: SecretReference | undefined, isBlock: boolean): Promise<Record<string, string>> {
    if (!reference) return {};
    const {objects, type} = this.#parts;
    const {namespace, name} = reference;
    try {
      return await objects.secret(reference);
    } catch (error) {
      const {message} = error as Error;
      const text = isBlock
        ? `${type}: failed to get NodeStageSecretRef ${namespace}/${name}: ${message}`
        : `fetching NodeStageSecretRef ${namespace}/${name} failed: ${message}`;
      throw new Error(text, {cause: error});
    }
  }
}
