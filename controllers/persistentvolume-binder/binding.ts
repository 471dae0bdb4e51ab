// Claims and volumes as the binder knows them: the caches with its own writes applied at once, so that two
// reconciliations never bind the same volume. All writes but creations and deletions are here.

import {sameJson} from '#src/api/equal.js';
import {copyOf, keyOf, keyText, type Frozen} from '#src/api/key.js';
import {compareQuantities, parseQuantity} from '#src/api/quantity.js';
import {kinds} from '#src/api/kinds/index.js';
import type {EventRecorder} from '#src/runtime/events/events.js';
import type {ControllerContext} from '#src/runtime/controller.js';
import type {Writer} from '#src/runtime/writer.js';
import {volumeAnnotations, volumeBoundTo, type Claim, type Volume} from '#src/model/volumes.js';
import {ObjectStore, VolumeStore} from './stores.js';

export type VolumePhase = 'Available' | 'Bound' | 'Released' | 'Failed';
export type ClaimPhase = 'Pending' | 'Bound' | 'Lost';

/** An event that goes with a change of a phase. */
export type PhaseEvent = readonly [type: 'normal' | 'warning', reason: string, message: string];

type ClaimStatus = NonNullable<Claim['status']> & {currentVolumeAttributesClassName?: string};

/** The known claims and volumes, and all writes to them but creations and deletions. Each write is known at once. */
export class Binding {
  readonly claims = new ObjectStore<Claim>();
  readonly volumes: VolumeStore;
  readonly #writeClaims: Writer<Claim>;
  readonly #writeVolumes: Writer<Volume>;
  readonly #events: EventRecorder;
  readonly #annotations: ReturnType<typeof volumeAnnotations>;
  readonly #naming: ControllerContext['naming'];

  constructor({writer, naming, events}: Pick<ControllerContext, 'writer' | 'naming' | 'events'>) {
    this.volumes = new VolumeStore(naming);
    this.#writeClaims = writer(kinds.persistentVolumeClaims);
    this.#writeVolumes = writer(kinds.persistentVolumes);
    this.#events = events;
    this.#annotations = volumeAnnotations(naming);
    this.#naming = naming;
  }

  async saveClaim(claim: Claim): Promise<Frozen<Claim>> {
    const saved = await this.#writeClaims.update(claim);
    this.claims.put(saved);
    return saved;
  }

  async saveVolume(volume: Volume): Promise<Frozen<Volume>> {
    const saved = await this.#writeVolumes.update(volume);
    this.volumes.put(saved);
    return saved;
  }

  /** Sets the phase of a volume. The event is recorded only if that changes it. */
  async setVolumePhase(volume: Frozen<Volume>, phase: VolumePhase, event?: PhaseEvent): Promise<Frozen<Volume>> {
    if (volume.status?.phase === phase) return volume;
    const changed = copyOf<Volume>(volume);
    const {message: _, ...status} = changed.status ?? {};
    changed.status = {...status, phase, ...(event ? {message: event[2]} : {})};
    const saved = await this.#writeVolumes.updateStatus(changed);
    this.volumes.put(saved);
    if (event) this.#events[event[0]](saved, event[1], event[2]);
    return saved;
  }

  /** Sets the phase of a claim, and what it has of its volume. */
  async setClaimPhase(claim: Frozen<Claim>, phase: ClaimPhase, volume?: Frozen<Volume>): Promise<Frozen<Claim>> {
    const changed = copyOf<Claim>(claim);
    changed.status = this.#claimStatus(claim, phase, volume);
    if (sameJson(changed.status, claim.status ?? {})) return claim;
    const saved = await this.#writeClaims.updateStatus(changed);
    this.claims.put(saved);
    return saved;
  }

  /** Sets the phase Lost of a claim, with an event if that changes it. */
  async loseClaim(claim: Frozen<Claim>, reason: string, message: string): Promise<void> {
    if (claim.status?.phase === 'Lost') return;
    this.#events.warning(await this.setClaimPhase(claim, 'Lost'), reason, message);
  }

  #claimStatus(claim: Frozen<Claim>, phase: ClaimPhase, volume: Frozen<Volume> | undefined): ClaimStatus {
    const {accessModes: _, capacity, ...rest} = (claim.status ?? {}) as ClaimStatus;
    if (!volume) return {...rest, phase};
    const status: ClaimStatus = {...rest, phase, accessModes: [...(volume.spec?.accessModes ?? [])], ...(capacity ? {capacity} : {})};
    // Later the two may differ: a file system can be smaller than its device for a while.
    if (claim.status?.phase !== phase) {
      const size = volume.metadata?.annotations?.[this.#annotations.preResizeCapacity] ?? volume.spec?.capacity?.['storage'];
      if (size === undefined) throw new Error(`PersistentVolume ${JSON.stringify(volume.metadata?.name)} is without a storage capacity`);
      const before = capacity?.['storage'];
      if (before === undefined || compareQuantities(parseQuantity(before), parseQuantity(size)) !== 0)
        status.capacity = {...volume.spec?.capacity, storage: size};
    }
    const attributes = (claim.spec as {volumeAttributesClassName?: string} | undefined)?.volumeAttributesClassName;
    if (claim.status?.phase === 'Pending' && phase === 'Bound' && attributes) status.currentVolumeAttributesClassName = attributes;
    return status;
  }

  /** Binds a volume and a claim to each other. Stops at the first failure: the next sync continues. */
  async bind(volume: Frozen<Volume>, claim: Frozen<Claim>): Promise<void> {
    const referring = volumeBoundTo(volume, claim, this.#naming);
    const bound = await this.setVolumePhase(referring ? await this.saveVolume(referring) : volume, 'Bound');
    await this.setClaimPhase(await this.#bindClaim(claim, bound), 'Bound', bound);
  }

  async #bindClaim(claim: Frozen<Claim>, {metadata}: Frozen<Volume>): Promise<Frozen<Claim>> {
    const {boundByController, bindCompleted} = this.#annotations;
    const annotations = {...claim.metadata?.annotations};
    const wasChosen = claim.spec?.volumeName !== metadata?.name;
    if (!wasChosen && annotations[bindCompleted] !== undefined) return claim;
    if (wasChosen) annotations[boundByController] ??= 'yes';
    annotations[bindCompleted] ??= 'yes';
    const changed = copyOf<Claim>(claim);
    changed.metadata = {...changed.metadata, annotations};
    changed.spec = {...changed.spec, volumeName: metadata?.name ?? ''};
    return this.saveClaim(changed);
  }

  /** Makes a volume available again. One that its creator reserved for a claim stays reserved. */
  async unbind(volume: Frozen<Volume>): Promise<void> {
    const {boundByController} = this.#annotations;
    const changed = copyOf<Volume>(volume);
    const {[boundByController]: isOurs, ...annotations} = changed.metadata?.annotations ?? {};
    if (isOurs === undefined) delete changed.spec?.claimRef?.uid;
    else {
      delete changed.spec?.claimRef;
      changed.metadata = {...changed.metadata, annotations};
    }
    await this.setVolumePhase(await this.saveVolume(changed), 'Available');
  }

  claimOf(volume: Frozen<Volume>): Frozen<Claim> | undefined {
    const {namespace = '', name = ''} = volume.spec?.claimRef ?? {};
    return this.claims.get(`${namespace}/${name}`);
  }

  /** Whether no claim holds a volume any more: that of its reference is gone, or has another volume. */
  isReleased(volume: Frozen<Volume>): boolean {
    const uid = volume.spec?.claimRef?.uid;
    if (!uid) return false; // Unused, or reserved.
    const claim = this.claimOf(volume);
    if (claim?.metadata?.uid !== uid) return true;
    return Boolean(claim.spec?.volumeName) && claim.spec?.volumeName !== volume.metadata?.name;
  }
}

/** The text of a claim's key. */
export const claimKey = (claim: Frozen<Claim>): string => keyText(keyOf(claim));
