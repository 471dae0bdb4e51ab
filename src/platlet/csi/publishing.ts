// Publishes volumes of CSI drivers to pods, as mounts.

import {dirname, join} from 'node:path';
import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {messageOf} from '#src/base/message.js';
import type {Host} from '#src/platlet/host/host.js';
import {keepsLabels} from '#src/platlet/host/selinux.js';
import type {MountedVolume} from '#src/platlet/volumes/plugin.js';
import {CsiError, type CsiClient} from './client.js';
import type {DriverObjects} from './driver-objects.js';
import type {CsiDrivers} from './drivers.js';
import type {StorageMetrics} from './metrics.js';
import type {CsiPaths} from './paths.js';
import {procedures, type Capability} from './procedures.js';
import {
  attachmentName,
  capabilityOf,
  checkLifecycle,
  groupPolicyOf,
  isGivenToGroup,
  podContext,
  tokensKey,
  type CsiDriver,
  type CsiVolume,
  type SecretReference,
} from './volume.js';
import {removeMountPoint, saveVolumeData, type VolumeData} from './volume-data.js';

export interface PublishingParts {
  readonly host: Host;
  readonly paths: CsiPaths;
  readonly drivers: Pick<CsiDrivers, 'client'>;
  readonly objects: Pick<DriverObjects, 'driver' | 'secret' | 'tokens'>;
  readonly nodeName: string;
  readonly metrics: StorageMetrics;
  /** The prefix of messages: the name of the volume type. */
  readonly type: string;
}

/** What a volume is published with. */
export interface Publication {
  readonly pod: Frozen<Pod>;
  readonly volume: CsiVolume;
  readonly can: ReadonlySet<Capability>;
  readonly stagingPath: string;
  readonly publishContext: Readonly<Record<string, string>>;
  readonly options: readonly string[];
  /** The SELinux label that the volume is mounted with, if any. */
  readonly label?: string | undefined;
  giveToGroup(path: string): Promise<void>;
}

/** The mount of a published volume. */
export type Published = Required<Pick<MountedVolume, 'path' | 'isRelabelled'>>;

/** What the driver is told of the pod, and the secrets for it. */
interface Context {
  readonly volumeContext: Readonly<Record<string, string>>;
  readonly secrets: Readonly<Record<string, string>>;
}

const folderMode = 0o750;

/** Publishes volumes, and unpublishes them. */
export class Publishing {
  readonly #parts: PublishingParts;

  constructor(parts: PublishingParts) {
    this.#parts = parts;
  }

  /** Returns the client of a driver. `what`: the operation, for the message. */
  client(driver: string, what: string): CsiClient {
    try {
      return this.#parts.drivers.client(driver);
    } catch (error) {
      throw new Error(`${this.#parts.type}: ${what}: ${messageOf(error)}`, {cause: error});
    }
  }

  /**
   * Publishes a volume. Returns its mount. After an error that is not final it may be mounted all the same.
   */
  async publish(publication: Publication): Promise<Published> {
    const {host, objects, paths, type} = this.#parts;
    const {pod, volume, can, options} = publication;
    const client = this.client(volume.driver, 'mounter.SetUpAt failed to get CSI client');
    const found = await objects.driver(volume.driver);
    const prefixed = <T>(what: string, act: () => T): T => {
      try {
        return act();
      } catch (error) {
        throw new Error(`${type}: mounter.SetupAt failed to check ${what}: ${messageOf(error)}`, {cause: error});
      }
    };
    prefixed('volume lifecycle mode', () => checkLifecycle(volume.driver, found, volume.lifecycle));
    const policy = prefixed('fsGroup policy', () => groupPolicyOf(found));
    const target = paths.target(pod.metadata?.uid ?? '', volume.specName);
    await host.makeFolder(dirname(target), folderMode);
    const context = await this.contextOf(publication, found);
    await saveVolumeData(host, dirname(target), this.#dataOf(publication));
    const delegated = can.has('VOLUME_MOUNT_GROUP');
    const group = delegated ? pod.spec?.securityContext?.fsGroup : undefined;
    await this.#call(client, publication, target, {...context, group, options});
    const isRelabelled = !publication.label && (await this.#keepsLabels(target));
    if (!delegated && isGivenToGroup(volume, policy)) await this.#giveToGroup(publication, target);
    return {path: target, isRelabelled: isRelabelled && !volume.isReadonly};
  }

  async #keepsLabels(target: string): Promise<boolean> {
    try {
      return await keepsLabels(this.#parts.host, target);
    } catch (error) {
      throw new Error(`error checking for SELinux support: ${messageOf(error)}`, {cause: error});
    }
  }

  async #giveToGroup({pod, volume, giveToGroup}: Publication, target: string): Promise<void> {
    if (pod.spec?.securityContext?.fsGroup === undefined) return;
    const {metrics} = this.#parts;
    await metrics
      .measured(volume.driver, 'volume_apply_access_control', () => giveToGroup(target))
      .catch((error: unknown) => {
        throw new Error(`applyFSGroup failed for vol ${volume.handle}: ${messageOf(error)}`, {cause: error});
      });
  }

  /** Returns what a driver is told of a pod, and the secrets for it. */
  async contextOf({pod, volume}: Pick<Publication, 'pod' | 'volume'>, found: Frozen<CsiDriver> | undefined): Promise<Context> {
    const {objects, type} = this.#parts;
    const secrets = await this.#secretsOf(volume.secrets.publish, volume.isBlock);
    const info = found?.spec.podInfoOnMount ? podContext(pod, volume.lifecycle) : {};
    if (volume.isBlock) return {secrets, volumeContext: {...volume.attributes, ...info}};
    const tokens = await objects.tokens(pod, found).catch((error: unknown) => {
      const what = 'mounter.SetUpAt failed to get service accoount token attributes';
      throw new Error(`${type}: ${what}: ${messageOf(error)}`, {cause: error});
    });
    const granted = tokens === undefined ? {} : {[tokensKey]: tokens};
    const inSecrets = found?.spec.serviceAccountTokenInSecrets ?? false;
    return {
      secrets: inSecrets ? {...secrets, ...granted} : secrets,
      volumeContext: {...volume.attributes, ...info, ...(inSecrets ? {} : granted)},
    };
  }

  /** Unpublishes what is in the folder of a volume of a pod, and removes it. */
  async unpublish(folder: string, data: VolumeData): Promise<void> {
    const {host, type} = this.#parts;
    const target = join(folder, 'mount');
    const client = this.client(data.driverName, 'Unmounter.TearDownAt failed to get CSI client');
    await client.call(procedures.unpublish, {volumeId: data.volumeHandle, targetPath: target}).catch((error: unknown) => {
      throw new Error(`${type}: Unmounter.TearDownAt failed: ${messageOf(error)}`, {cause: error});
    });
    await removeMountPoint(host, target);
  }

  async #call(
    client: CsiClient,
    {volume, can, stagingPath, publishContext}: Publication,
    target: string,
    {volumeContext, secrets, group, options}: Context & {readonly group: number | undefined; readonly options: readonly string[]},
  ): Promise<void> {
    try {
      await client.call(procedures.publish, {
        volumeId: volume.handle,
        publishContext,
        stagingTargetPath: stagingPath,
        targetPath: target,
        volumeCapability: capabilityOf(volume, can, {options, group}),
        readonly: volume.isReadonly,
        secrets,
        volumeContext,
      });
    } catch (error) {
      if (error instanceof CsiError && error.isFinal) await removeMountPoint(this.#parts.host, target);
      throw error;
    }
  }

  #dataOf({volume, label}: Publication): VolumeData {
    const {nodeName} = this.#parts;
    const {specName, handle, driver, lifecycle} = volume;
    return {
      specVolID: specName,
      volumeHandle: handle,
      driverName: driver,
      nodeName,
      volumeLifecycleMode: lifecycle,
      attachmentID: attachmentName(volume, nodeName),
      ...(label ? {seLinuxMountContext: label} : {}),
    };
  }

  async #secretsOf(reference: SecretReference | undefined, isBlock: boolean): Promise<Record<string, string>> {
    if (!reference) return {};
    const {objects, type} = this.#parts;
    try {
      return await objects.secret(reference);
    } catch (error) {
      const name = `${reference.namespace}/${reference.name}`;
      const text = isBlock
        ? `${type}: failed to get NodePublishSecretRef ${name}: ${messageOf(error)}`
        : `fetching NodePublishSecretRef ${name} failed: ${messageOf(error)}`;
      throw new Error(text, {cause: error});
    }
  }
}
