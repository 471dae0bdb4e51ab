import {keyOf, keyText, type Frozen, type ObjectKey} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {compareQuantities, formatQuantity, parseQuantity, zeroQuantity, type Quantity} from '#src/api/quantity.js';
import {messageOf} from '#src/base/message.js';
import {claimedStorage, storageCapacity, volumeAnnotations, type Claim, type Volume} from '#src/model/volumes.js';
import {requeueAfter, settled, type KeyedContext, type Reconcile, type Result} from '#src/runtime/controller.js';
import {csiPlugin} from '#controllers/shared/volumes/external.js';
import {ExpansionInfeasible, specOf, VolumePlugins, type VolumePlugin, type Waiting} from '#controllers/shared/volumes/plugin.js';
import {simulatedPlugin} from '#controllers/shared/volumes/simulated.js';
import {expanded, expanding, statusStorage} from './claim-status.js';

/** A size that the storage can never have is tried again rarely. */
const infeasibleMs = 300_000;

const quantityOf = (text: string | undefined): Quantity => (text ? parseQuantity(text) : zeroQuantity);
const isLess = (a: Quantity, b: Quantity): boolean => compareQuantities(a, b) < 0;

/** Returns the size to expand to: what is requested, or an earlier larger target that may have been reached in part. */
const targetOf = (claim: Frozen<Claim>): Quantity => {
  const requested = claimedStorage(claim);
  const {allocatedResources, allocatedResourceStatuses} = claim.status ?? {};
  const before = quantityOf(allocatedResources?.['storage']);
  return allocatedResourceStatuses?.['storage'] === 'ControllerResizeInProgress' && isLess(requested, before) ? before : requested;
};

/** Expands the volumes of claims. */
class Expander {
  readonly #context: KeyedContext;
  readonly #annotations: ReturnType<typeof volumeAnnotations>;
  readonly #plugins: VolumePlugins;

  constructor(context: KeyedContext) {
    const {naming} = context;
    this.#context = context;
    this.#annotations = volumeAnnotations(naming);
    this.#plugins = new VolumePlugins([csiPlugin(naming), simulatedPlugin(naming)]);
  }

  async sync(claim: Frozen<Claim>, waiting: Waiting): Promise<Result> {
    const volume = await this.#volumeOf(claim);
    const {preResizeCapacity} = this.#annotations;
    const has = quantityOf(statusStorage(claim));
    const isPending = volume.metadata?.annotations?.[preResizeCapacity] !== undefined;
    if (!isLess(has, claimedStorage(claim)) && !isPending) return settled;
    const plugin = await this.#pluginFor(claim, volume);
    if (!plugin) return settled;
    if (isPending && !isLess(has, storageCapacity(volume)) && !isLess(has, claimedStorage(claim))) {
      await this.#patchVolume(volume, {metadata: {annotations: {[preResizeCapacity]: null}}});
      return settled;
    }
    return this.#expand(claim, volume, plugin, waiting);
  }

  async #volumeOf(claim: Frozen<Claim>): Promise<Volume> {
    const name = claim.spec?.volumeName ?? '';
    let volume: Volume;
    try {
      volume = await this.#context.client.resource(kinds.persistentVolumes).get(name);
    } catch (error) {
      throw new Error(`failed to get PV ${JSON.stringify(name)}: ${messageOf(error)}`, {cause: error});
    }
    const reference = volume.spec?.claimRef;
    if (reference?.namespace !== claim.metadata?.namespace || reference?.uid !== claim.metadata?.uid)
      throw new Error(`persistent Volume is not bound to PVC being updated : ${keyText(keyOf(claim))}`);
    return volume;
  }

  /** Returns the plugin that expands a volume, having reported if another controller has to. */
  async #pluginFor(claim: Frozen<Claim>, volume: Volume): Promise<VolumePlugin | undefined> {
    const {events} = this.#context;
    const driver = volume.metadata?.annotations?.[this.#annotations.migratedTo];
    if (driver) {
      events.normal(claim, 'ExternalExpanding', `CSI migration enabled for ${driver}; waiting for external resizer to expand the pvc`);
      await this.#patchStatus(claim, {}, driver);
      return undefined;
    }
    const waiting = 'waiting for an external controller to expand this PVC';
    try {
      const plugin = this.#plugins.forSpec(specOf(volume));
      if (plugin.expander) return plugin;
      events.normal(claim, 'ExternalExpanding', waiting);
    } catch {
      events.warning(claim, 'ExternalExpanding', waiting);
    }
    return undefined;
  }

  async #expand(claim: Frozen<Claim>, volume: Volume, plugin: VolumePlugin, waiting: Waiting): Promise<Result> {
    const {clock, events} = this.#context;
    const target = targetOf(claim);
    // The rest of an expansion is up to the node.
    if (!isLess(storageCapacity(volume), target) && claim.status?.allocatedResourceStatuses?.['storage']?.startsWith('Node'))
      return settled;
    const size = formatQuantity(target);
    const marked = await this.#patchStatus(claim, expanding(claim, size, 'ControllerResizeInProgress', clock.now()), plugin.name);
    const {expand, requiresNodeExpansion} = plugin.expander!;
    try {
      const reached = await expand(specOf(volume), size, statusStorage(claim) ?? '0', waiting);
      await this.#save(marked, volume, reached, requiresNodeExpansion && volume.spec?.volumeMode !== 'Block');
      return settled;
    } catch (error) {
      if (waiting.signal.aborted) throw error;
      const text = `error expanding volume "${keyText(keyOf(claim))}" of plugin ${JSON.stringify(plugin.name)}: ${messageOf(error)}`;
      events.warning(claim, 'VolumeResizeFailed', text);
      if (!(error instanceof ExpansionInfeasible)) throw new Error(text, {cause: error});
      await this.#patchStatus(marked, expanding(marked, size, 'ControllerResizeInfeasible', clock.now()));
      return requeueAfter(infeasibleMs);
    }
  }

  /** Saves the new size of the volume, and of the claim unless its node has to expand the file system. */
  async #save(claim: Frozen<Claim>, volume: Volume, size: string, needsNode: boolean): Promise<void> {
    const {clock, events} = this.#context;
    const before = storageCapacity(volume);
    if (isLess(before, parseQuantity(size))) {
      const annotations = needsNode ? {[this.#annotations.preResizeCapacity]: formatQuantity(before)} : {};
      await this.#patchVolume(volume, {metadata: {annotations}, spec: {capacity: {storage: size}}});
    }
    if (needsNode) {
      await this.#patchStatus(claim, expanding(claim, size, 'NodeResizePending', clock.now()));
      events.normal(claim, 'FileSystemResizeRequired', 'Require file system resize of volume on node');
      return;
    }
    await this.#patchStatus(claim, expanded(claim, size));
    events.normal(claim, 'VolumeResizeSuccessful', `ExpandVolume succeeded for volume ${keyText(keyOf(claim))}`);
  }

  #patchVolume(volume: Volume, patch: object): Promise<Volume> {
    return this.#context.writer(kinds.persistentVolumes).patch(volume, 'merge', patch);
  }

  #patchStatus(claim: Frozen<Claim>, status: object, resizer?: string): Promise<Claim> {
    const metadata = resizer === undefined ? {} : {metadata: {annotations: {[this.#annotations.resizer]: resizer}}};
    return this.#context.writer(kinds.persistentVolumeClaims).patch(claim, 'merge', {...metadata, status}, {subresource: 'status'});
  }
}

export const expander = (context: KeyedContext): Reconcile => {
  const claims = context.lister(kinds.persistentVolumeClaims);
  const own = new Expander(context);
  return async (key: ObjectKey, {pause, signal}) => {
    const claim = claims.get(key);
    return claim?.spec?.volumeName ? own.sync(claim, {signal, pause, released: wait => wait()}) : settled;
  };
};
