// The persistent volumes bound to the claims of pods.

import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod, Volume} from '#src/api/pod.js';
import {messageOf} from '#src/base/message.js';
import type {Client} from '#src/client/client.js';
import {isBoundTo} from '#src/model/volumes.js';
import type {PersistentVolume} from './plugin.js';

export interface Claimed {
  readonly persistent: Frozen<PersistentVolume>;
  readonly isReadonly: boolean;
}

/** Returns the name of the claim of a pod volume; undefined for other volumes. */
const claimNameOf = ({metadata}: Frozen<Pod>, {name, persistentVolumeClaim, ephemeral}: Frozen<Volume>): string | undefined =>
  persistentVolumeClaim?.claimName ?? (ephemeral ? `${metadata?.name ?? ''}-${name}` : undefined);

/** Finds the persistent volumes of claims. */
export class Claims {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /**
   * Returns the persistent volume of a pod volume; undefined if it does not use a claim. Rejects while it is not
   * usable.
   */
  async of(pod: Frozen<Pod>, volume: Frozen<Volume>): Promise<Claimed | undefined> {
    const name = claimNameOf(pod, volume);
    if (name === undefined) return undefined;
    const namespace = pod.metadata?.namespace ?? '';
    try {
      return await this.#find(pod, volume, namespace, name);
    } catch (error) {
      throw new Error(`error processing PVC ${namespace}/${name}: ${messageOf(error)}`, {cause: error});
    }
  }

  async #find(pod: Frozen<Pod>, {ephemeral, persistentVolumeClaim}: Frozen<Volume>, namespace: string, name: string): Promise<Claimed> {
    const claim = await this.#client
      .resource(kinds.persistentVolumeClaims)
      .get(name, {namespace})
      .catch((error: unknown) => {
        throw new Error(`failed to fetch PVC from API server: ${messageOf(error)}`, {cause: error});
      });
    const {uid} = pod.metadata ?? {};
    if (ephemeral && !claim.metadata?.ownerReferences?.some(owner => owner.controller && owner.uid === uid))
      throw new Error(`PVC ${namespace}/${name} was not created for pod ${namespace}/${pod.metadata?.name} (pod is not owner)`);
    if (claim.metadata?.deletionTimestamp) throw new Error('PVC is being deleted');
    if (claim.status?.phase !== 'Bound') throw new Error('PVC is not bound');
    const volumeName = claim.spec?.volumeName;
    if (!volumeName) throw new Error('PVC has non-Bound phase or empty pvc.Spec.VolumeName');
    const persistent = await this.#client.resource(kinds.persistentVolumes).get(volumeName);
    if (!isBoundTo(persistent, claim)) throw new Error(`PV ${volumeName} is not bound to PVC ${namespace}/${name}`);
    return {persistent, isReadonly: persistentVolumeClaim?.readOnly ?? false};
  }
}
