import type {Lister} from '#informers/lister.js';
import {keyOf, type Frozen, type ObjectKey} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {copyOf} from '#src/api/key.js';
import {sameMode, volumeAnnotations, type Claim, type Volume} from '#src/model/volumes.js';
import type {ControllerContext} from '#src/runtime/controller.js';
import {unlessMissing} from '#src/client/missing.js';
import type {Binding} from './binding.js';
import {finalizersOf} from './finalizers.js';
import type {Reclaimer} from './reclaim.js';

interface VolumeSyncParts {
  readonly context: ControllerContext;
  readonly binding: Binding;
  readonly reclaimer: Reclaimer;
  enqueueClaim(key: ObjectKey): void;
}

const isOver = ({status}: Frozen<Volume>): boolean => status?.phase === 'Released' || status?.phase === 'Failed';

/** Decides about one volume. */
export class VolumeSync {
  readonly #parts: VolumeSyncParts;
  readonly #claims: Lister<Claim>;

  constructor(parts: VolumeSyncParts) {
    this.#parts = parts;
    this.#claims = parts.context.lister(kinds.persistentVolumeClaims);
  }

  async run(found: Frozen<Volume>): Promise<void> {
    const {binding} = this.#parts;
    const volume = await this.#withFinalizers(found);
    // Unused, or reserved for a claim that is not bound yet.
    if (!volume.spec?.claimRef?.uid) return void (await binding.setVolumePhase(volume, 'Available'));
    const claim = await this.#claimOf(volume);
    if (!claim) await this.#release(volume);
    else if (!claim.spec?.volumeName) this.#awaitClaim(volume, claim);
    else if (claim.spec.volumeName === volume.metadata?.name) await binding.setVolumePhase(volume, 'Bound');
    else await this.#drop(volume);
  }

  async #withFinalizers(volume: Frozen<Volume>): Promise<Frozen<Volume>> {
    const {binding, context} = this.#parts;
    const finalizers = finalizersOf(volume, context.naming);
    if (!finalizers) return volume;
    const changed = copyOf<Volume>(volume);
    changed.metadata = {...changed.metadata, finalizers: [...finalizers]};
    return binding.saveVolume(changed);
  }

  /**
   * Returns the claim that the volume refers to, unless it is gone: then nothing may be reclaimed by mistake, so that
   * the server is asked.
   */
  async #claimOf(volume: Frozen<Volume>): Promise<Frozen<Claim> | undefined> {
    const {binding, context} = this.#parts;
    const {namespace = '', name = '', uid} = volume.spec!.claimRef!;
    const live = () => unlessMissing(context.client.resource(kinds.persistentVolumeClaims).get(name, {namespace}));
    let claim: Frozen<Claim> | undefined = binding.claimOf(volume);
    if (!claim && !isOver(volume)) claim = this.#claims.get({namespace, name}) ?? (await live());
    if (claim && claim.metadata?.uid !== uid) claim = await live();
    return claim?.metadata?.uid === uid ? claim : undefined;
  }

  async #release(volume: Frozen<Volume>): Promise<void> {
    const {binding, reclaimer} = this.#parts;
    await reclaimer.reclaim(isOver(volume) ? volume : await binding.setVolumePhase(volume, 'Released'));
  }

  /** The claim's sync completes the binding. */
  #awaitClaim(volume: Frozen<Volume>, claim: Frozen<Claim>): void {
    const {context, enqueueClaim} = this.#parts;
    if (sameMode(claim, volume)) return enqueueClaim(keyOf(claim));
    const [volumeName, claimName] = [volume.metadata?.name, claim.metadata?.name].map(name => JSON.stringify(name));
    const why = 'due to incompatible volumeMode.';
    context.events.warning(volume, 'VolumeMismatch', `Cannot bind PersistentVolume to requested PersistentVolumeClaim ${claimName} ${why}`);
    context.events.warning(claim, 'VolumeMismatch', `Cannot bind PersistentVolume ${volumeName} to requested PersistentVolumeClaim ${why}`);
  }

  /** The claim got another volume: one that was created for it is not needed. */
  async #drop(volume: Frozen<Volume>): Promise<void> {
    const {provisionedBy} = volumeAnnotations(this.#parts.context.naming);
    const isProvisioned = volume.metadata?.annotations?.[provisionedBy] !== undefined;
    if (isProvisioned && volume.spec?.persistentVolumeReclaimPolicy === 'Delete') await this.#release(volume);
    else await this.#parts.binding.unbind(volume);
  }
}
