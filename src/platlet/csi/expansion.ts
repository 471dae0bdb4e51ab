// Expands the volumes of CSI drivers on the node, when they are mounted and while they are.

import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {parseQuantity, quantityNumber} from '#src/api/quantity.js';
import type {Clock} from '#src/base/clock.js';
import {messageOf} from '#src/base/message.js';
import type {Client} from '#src/client/client.js';
import type {Claim} from '#src/model/volumes.js';
import {VolumeError, type VolumeRequest} from '#src/platlet/volumes/plugin.js';
import type {EventRecorder} from '#src/runtime/events/events.js';
import {expansionBegun, expansionDone, expansionFailed, isLarger, planExpansion, type ExpansionPlan} from './claim-expansion.js';
import {CsiError, type CsiClient} from './client.js';
import type {DriverObjects} from './driver-objects.js';
import type {CsiDrivers} from './drivers.js';
import type {StorageMetrics} from './metrics.js';
import {procedures} from './procedures.js';
import {capabilityOf, type CsiVolume} from './volume.js';

export interface ExpansionParts {
  readonly client: Client;
  readonly drivers: Pick<CsiDrivers, 'client'>;
  readonly objects: Pick<DriverObjects, 'secret'>;
  readonly clock: Clock;
  readonly events: EventRecorder;
  readonly metrics: StorageMetrics;
}

/** A mounted volume. */
export interface Expandable {
  readonly request: VolumeRequest;
  readonly volume: CsiVolume;
  readonly path: string;
  readonly stagingPath: string;
}

/** The driver has no expansion on nodes. */
class NotSupported extends Error {}

const failed = 'Expander.NodeExpand failed to expand the volume';

/** Expands volumes. */
export class Expansion {
  readonly #parts: ExpansionParts;
  /** The sizes that volumes have on this node, by their handle. */
  readonly #sizes = new Map<string, string>();
  readonly #failed = new Set<string>();

  constructor(parts: ExpansionParts) {
    this.#parts = parts;
  }

  /** Called for a volume that has just been mounted: it may be smaller than it is said to be. */
  async mounted(expandable: Expandable): Promise<void> {
    const {request, volume} = expandable;
    const claim = await this.#claimOf(request);
    const size = request.persistent?.spec?.capacity?.['storage'];
    this.#sizes.set(volume.handle, claim.status?.capacity?.['storage'] ?? '0');
    if (!isLarger(size, claim.status?.capacity?.['storage'])) return;
    try {
      await this.#expand(expandable, claim, size!);
    } catch (error) {
      throw new VolumeError('MountVolume.Setup failed while expanding volume', messageOf(error), {cause: error});
    }
  }

  /** Called for a mounted volume again and again: it may have become larger. */
  async used(expandable: Expandable): Promise<void> {
    const {request, volume} = expandable;
    const size = request.persistent?.spec?.capacity?.['storage'];
    if (!isLarger(size, this.#sizes.get(volume.handle)) || request.isReadonly) return;
    const {metrics} = this.#parts;
    try {
      await metrics.measured(volume.driver, 'volume_fs_resize', async () => this.#expand(expandable, await this.#claimOf(request), size!));
    } catch (error) {
      throw new VolumeError('NodeExpandVolume.NodeExpandVolume failed', messageOf(error), {cause: error, reason: 'VolumeResizeFailed'});
    }
  }

  /** Called when a volume is no longer on the node. */
  forget(handle: string): void {
    this.#sizes.delete(handle);
    this.#failed.delete(handle);
  }

  async #expand(expandable: Expandable, claim: Claim, volumeSize: string): Promise<void> {
    const {client, events} = this.#parts;
    const {request, volume} = expandable;
    const name = JSON.stringify(volume.specName);
    if (request.isReadonly) {
      const text = `MountVolume.NodeExpandVolume failed for volume ${name} requested read-only file system`;
      for (const object of [request.pod, claim]) events.warning(object as Frozen<Claim>, 'FileSystemResizeFailed', text);
      return;
    }
    const notRequiredAnnotation = client.naming.subKey('volume', 'node-expansion-not-required');
    const plan = planExpansion({claim, volumeSize, hasFailed: this.#failed.has(volume.handle), notRequiredAnnotation});
    if (plan.step === 'wait') return;
    if (plan.step === 'done') return void this.#sizes.set(volume.handle, plan.size);
    const begun = plan.isRecorded && !plan.isShown ? await this.#patch(claim, expansionBegun()) : claim;
    if (!(await this.#call(expandable, begun, plan))) return;
    const text = `MountVolume.NodeExpandVolume succeeded for volume ${name} ${request.pod.spec?.nodeName ?? ''}`;
    for (const object of [request.pod, claim]) events.normal(object as Frozen<Claim>, 'FileSystemResizeSuccessful', text);
    if (!plan.isShown) await this.#patch(begun, expansionDone(begun, plan.size));
    this.#failed.delete(volume.handle);
    this.#sizes.set(volume.handle, plan.size);
  }

  /**
   * Calls the driver. Returns whether it has expanded the volume; that it cannot now must not keep pods from starting.
   */
  async #call(expandable: Expandable, claim: Claim, plan: ExpansionPlan): Promise<boolean> {
    const {clock} = this.#parts;
    const {handle, driver} = expandable.volume;
    try {
      await this.#expandAt(this.#parts.drivers.client(driver), expandable, plan.size);
      return true;
    } catch (error) {
      if (error instanceof NotSupported && (plan.isShown || !plan.isRecorded)) {
        this.#sizes.set(handle, plan.size);
        return false;
      }
      const cause = (error as Error).cause;
      const call = cause instanceof CsiError ? cause : undefined;
      if (plan.isRecorded && (call ? call.isFinal : true)) {
        this.#failed.add(handle);
        const isInfeasible = call?.isInfeasible === true || plan.infeasibleOnFailure;
        await this.#patch(claim, expansionFailed(claim, messageOf(error), isInfeasible, clock.now()));
      }
      if (!call?.isPrecondition) throw error;
      // In use: it is not tried again while it is.
      this.#sizes.set(handle, plan.size);
      return false;
    }
  }

  async #expandAt(client: CsiClient, {request, volume, path, stagingPath}: Expandable, size: string): Promise<void> {
    const can = await client.capabilities();
    if (!can.has('EXPAND_VOLUME')) throw new NotSupported(`NodeExpand is not supported by the CSI driver ${volume.driver}`);
    const {expand: reference} = volume.secrets;
    const secrets = reference ? await this.#parts.objects.secret(reference) : {};
    try {
      await client.call(procedures.expand, {
        volumeId: volume.handle,
        volumePath: path,
        capacityRange: {requiredBytes: quantityNumber(parseQuantity(size))},
        stagingTargetPath: stagingPath,
        volumeCapability: capabilityOf(volume, can, {options: request.persistent?.spec?.mountOptions ?? []}),
        secrets,
      });
    } catch (error) {
      const colon = error instanceof CsiError && error.isInfeasible ? '' : ' :';
      throw new Error(`${failed}${colon} ${messageOf(error)}`, {cause: error});
    }
  }

  #claimOf({persistent}: VolumeRequest): Promise<Claim> {
    const {namespace = '', name = ''} = persistent?.spec?.claimRef ?? {};
    return this.#parts.client
      .resource(kinds.persistentVolumeClaims)
      .get(name, {namespace})
      .catch((error: unknown) => {
        throw new Error(`mountVolume.NodeExpandVolume get PVC failed : ${messageOf(error)}`, {cause: error});
      });
  }

  #patch({metadata}: Frozen<Claim>, status: object): Promise<Claim> {
    const {name = '', namespace = ''} = metadata ?? {};
    return this.#parts.client
      .resource(kinds.persistentVolumeClaims)
      .patch(name, 'merge', {metadata: {uid: metadata?.uid}, status}, {namespace, subresource: 'status'});
  }
}
