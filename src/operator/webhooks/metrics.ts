import type {Clock} from '#src/base/clock.js';
import type {Meter} from '#src/base/meter.js';

/** The histogram buckets of controller-runtime. */
const buckets = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 4.5,
  5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
];

/** The metrics of one webhook, under the names of controller-runtime. */
export class WebhookMetrics {
  readonly #clock: Clock;
  readonly #webhook: string;
  readonly #total;
  readonly #seconds;
  readonly #inFlight;

  constructor(meter: Meter, clock: Clock, webhook: string) {
    this.#clock = clock;
    this.#webhook = webhook;
    this.#total = meter.counter({
      name: 'controller_runtime_webhook_requests_total',
      help: 'Total number of admission requests by HTTP status code.',
      labels: ['webhook', 'code'],
    });
    for (const code of ['200', '500']) this.#total.add({webhook, code}, 0);
    this.#seconds = meter
      .histogram({
        name: 'controller_runtime_webhook_latency_seconds',
        help: 'Histogram of the latency of processing admission requests',
        labels: ['webhook'],
        buckets,
      })
      .at({webhook});
    this.#inFlight = meter.gauge({
      name: 'controller_runtime_webhook_requests_in_flight',
      help: 'Current number of admission requests being served.',
      labels: ['webhook'],
    });
    this.#inFlight.set(0, {webhook});
  }

  /** Records the start of a request. The returned function is called with the code of the response. */
  begun(): (code: number) => void {
    const started = this.#clock.monotonic();
    this.#inFlight.add({webhook: this.#webhook}, 1);
    return code => {
      this.#inFlight.add({webhook: this.#webhook}, -1);
      this.#seconds.observe((this.#clock.monotonic() - started) / 1000);
      this.#total.add({webhook: this.#webhook, code: String(code)});
    };
  }
}

/**
 * Returns the counter of requests on which a webhook threw an error other than `StatusError`, under the name that
 * controller-runtime has for panics.
 */
export const failureCount = (meter: Meter): {add(): void} => {
  const total = meter.counter({name: 'controller_runtime_webhook_panics_total', help: 'Total number of webhook panics'});
  total.add({}, 0);
  return total;
};

/** Counts reads of certificates. */
export interface ReadCounts {
  read(): void;
  failed(): void;
}

/** Returns the counters of certificate reads, under the names of controller-runtime. */
export const readCounts = (meter: Meter): ReadCounts => {
  const total = meter.counter({name: 'certwatcher_read_certificate_total', help: 'Total number of certificate reads'});
  const errors = meter.counter({name: 'certwatcher_read_certificate_errors_total', help: 'Total number of certificate read errors'});
  total.add({}, 0);
  errors.add({}, 0);
  return {read: () => total.add(), failed: () => errors.add()};
};
