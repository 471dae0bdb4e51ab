// What happens to volumes whose claim is gone, by their reclaim policy: retained, deleted by their plugin, or recycled
// by a pod and made available again.

import {kinds} from '#src/api/kinds/index.js';
import {indexing, type Lister} from '#informers/lister.js';
import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {isNotFound} from '#src/api/status.js';
import {messageOf} from '#src/base/message.js';
import {isTerminal} from '#src/model/pod/state.js';
import {volumeAnnotations, type Volume} from '#src/model/volumes.js';
import type {ControllerContext} from '#src/runtime/controller.js';
import {withoutFinalizer} from '#controllers/shared/finalizers.js';
import {unlessMissing} from '#src/client/missing.js';
import type {Operations} from '#controllers/shared/volumes/operations.js';
import {specOf, VolumeInUse, type VolumePlugin, type VolumePlugins, type Waiting} from '#controllers/shared/volumes/plugin.js';
import {podsByClaim} from '#controllers/shared/volumes/pods-by-claim.js';
import type {Binding} from './binding.js';
import {deletionFinalizer, isInTree} from './finalizers.js';
import type {Timings} from './timings.js';

interface ReclaimerParts {
  readonly context: ControllerContext;
  readonly binding: Binding;
  readonly plugins: VolumePlugins;
  readonly operations: Operations;
  readonly timings: Timings;
}

/** Treats released volumes as their policy says. */
export class Reclaimer {
  readonly #parts: ReclaimerParts;
  readonly #pods: Lister<Pod>;

  constructor(parts: ReclaimerParts) {
    this.#parts = parts;
    this.#pods = indexing(parts.context.lister(kinds.pods), podsByClaim);
  }

  async reclaim(volume: Frozen<Volume>): Promise<void> {
    const {context, binding, operations, timings} = this.#parts;
    const {name = '', uid = '', annotations} = volume.metadata ?? {};
    const {migratedTo, provisionedBy} = volumeAnnotations(context.naming);
    if (annotations?.[migratedTo]) return;
    switch (volume.spec?.persistentVolumeReclaimPolicy) {
      case 'Retain':
        return;
      case 'Recycle':
        operations.start(`recycle-${name}[${uid}]`, waiting => this.#recycle(name, waiting));
        return;
      case 'Delete':
        timings.begin(name, annotations?.[provisionedBy] ?? 'N/A', 'delete');
        operations.start(`delete-${name}[${uid}]`, async waiting => {
          try {
            await this.#delete(name, waiting);
          } catch (error) {
            timings.failed(name);
            throw error;
          }
        });
        return;
      default:
        await binding.setVolumePhase(volume, 'Failed', [
          'warning',
          'VolumeUnknownReclaimPolicy',
          'Volume has unrecognized PersistentVolumeReclaimPolicy',
        ]);
    }
  }

  /** Returns the volume as it is now, if it is still to be reclaimed: the operation may have waited for long. */
  async #released(name: string): Promise<Volume | undefined> {
    const {binding, context} = this.#parts;
    const volume = await unlessMissing(context.client.resource(kinds.persistentVolumes).get(name));
    return volume && binding.isReleased(volume) ? volume : undefined;
  }

  async #recycle(name: string, waiting: Waiting): Promise<void> {
    const {binding, context, plugins} = this.#parts;
    const {events} = context;
    const volume = await this.#released(name);
    if (!volume) return;
    const pods = this.#usersOf(volume);
    // A claim of this name must be a new one, with another volume: its pods do not use this one.
    if (pods.length > 0 && !binding.claimOf(volume)) {
      events.normal(volume, 'VolumeFailedRecycle', `Volume is used by pods: ${pods.join(',')}`);
      return;
    }
    const spec = specOf(volume);
    let recycle: VolumePlugin['recycle'];
    try {
      recycle = plugins.forSpec(spec).recycle;
    } catch {
      recycle = undefined;
    }
    if (!recycle) {
      await binding.setVolumePhase(volume, 'Failed', ['warning', 'VolumeFailedRecycle', 'No recycler plugin found for the volume!']);
      return;
    }
    try {
      await recycle(
        spec,
        (type, message) => events[type === 'Normal' ? 'normal' : 'warning'](volume, 'RecyclerPod', `Recycler pod: ${message}`),
        waiting,
      );
    } catch (error) {
      if (waiting.signal.aborted) throw error;
      await binding.setVolumePhase(volume, 'Failed', ['warning', 'VolumeFailedRecycle', `Recycle failed: ${messageOf(error)}`]);
      throw error;
    }
    events.normal(volume, 'VolumeRecycled', 'Volume recycled');
    const now = await this.#released(name);
    if (now) await binding.unbind(now);
  }

  #usersOf({spec}: Volume): string[] {
    const {namespace, name} = spec!.claimRef!;
    return this.#pods
      .by(podsByClaim, `${namespace}/${name}`)
      .filter(pod => !isTerminal(pod))
      .map(({metadata}) => `${metadata?.namespace}/${metadata?.name}`);
  }

  async #delete(name: string, waiting: Waiting): Promise<void> {
    const {binding, context} = this.#parts;
    const {naming, events, writer} = context;
    const volume = await this.#released(name);
    if (!volume) return;
    try {
      if (!(await this.deleteStorage(volume, waiting))) return;
    } catch (error) {
      if (waiting.signal.aborted) throw error;
      if (error instanceof VolumeInUse) events.normal(volume, 'VolumeDelete', error.message);
      else await binding.setVolumePhase(volume, 'Failed', ['warning', 'VolumeFailedDelete', messageOf(error)]);
      throw error;
    }
    const own = deletionFinalizer(naming);
    try {
      if (volume.metadata?.finalizers?.includes(own)) await binding.saveVolume(withoutFinalizer(volume, own));
      await writer(kinds.persistentVolumes).delete(volume);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  /** Deletes the storage of a volume. Returns false if that is up to an external provisioner. */
  async deleteStorage(volume: Frozen<Volume>, waiting: Waiting): Promise<boolean> {
    const plugin = this.#deletingPlugin(volume);
    if (!plugin) return false;
    await plugin(specOf(volume), waiting);
    return true;
  }

  /** The plugin that provisioned the volume, else the one responsible for its source. */
  #deletingPlugin(volume: Frozen<Volume>): VolumePlugin['delete'] | undefined {
    const {plugins, context} = this.#parts;
    const provisioner = volume.metadata?.annotations?.[volumeAnnotations(context.naming).provisionedBy];
    const deleting = (plugin: VolumePlugin) => {
      if (!plugin.delete) throw new Error('no deletable volume plugin matched');
      return plugin.delete;
    };
    if (provisioner) {
      if (!isInTree(provisioner, context.naming)) return undefined;
      return deleting(plugins.named(provisioner));
    }
    try {
      return deleting(plugins.forSpec(specOf(volume)));
    } catch (error) {
      throw new Error(`error getting deleter volume plugin for volume ${JSON.stringify(volume.metadata?.name)}: ${messageOf(error)}`, {
        cause: error,
      });
    }
  }
}
