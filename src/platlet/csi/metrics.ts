// The metrics of storage operations, whose names have no prefix.

import type {Clock} from '#src/base/clock.js';
import type {Histogram, Meter} from '#src/base/meter.js';
import {NotAttached} from '#src/platlet/volumes/plugin.js';
import {codeName} from '#src/transport/grpc/channel.js';

const buckets = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600];

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

/** The durations of calls of drivers, and of the operations that they are part of. */
export class StorageMetrics {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #type: string;
  readonly #calls: Histogram;
  readonly #operations: Histogram;

  /** `type`: the name of the volume type. */
  constructor(meter: Meter, clock: Pick<Clock, 'monotonic'>, type: string) {
    this.#clock = clock;
    this.#type = type;
    this.#calls = meter.histogram({
      name: 'csi_operations_seconds',
      help: 'Container Storage Interface operation duration with gRPC error code status total',
      labels: ['driver_name', 'method_name', 'grpc_status_code', 'migrated'],
      buckets,
    });
    this.#operations = meter.histogram({
      name: 'storage_operation_duration_seconds',
      help: 'Storage operation duration',
      labels: ['volume_plugin', 'operation_name', 'status', 'migrated'],
      buckets,
    });
  }

  /** Called with the duration and the code of each call. */
  called(driver: string, method: string, code: number, ms: number): void {
    this.#calls.observe(ms / 1000, {driver_name: driver, method_name: method, grpc_status_code: codeName(code), migrated: 'false'});
  }

  /** Measures an operation on a volume of a driver. A volume that waits to be attached is not counted. */
  async measured<T>(driver: string, operation: StorageOperation, act: () => Promise<T>): Promise<T> {
    const start = this.#clock.monotonic();
    const ended = (status: 'success' | 'fail-unknown'): void => {
      const seconds = (this.#clock.monotonic() - start) / 1000;
      const plugin = `${this.#type}:${driver}`;
      this.#operations.observe(seconds, {volume_plugin: plugin, operation_name: operation, status, migrated: 'false'});
    };
    try {
      const result = await act();
      ended('success');
      return result;
    } catch (error) {
      if (!(error instanceof NotAttached)) ended('fail-unknown');
      throw error;
    }
  }
}
