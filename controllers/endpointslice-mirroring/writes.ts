import type {EndpointSlice} from '#controllers/shared/endpoints/endpoint-slices.js';
import type {SliceTracker} from '#controllers/shared/endpoints/slice-tracker.js';
import {unlessMissing} from '#src/client/missing.js';
import {keyOf, keyText, type Frozen, type ObjectKey} from '#src/api/key.js';
import {hasCause} from '#src/api/status.js';
import {messageOf} from '#src/base/message.js';
import type {Writer} from '#src/runtime/writer.js';
import type {Changes} from './changes.js';
import type {Endpoints} from './desired.js';
import type {MirrorMetrics} from './metrics.js';

interface WriterParts {
  readonly writes: Writer<EndpointSlice>;
  readonly tracker: SliceTracker;
  readonly metrics: MirrorMetrics;
}

/** Writes mirrored slices: creations first, then updates and deletions. Rejects with the first failure. */
export class MirrorWriter {
  readonly #parts: WriterParts;

  constructor(parts: WriterParts) {
    this.#parts = parts;
  }

  async apply(object: Frozen<Endpoints>, {writes, deletes}: Changes): Promise<void> {
    // Slices created for a deleted object would be garbage-collected.
    const creates = object.metadata?.deletionTimestamp ? [] : writes.filter(({metadata}) => !metadata?.name);
    const failed = (what: string) => (error: unknown) => {
      throw new Error(`failed to ${what} for Endpoints ${keyText(keyOf(object))}: ${messageOf(error)}`, {cause: error});
    };
    for (const slice of creates) {
      if ((await this.#create(slice).catch(failed('create EndpointSlice'))) === 'terminating') return;
    }
    for (const slice of writes.filter(({metadata}) => metadata?.name))
      await this.#update(slice).catch(failed(`update ${slice.metadata?.name} EndpointSlice`));
    for (const slice of deletes) await this.#delete(slice).catch(failed(`delete ${slice.metadata?.name} EndpointSlice`));
  }

  /** Deletes all slices of an object. Rejects with the first failure after all have been tried. */
  async removeAll(key: ObjectKey, existing: readonly Frozen<EndpointSlice>[]): Promise<void> {
    const failures: unknown[] = [];
    for (const slice of existing)
      await unlessMissing(this.#parts.writes.delete(slice, {onlyIf: 'named'})).catch(error => failures.push(error));
    if (failures.length > 0) {
      throw new Error(
        `Error(s) deleting ${failures.length}/${existing.length} EndpointSlices for ${keyText(key)} Endpoints, including: ${messageOf(failures[0])}`,
        {cause: failures[0]},
      );
    }
  }

  /** Resolves to 'terminating' where nothing can be created because the namespace is being deleted. */
  async #create(slice: EndpointSlice): Promise<'created' | 'terminating'> {
    const {writes, tracker, metrics} = this.#parts;
    try {
      tracker.wrote((await writes.create(slice)) as Frozen<EndpointSlice>);
    } catch (error) {
      if (hasCause(error, 'NamespaceTerminating')) return 'terminating';
      throw error;
    }
    metrics.changed('create');
    return 'created';
  }

  async #update(slice: EndpointSlice): Promise<void> {
    const {writes, tracker, metrics} = this.#parts;
    tracker.wrote((await writes.update(slice)) as Frozen<EndpointSlice>);
    metrics.changed('update');
  }

  async #delete(slice: Frozen<EndpointSlice>): Promise<void> {
    const {writes, tracker, metrics} = this.#parts;
    await unlessMissing(writes.delete(slice, {onlyIf: 'named'}));
    tracker.deleted(slice);
    metrics.changed('delete');
  }
}
