// Volumes of CSI drivers.

import {dirname, join} from 'node:path';
import type {Clock} from '#src/base/clock.js';
import {exponential} from '#src/base/backoff.js';
import {messageOf} from '#src/base/message.js';
import type {Host} from '#src/platlet/host/host.js';
import {withLabel} from '#src/platlet/selinux/mount-label.js';
import {
  StillMounted,
  VolumeError,
  type ContextMount,
  type MountedVolume,
  type VolumePlugin,
  type VolumeRequest,
} from '#src/platlet/volumes/plugin.js';
import type {AttachLimits} from './attach-limits.js';
import {uniqueName, type Attachments} from './attachments.js';
import type {CsiBlocks} from './blocks.js';
import {CsiError} from './client.js';
import type {DriverObjects} from './driver-objects.js';
import type {Expandable, Expansion} from './expansion.js';
import type {StorageMetrics} from './metrics.js';
import {pluginFolder, type CsiPaths} from './paths.js';
import type {Publishing} from './publishing.js';
import type {Staging} from './staging.js';
import {csiVolumeOf, type CsiVolume} from './volume.js';
import {loadVolumeData} from './volume-data.js';
import type {Measuring} from './volume-stats.js';
import type {NodeVolume, VolumesInUse} from './volumes-in-use.js';

export interface CsiVolumesParts {
  readonly host: Host;
  readonly paths: CsiPaths;
  readonly clock: Clock;
  /** The name of the volume type. */
  readonly type: string;
  readonly metrics: StorageMetrics;
  readonly objects: Pick<DriverObjects, 'driver' | 'known'>;
  readonly attachments: Pick<Attachments, 'ensure'>;
  readonly services: {
    readonly staging: Staging;
    readonly publishing: Publishing;
    readonly blocks: CsiBlocks;
    readonly expansion: Expansion;
    readonly volumes: VolumesInUse;
    readonly measuring: Measuring;
    /** Absent without the gate. */
    readonly limits?: AttachLimits | undefined;
  };
}

const backoff = exponential(500, 122_000);

const inUseElsewhere = 'volume uses the ReadWriteOncePod access mode and is already in use by another pod';

/** Runs a step of an operation; errors say which step failed. */
const step = async <T>(what: string, act: () => Promise<T>): Promise<T> => {
  try {
    return await act();
  } catch (error) {
    if (error instanceof VolumeError) throw error;
    throw new VolumeError(what, messageOf(error), {cause: error});
  }
};

/** Mounts volumes of drivers. */
export class CsiVolumes implements VolumePlugin {
  readonly folder = pluginFolder;
  readonly hasMountOptions = true;
  readonly hasDevices = true;
  readonly #parts: CsiVolumesParts;
  /** The failures to unpublish, by folder. */
  readonly #failures = new Map<string, {count: number; retryAt: number; error: unknown}>();

  constructor(parts: CsiVolumesParts) {
    this.#parts = parts;
  }

  supports({volume, persistent}: Pick<VolumeRequest, 'volume' | 'persistent'>): boolean {
    return persistent ? persistent.spec?.csi !== undefined : volume.csi !== undefined;
  }

  /** Whether the driver wants volumes to be published again and again. */
  readonly isRefreshed = (request: VolumeRequest): boolean =>
    this.#parts.objects.known(csiVolumeOf(request).driver)?.spec.requiresRepublish ?? false;

  async contextMount(request: VolumeRequest): Promise<ContextMount | undefined> {
    const {objects, type} = this.#parts;
    const volume = csiVolumeOf(request);
    if (!(await objects.driver(volume.driver))?.spec.seLinuxMount) return undefined;
    const own = `${type}/${request.pod.metadata?.uid}-${volume.specName}`;
    return {uniqueName: volume.lifecycle === 'Ephemeral' ? own : uniqueName(type, volume), plugin: `${type}/${volume.driver}`};
  }

  setUp(request: VolumeRequest): Promise<MountedVolume> {
    const {metrics, services} = this.#parts;
    const volume = csiVolumeOf(request);
    const uid = request.pod.metadata?.uid ?? '';
    const measured = (act: () => Promise<MountedVolume>): Promise<MountedVolume> =>
      metrics.measured(volume.driver, volume.isBlock ? 'map_volume' : 'volume_mount', act);
    if (volume.lifecycle === 'Ephemeral') return measured(() => this.#publish(request, volume, {}));
    return services.volumes.use(volume, uid, async onNode => {
      if (volume.isBlock) await services.blocks.prepare(volume);
      else await this.#relabel(request, volume, onNode);
      const publishContext = await metrics.measured(volume.driver, 'verify_controller_attached_volume', () => this.#attach(volume));
      return measured(() => this.#mount(request, volume, publishContext, onNode));
    });
  }

  async expand(request: VolumeRequest): Promise<void> {
    const {paths, services} = this.#parts;
    const volume = csiVolumeOf(request);
    if (volume.lifecycle === 'Ephemeral') return;
    const uid = request.pod.metadata?.uid ?? '';
    const path = volume.isBlock ? paths.blockTarget(uid, volume.specName) : paths.target(uid, volume.specName);
    await services.volumes.use(volume, uid, () => services.expansion.used(this.#expandable(request, volume, path)));
  }

  async isBeyondLimit(request: VolumeRequest): Promise<boolean> {
    return (await this.#parts.services.limits?.isExceeded(csiVolumeOf(request))) ?? false;
  }

  async tearDown(uid: string): Promise<void> {
    const {host, paths, services, metrics} = this.#parts;
    for (const name of await host.list(paths.mounts(uid))) {
      const folder = join(paths.mounts(uid), name);
      await this.#backedOff(folder, () => this.#unpublish(folder));
    }
    for (const device of await services.volumes.devicesOf(uid))
      await this.#backedOff(`${device.specName} ${uid}`, () =>
        metrics.measured(device.driver, 'unmap_volume', () => services.blocks.unpublish(device, uid)),
      );
    services.volumes.leave(uid);
  }

  async #unpublish(folder: string): Promise<void> {
    const {host, services, metrics} = this.#parts;
    const data = await loadVolumeData(host, folder);
    if (data) await metrics.measured(data.driverName, 'volume_unmount', () => services.publishing.unpublish(folder, data));
  }

  sweep(): void {
    this.#parts.services.volumes.sweep();
  }

  async #mount(
    request: VolumeRequest,
    volume: CsiVolume,
    publishContext: Readonly<Record<string, string>>,
    onNode: NodeVolume,
  ): Promise<MountedVolume> {
    const uid = request.pod.metadata?.uid ?? '';
    const isForOnePod = volume.accessModes?.length === 1 && volume.accessModes[0] === 'ReadWriteOncePod';
    if (isForOnePod && [...onNode.published].some(other => other !== uid)) throw new Error(inUseElsewhere);
    if (volume.isBlock) return this.#map(request, volume, publishContext, onNode);
    if (!onNode.isStaged)
      await step('MountVolume.MountDevice failed', async () => {
        const {staging, publishing} = this.#parts.services;
        const can = await publishing.client(volume.driver, 'attacher.MountDevice failed to create newCsiDriverClient').capabilities();
        const group = can.has('VOLUME_MOUNT_GROUP') ? request.pod.spec?.securityContext?.fsGroup : undefined;
        const options = withLabel(volume.mountOptions, request.label);
        await staging.stage(volume, {can, publishContext, wishes: {options, group}, label: request.label});
        onNode.isStaged = true;
      });
    const isNew = !onNode.published.has(uid);
    onNode.published.add(uid);
    try {
      const mounted = await this.#publish(request, volume, publishContext);
      await this.#parts.services.expansion.mounted(this.#expandable(request, volume, mounted.path));
      return mounted;
    } catch (error) {
      if (isNew && error instanceof CsiError && error.isFinal) onNode.published.delete(uid);
      throw error;
    }
  }

  /** Unmounts a volume that is mounted with another label. Throws `StillMounted` while other pods have it. */
  async #relabel({pod, label}: VolumeRequest, volume: CsiVolume, onNode: NodeVolume): Promise<void> {
    if (label === undefined) return;
    const {paths, services, type} = this.#parts;
    if (onNode.label !== undefined && onNode.label !== label) {
      const uid = pod.metadata?.uid ?? '';
      if (onNode.published.has(uid)) await this.#unpublish(dirname(paths.target(uid, volume.specName)));
      onNode.published.delete(uid);
      if (onNode.published.size > 0) throw new StillMounted(uniqueName(type, volume));
      await step('UnmountDevice failed', () => services.staging.unstage(volume));
      onNode.isStaged = false;
    }
    onNode.label = label;
  }

  async #map(
    request: VolumeRequest,
    volume: CsiVolume,
    publishContext: Readonly<Record<string, string>>,
    onNode: NodeVolume,
  ): Promise<MountedVolume> {
    const {paths, services} = this.#parts;
    const uid = request.pod.metadata?.uid ?? '';
    const path = await services.blocks.publish({pod: request.pod, volume, publishContext}, onNode);
    await services.expansion.mounted(this.#expandable(request, volume, paths.blockTarget(uid, volume.specName)));
    const measured = join(paths.blockMaps(volume.specName), uid);
    return {path, isDevice: true, isReadonly: volume.isReadonly, measure: () => services.measuring.measure(volume, measured)};
  }

  /**
   * Returns what a driver's controller says of an attached volume; nothing for drivers whose volumes are not attached.
   */
  async #attach(volume: CsiVolume): Promise<Readonly<Record<string, string>>> {
    const {objects, attachments} = this.#parts;
    const found = await objects.driver(volume.driver);
    return found?.spec.attachRequired === false ? {} : attachments.ensure(volume);
  }

  async #publish(request: VolumeRequest, volume: CsiVolume, publishContext: Readonly<Record<string, string>>): Promise<MountedVolume> {
    const {pod, label, giveToGroup} = request;
    const {staging, publishing} = this.#parts.services;
    const can = await publishing.client(volume.driver, 'mounter.SetUpAt failed to get CSI client').capabilities();
    const {path, isRelabelled} = await publishing.publish({
      pod,
      volume,
      can,
      publishContext,
      stagingPath: volume.lifecycle === 'Ephemeral' ? '' : staging.pathOf(volume, can),
      options: withLabel(volume.mountOptions, label),
      label,
      giveToGroup,
    });
    return {path, isReadonly: volume.isReadonly, isRelabelled, measure: () => this.#parts.services.measuring.measure(volume, path)};
  }

  #expandable(request: VolumeRequest, volume: CsiVolume, path: string): Expandable {
    const {paths} = this.#parts;
    const stagingPath = volume.isBlock ? paths.blockStaging(volume.specName) : paths.globalMount(volume);
    return {request, volume, path, stagingPath};
  }

  /** Runs an operation that failed before only when its time has come. */
  async #backedOff(folder: string, act: () => Promise<unknown>): Promise<void> {
    const {clock} = this.#parts;
    const before = this.#failures.get(folder);
    if (before && clock.monotonic() < before.retryAt) throw before.error;
    try {
      await act();
      this.#failures.delete(folder);
    } catch (error) {
      const count = before?.count ?? 0;
      this.#failures.set(folder, {count: count + 1, retryAt: clock.monotonic() + backoff(count), error});
      throw error;
    }
  }
}
