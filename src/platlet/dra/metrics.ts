// The metrics of resource claims on a node, whose names do not begin with that of the agent.

import type {Clock} from '#src/base/clock.js';
import type {Histogram, Meter} from '#src/base/meter.js';
import {codeName} from '#src/transport/grpc/channel.js';

/** Fifteen bounds from 0.1 s to 40 s, which is just below the time limit of calls. */
const buckets = Array.from({length: 15}, (_, index) => 0.1 * (400 ** (1 / 14)) ** index);

export type ClaimOperation = 'PrepareResources' | 'UnprepareResources';

/** The durations of the preparation of claims, and of the calls that it is made of. */
export class ClaimMetrics {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #operations: Histogram;
  readonly #calls: Histogram;

  constructor(meter: Meter, clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
    this.#operations = meter.histogram({
      name: 'dra_operations_duration_seconds',
      help: 'Duration of the preparation of the claims of a pod, or of its undoing, by operation.',
      labels: ['operation_name', 'is_error'],
      buckets,
    });
    this.#calls = meter.histogram({
      name: 'dra_grpc_operations_duration_seconds',
      help: 'Duration of the calls of drivers of claims, by driver, method and status.',
      labels: ['driver_name', 'method_name', 'grpc_status_code'],
      buckets,
    });
  }

  async measured<T>(operation_name: ClaimOperation, act: () => Promise<T>): Promise<T> {
    const since = this.#clock.monotonic();
    let isDone = false;
    try {
      const result = await act();
      isDone = true;
      return result;
    } finally {
      // As in the original, the label says whether the operation succeeded.
      this.#operations.observe((this.#clock.monotonic() - since) / 1000, {operation_name, is_error: String(isDone)});
    }
  }

  /** Called with the duration and the code of each call. */
  called(driver: string, method: string, code: number, ms: number): void {
    this.#calls.observe(ms / 1000, {driver_name: driver, method_name: method, grpc_status_code: codeName(code)});
  }
}

/** The label of the number of all claims, whichever drivers they have. */
export const anyDriver = '<any>';

/** Shows how many claims are prepared, by driver. */
export const observeClaimsInUse = (meter: Meter, read: () => ReadonlyMap<string, number>): Disposable =>
  meter.observed(
    {
      name: 'dra_resource_claims_in_use',
      help: 'Claims that are prepared on the node, by driver, and all of them for the driver "<any>".',
      labels: ['driver_name'],
    },
    () => [...read()].map(([driver_name, count]) => [{driver_name}, count] as const),
  );
