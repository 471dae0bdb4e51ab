import type {Clock} from '#src/base/clock.js';
import type {Meter} from '#src/base/meter.js';

/**
 * The end of a claim's provisioning, or of a volume's deletion, is noticed by its syncs: the beginnings are kept until
 * then.
 */
export class Timings {
  readonly #started = new Map<
    string,
    {readonly at: number; readonly labels: {readonly plugin_name: string; readonly operation_name: string}}
  >();
  readonly #clock: Clock;
  readonly #seconds;
  readonly #errors;

  constructor({clock, meter}: {readonly clock: Clock; readonly meter: Meter}) {
    this.#clock = clock;
    const labels = ['plugin_name', 'operation_name'];
    this.#seconds = meter.histogram({
      name: 'volume_operation_total_seconds',
      help: 'Total volume operation end to end duration in seconds',
      labels,
      buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600],
    });
    this.#errors = meter.counter({name: 'volume_operation_total_errors', help: 'Total volume operation errors', labels});
  }

  /** Notes the beginning of an operation, unless one of the key is under way. */
  begin(key: string, plugin: string, operation: 'provision' | 'delete'): void {
    if (!this.#started.has(key))
      this.#started.set(key, {at: this.#clock.monotonic(), labels: {plugin_name: plugin, operation_name: operation}});
  }

  /** Counts a failed attempt; the operation goes on. */
  failed(key: string): void {
    const known = this.#started.get(key);
    if (known) this.#errors.add(known.labels);
  }

  /** Measures the operation of a key, if one has begun. */
  done(key: string): void {
    const known = this.#started.get(key);
    if (known) this.#seconds.observe((this.#clock.monotonic() - known.at) / 1000, known.labels);
    this.#started.delete(key);
  }

  /** Drops the operation of an object that is gone. */
  drop(key: string): void {
    this.#started.delete(key);
  }
}
