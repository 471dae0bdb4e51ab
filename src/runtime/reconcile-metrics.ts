import type {Meter} from '#src/base/meter.js';

/** How an attempt ended, as controller-runtime labels it. */
export type ReconcileResult = 'success' | 'error' | 'requeue_after';

const results: readonly ReconcileResult[] = ['success', 'error', 'requeue_after'];

/** The bounds of controller-runtime. */
const buckets = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4, 4.5,
  5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60,
];

/**
 * The metrics of a controller's attempts, under the names of controller-runtime, for which dashboards exist. All series
 * of a controller exist from its start.
 */
export class ReconcileMetrics {
  readonly #results: ReadonlyMap<ReconcileResult, {add(): void}>;
  readonly #errors: {add(): void};
  readonly #terminal: {add(): void};
  readonly #timeouts: {add(): void};
  readonly #seconds: {observe(value: number): void};
  readonly #addWorker: (amount: number) => void;

  /** `workers` is how many keys the controller reconciles at a time. */
  constructor(meter: Meter, controller: string, workers: number) {
    const labels = ['controller'];
    const own = {controller};
    const total = meter.counter({
      name: 'controller_runtime_reconcile_total',
      help: 'Total number of reconciliations per controller',
      labels: ['controller', 'result'],
    });
    for (const result of results) total.add({controller, result}, 0);
    this.#results = new Map(results.map(result => [result, total.at({controller, result})]));
    const counter = (name: string, help: string): {add(): void} => {
      const family = meter.counter({name, help, labels});
      family.add(own, 0);
      return family.at(own);
    };
    this.#errors = counter('controller_runtime_reconcile_errors_total', 'Total number of reconciliation errors per controller');
    this.#terminal = counter(
      'controller_runtime_terminal_reconcile_errors_total',
      'Total number of terminal reconciliation errors per controller',
    );
    this.#timeouts = counter('controller_runtime_reconcile_timeouts_total', 'Total number of reconciliation timeouts per controller');
    this.#seconds = meter
      .histogram({
        name: 'controller_runtime_reconcile_time_seconds',
        help: 'Length of time per reconciliation per controller',
        labels,
        buckets,
      })
      .at(own);
    meter
      .gauge({
        name: 'controller_runtime_max_concurrent_reconciles',
        help: 'Maximum number of concurrent reconciles per controller',
        labels,
      })
      .set(workers, own);
    const active = meter.gauge({
      name: 'controller_runtime_active_workers',
      help: 'Number of currently used workers per controller',
      labels,
    });
    active.set(0, own);
    this.#addWorker = amount => active.add(own, amount);
  }

  /** Records that an attempt starts. */
  started(): void {
    this.#addWorker(1);
  }

  /** Records that an attempt ended, after that many seconds. */
  ended(seconds: number): void {
    this.#addWorker(-1);
    this.#seconds.observe(seconds);
  }

  /** Records that an attempt reached its time limit, however it ends. */
  timedOut(): void {
    this.#timeouts.add();
  }

  succeeded(): void {
    this.#results.get('success')?.add();
  }

  requeued(): void {
    this.#results.get('requeue_after')?.add();
  }

  /** Records a failed attempt, which is not repeated if it is terminal. */
  failed({terminal}: {readonly terminal: boolean}): void {
    this.#errors.add();
    this.#results.get('error')?.add();
    if (terminal) this.#terminal.add();
  }
}
