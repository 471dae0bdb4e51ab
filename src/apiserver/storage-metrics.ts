import type {Naming} from '#src/api/naming.js';
import {runEvery, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Labels, Meter} from '#src/base/meter.js';
import {endOfPrefix, type Store} from '#src/storage/store.js';
import type {Registry} from './registry/registry.js';
import type {Resource} from './registry/resource.js';

export interface PollingSettings {
  readonly clock: Clock;
  readonly log: Log;
  readonly meter: Meter;
  readonly naming: Naming;
  /** Zero disables counting. */
  readonly countEveryMs: number;
  /** Zero disables the size. */
  readonly sizeEveryMs: number;
}

/**
 * The number and size of what the store holds. A shared store is polled; any other is read when metrics are collected.
 */
export class StorageMetrics {
  readonly #registry: Registry;
  readonly #store: Store;
  readonly #counted = new Map<string, number>();
  #counts = true;

  constructor(registry: Registry, store: Store) {
    this.#registry = registry;
    this.#store = store;
  }

  /** The number of objects of each resource, as far as known. */
  *objects(): Generator<readonly [Labels, number]> {
    if (!this.#counts) return;
    for (const [resource, {root}] of this.#stored()) {
      const count = this.#store.shared ? this.#counted.get(root) : this.#store.count(root, endOfPrefix(root));
      if (typeof count === 'number') yield [{resource}, count];
    }
  }

  /** Polls at once and then at each interval, until the signal aborts. */
  follow({clock, log, meter, naming, countEveryMs, sizeEveryMs}: PollingSettings, signal: AbortSignal): void {
    this.#counts = countEveryMs > 0;
    const poll = (what: string, periodMs: number, run: () => Promise<void>): void => {
      if (periodMs <= 0) return;
      const now = async (): Promise<void> => {
        try {
          await run();
        } catch (error) {
          if (!signal.aborted) log.warn({err: error, what}, 'failed to read the metrics of the store');
        }
      };
      void now();
      runEvery(clock, periodMs, signal, now);
    };
    if (this.#store.shared) poll('counts', countEveryMs, () => this.#countAll(signal));
    const size = meter.gauge({
      name: 'apiserver_storage_size_bytes',
      help: 'Size of the storage database file physically allocated in bytes.',
      labels: ['storage_cluster_id'],
    });
    for (const [index, part] of (this.#store.parts ?? [this.#store]).entries())
      poll('size', sizeEveryMs, async () => size.set(await part.size(), {storage_cluster_id: `${naming.store}-${index}`}));
  }

  async #countAll(signal: AbortSignal): Promise<void> {
    for (const [, {root}] of this.#stored()) {
      if (signal.aborted) return;
      this.#counted.set(root, await this.#store.count(root, endOfPrefix(root)));
    }
  }

  *#stored(): Generator<readonly [string, Resource]> {
    for (const resource of this.#registry.resources) {
      const {definition, ref} = resource;
      if (!definition.review && !definition.virtual) yield [ref.group ? `${ref.resource}.${ref.group}` : ref.resource, resource];
    }
  }
}
