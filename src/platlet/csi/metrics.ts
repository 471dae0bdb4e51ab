// The metrics of CSI drivers, whose names have no prefix.

import type {Naming} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import type {Histogram, Meter} from '#src/base/meter.js';
import {storageBuckets, StorageOperations, type StorageOperation} from '#src/platlet/volumes/storage-operations.js';
import {codeName} from '#src/transport/grpc/channel.js';
import {pluginFolder} from './paths.js';

/** The durations of calls of drivers, and of the operations that they are part of. */
export class StorageMetrics {
  readonly #calls: Histogram;
  readonly #operations: StorageOperations;

  constructor(meter: Meter, clock: Pick<Clock, 'monotonic'>, naming: Pick<Naming, 'key'>) {
    this.#operations = new StorageOperations(meter, clock, naming);
    this.#calls = meter.histogram({
      name: 'csi_operations_seconds',
      help: 'Container Storage Interface operation duration with gRPC error code status total',
      labels: ['driver_name', 'method_name', 'grpc_status_code', 'migrated'],
      buckets: storageBuckets,
    });
  }

  /** Called with the duration and the code of each call. */
  called(driver: string, method: string, code: number, ms: number): void {
    this.#calls.observe(ms / 1000, {driver_name: driver, method_name: method, grpc_status_code: codeName(code), migrated: 'false'});
  }

  /** Measures an operation on a volume of a driver. A volume that waits to be attached is not counted. */
  measured<T>(driver: string, operation: StorageOperation, act: () => Promise<T>): Promise<T> {
    return this.#operations.measured(`${pluginFolder}:${driver}`, operation, act);
  }
}
