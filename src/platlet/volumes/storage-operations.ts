// The metric of operations on volumes, whose name has no prefix.

import type {Naming} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import type {Histogram, Meter} from '#src/base/meter.js';
import {NotAttached} from './plugin.js';

export const storageBuckets = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600];

/** The operations on volumes, as the original calls them. */
export type StorageOperation =
  | 'verify_controller_attached_volume'
  | 'volume_mount'
  | 'volume_unmount'
  | 'unmount_device'
  | 'map_volume'
  | 'unmap_volume'
  | 'unmap_device'
  | 'volume_fs_resize'
  | 'volume_apply_access_control';

/** The durations of operations on volumes. */
export class StorageOperations {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #naming: Pick<Naming, 'key'>;
  readonly #durations: Histogram;

  constructor(meter: Meter, clock: Pick<Clock, 'monotonic'>, naming: Pick<Naming, 'key'>) {
    this.#clock = clock;
    this.#naming = naming;
    this.#durations = meter.histogram({
      name: 'storage_operation_duration_seconds',
      help: 'Storage operation duration',
      labels: ['volume_plugin', 'operation_name', 'status', 'migrated'],
      buckets: storageBuckets,
    });
  }

  /**
   * Measures an operation on a volume. `plugin`: the name of its type, and of its driver. A volume that waits to be
   * attached is not counted.
   */
  async measured<T>(plugin: string, operation: StorageOperation, act: () => Promise<T>): Promise<T> {
    const start = this.#clock.monotonic();
    const ended = (status: 'success' | 'fail-unknown'): void => this.#observe(plugin, operation, status, this.#clock.monotonic() - start);
    try {
      const result = await act();
      ended('success');
      return result;
    } catch (error) {
      if (!(error instanceof NotAttached)) ended('fail-unknown');
      throw error;
    }
  }

  /** Counts an operation for which there is nothing to do. */
  done(plugin: string, operation: StorageOperation): void {
    this.#observe(plugin, operation, 'success', 0);
  }

  #observe(plugin: string, operation: StorageOperation, status: string, ms: number): void {
    const labels = {volume_plugin: this.#naming.key(plugin), operation_name: operation, status, migrated: 'false'};
    this.#durations.observe(ms / 1000, labels);
  }
}
