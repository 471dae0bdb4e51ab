import {indexing, type Lister} from '#informers/lister.js';
import {copyOf, type Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import type {Counter} from '#src/base/meter.js';
import {isTerminal} from '#src/model/pod/state.js';
import {
  classOf,
  isBoundTo,
  isDelayedBinding,
  statesClass,
  volumeAnnotations,
  volumeMismatch,
  type Claim,
  type StorageClass,
} from '#src/model/volumes.js';
import type {ControllerContext} from '#src/runtime/controller.js';
import {podsByClaim} from '#controllers/shared/volumes/pods-by-claim.js';
import {claimKey, type Binding} from './binding.js';
import {defaultClass} from './default-class.js';
import type {Provisioner} from './provision.js';
import type {Timings} from './timings.js';

const noVolume = 'no persistent volumes available for this claim and no storage class is set';

interface ClaimSyncParts {
  readonly context: ControllerContext;
  readonly binding: Binding;
  readonly provisioner: Provisioner;
  readonly timings: Timings;
}

/** Decides about one claim. */
export class ClaimSync {
  readonly #parts: ClaimSyncParts;
  readonly #classes: Lister<StorageClass>;
  readonly #pods: Lister<Pod>;
  readonly #defaulted: Counter;
  readonly #notDefaulted: Counter;

  constructor(parts: ClaimSyncParts) {
    const {meter, lister} = parts.context;
    this.#parts = parts;
    this.#classes = lister(kinds.storageClasses);
    this.#pods = indexing(lister(kinds.pods), podsByClaim);
    this.#defaulted = meter.counter({
      name: 'retroactive_storageclass_total',
      help: 'Total number of retroactive StorageClass assignments to persistent volume claim',
    });
    this.#notDefaulted = meter.counter({
      name: 'retroactive_storageclass_errors_total',
      help: 'Total number of failed retroactive StorageClass assignments to persistent volume claim',
    });
  }

  async run(claim: Frozen<Claim>): Promise<void> {
    const {bindCompleted} = volumeAnnotations(this.#parts.context.naming);
    if (claim.metadata?.annotations?.[bindCompleted] !== undefined) await this.#syncBound(claim);
    else if (claim.spec?.volumeName) await this.#syncNamed(claim, claim.spec.volumeName);
    else await this.#syncUnbound(claim);
  }

  /** A claim of any volume. */
  async #syncUnbound(claim: Frozen<Claim>): Promise<void> {
    const {binding, context, provisioner, timings} = this.#parts;
    const {naming, events} = context;
    const delayed = this.#isDelayed(claim);
    const volume = binding.volumes.bestMatch(claim, delayed);
    if (volume) {
      await binding.bind(volume, claim);
      return timings.done(claimKey(claim));
    }
    if (await this.#assignDefaultClass(claim)) return;
    if (delayed) this.#reportWait(claim);
    else if (classOf(claim, naming) !== '') return provisioner.start(claim);
    else events.normal(claim, 'FailedBinding', noVolume);
    await binding.setClaimPhase(claim, 'Pending');
  }

  /** Whether the claim waits for the scheduler to select a node. */
  #isDelayed(claim: Frozen<Claim>): boolean {
    const {naming} = this.#parts.context;
    if (claim.metadata?.annotations?.[volumeAnnotations(naming).selectedNode] !== undefined) return false;
    return isDelayedBinding(this.#classes.get(classOf(claim, naming)));
  }

  /** Gives a claim without any class the default one, if there is one by now. The change leads to its next sync. */
  async #assignDefaultClass(claim: Frozen<Claim>): Promise<boolean> {
    const {binding, context} = this.#parts;
    if (statesClass(claim, context.naming)) return false;
    const found = defaultClass(this.#classes.list(), context.naming);
    if (!found) return false;
    const changed = copyOf<Claim>(claim);
    changed.spec = {...changed.spec, storageClassName: found.metadata?.name ?? ''};
    try {
      await binding.saveClaim(changed);
    } catch (error) {
      this.#notDefaulted.add();
      throw error;
    }
    this.#defaulted.add();
    return true;
  }

  #reportWait(claim: Frozen<Claim>): void {
    const {events} = this.#parts.context;
    const pods = this.#pods
      .by(podsByClaim, claimKey(claim))
      .filter(pod => !isTerminal(pod) && !pod.spec?.nodeName)
      .map(({metadata}) => metadata?.name);
    if (pods.length === 0) events.normal(claim, 'WaitForFirstConsumer', 'waiting for first consumer to be created before binding');
    else events.normal(claim, 'WaitForPodScheduled', `waiting for ${pods.length > 1 ? 'pods' : 'pod'} ${pods.join(',')} to be scheduled`);
  }

  /** A claim that names its volume, because its creator or an interrupted binding set that. */
  async #syncNamed(claim: Frozen<Claim>, name: string): Promise<void> {
    const {binding, context} = this.#parts;
    const {naming, events} = context;
    const volume = binding.volumes.get(name);
    if (volume && !volume.spec?.claimRef) {
      const mismatch = volumeMismatch(volume, claim, naming);
      if (mismatch === undefined) return binding.bind(volume, claim);
      events.warning(claim, 'VolumeMismatch', `Cannot bind to requested volume ${JSON.stringify(name)}: ${mismatch}`);
    } else if (volume) {
      if (isBoundTo(volume, claim)) return binding.bind(volume, claim);
      const {namespace, name: other} = volume.spec!.claimRef!;
      if (claim.metadata?.annotations?.[volumeAnnotations(naming).boundByController] !== undefined)
        throw new Error(
          `invalid binding of claim "${claimKey(claim)}" to volume "${name}": volume already claimed by "${namespace}/${other}"`,
        );
      events.warning(claim, 'FailedBinding', `volume ${JSON.stringify(name)} already bound to a different claim.`);
    }
    await binding.setClaimPhase(claim, 'Pending');
  }

  /** A claim whose binding was completed before. */
  async #syncBound(claim: Frozen<Claim>): Promise<void> {
    const {binding} = this.#parts;
    const {volumeName} = claim.spec ?? {};
    if (!volumeName)
      return binding.loseClaim(claim, 'ClaimLost', 'Bound claim has lost reference to PersistentVolume. Data on the volume is lost!');
    const volume = binding.volumes.get(volumeName);
    if (!volume) return binding.loseClaim(claim, 'ClaimLost', 'Bound claim has lost its PersistentVolume. Data on the volume is lost!');
    const reference = volume.spec?.claimRef;
    if (reference && reference.uid !== claim.metadata?.uid)
      return binding.loseClaim(claim, 'ClaimMisbound', 'Two claims are bound to the same volume, this one is bound incorrectly');
    await binding.bind(volume, claim);
  }
}
