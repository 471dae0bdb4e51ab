import type {Clock} from '#src/base/clock.js';
import type {Labels, Meter} from '#src/base/meter.js';
import {StatusError} from '#src/api/status.js';
import {StreamFault} from './stream-fault.js';

/** The metrics of one informer, from which a stalled one can be recognized. */
export interface InformerMetrics extends Disposable {
  attempt(what: 'list' | 'watch'): void;
  failed(error: unknown): void;
  /** Counts a failure of an index or a listener on an object. */
  stumbled(): void;
  /** Records that the server sent an event. */
  heard(): void;
}

const reasonOf = (error: unknown): string =>
  error instanceof StreamFault ? error.fault : error instanceof StatusError ? error.reason || String(error.code) : 'unreachable';

/** Identifies an informer: several components of one process may watch the same collection. */
export interface InformerLabels {
  readonly component: string;
  readonly name: string;
}

/** Registers and returns the metrics of one informer. */
export const informerMetrics = (
  meter: Meter,
  clock: Clock,
  labels: InformerLabels & Labels,
  state: {readonly size: () => number; readonly isSynced: () => boolean},
): InformerMetrics => {
  const attempts = meter.counter({
    name: 'informer_attempts_total',
    help: 'Lists and watches started.',
    labels: ['component', 'name', 'call'],
  });
  const failures = meter.counter({
    name: 'informer_failures_total',
    help: 'Lists and watches that failed, by reason.',
    labels: ['component', 'name', 'reason'],
  });
  const stumbles = meter.counter({
    name: 'informer_handler_failures_total',
    help: 'Changes on which an index or a listener failed; all others received them.',
    labels: ['component', 'name'],
  });
  let heardAt = clock.monotonic();
  const series = [
    meter.observed(
      {name: 'informer_synced', help: 'Whether the first list has been received and delivered.', labels: ['component', 'name']},
      () => [[labels, state.isSynced() ? 1 : 0]],
    ),
    meter.observed({name: 'informer_objects', help: 'Objects in the cache.', labels: ['component', 'name']}, () => [
      [labels, state.size()],
    ]),
    meter.observed(
      {
        name: 'informer_silence_seconds',
        help: 'Time since the last event from the server: the liveness of the informer.',
        labels: ['component', 'name'],
      },
      () => [[labels, (clock.monotonic() - heardAt) / 1000]],
    ),
  ];
  return {
    attempt: call => attempts.add({...labels, call}),
    failed: error => failures.add({...labels, reason: reasonOf(error)}),
    stumbled: () => stumbles.add(labels),
    heard: () => void (heardAt = clock.monotonic()),
    [Symbol.dispose]() {
      for (const each of series) each[Symbol.dispose]();
    },
  };
};
