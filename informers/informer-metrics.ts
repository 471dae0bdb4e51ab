import type {Clock} from '#src/base/clock.js';
import type {Meter} from '#src/base/meter.js';
import {StatusError} from '#src/api/status.js';
import {StreamFault} from './follow.js';

/** What every informer tells of itself, so that one that stands still is seen. */
export interface InformerMetrics extends Disposable {
  attempt(what: 'list' | 'watch'): void;
  failed(error: unknown): void;
  /** Something came from the server. */
  heard(): void;
}

const reasonOf = (error: unknown): string =>
  error instanceof StreamFault ? error.fault : error instanceof StatusError ? error.reason || String(error.code) : 'unreachable';

/** The figures of the informer `name`. */
export const informerMetrics = (meter: Meter, clock: Clock, name: string, state: {readonly size: () => number; readonly isSynced: () => boolean}): InformerMetrics => {
  const labels = {name};
  const attempts = meter.counter({name: 'informer_attempts_total', help: 'Lists and watches begun.', labels: ['name', 'call']});
  const failures = meter.counter({name: 'informer_failures_total', help: 'Lists and watches that failed, by reason.', labels: ['name', 'reason']});
  let heardAt = clock.monotonic();
  const series = [
    meter.observed({name: 'informer_synced', help: 'Whether the first list has come and been handled.', labels: ['name']}, () => [[labels, state.isSynced() ? 1 : 0]]),
    meter.observed({name: 'informer_objects', help: 'Objects in the cache.', labels: ['name']}, () => [[labels, state.size()]]),
    meter.observed({name: 'informer_silence_seconds', help: 'Time since anything came from the server: the liveness of the informer.', labels: ['name']}, () => [
      [labels, (clock.monotonic() - heardAt) / 1000],
    ]),
  ];
  return {
    attempt: call => attempts.add({name, call}),
    failed: error => failures.add({name, reason: reasonOf(error)}),
    heard: () => void (heardAt = clock.monotonic()),
    [Symbol.dispose]() {
      for (const each of series) each[Symbol.dispose]();
    },
  };
};
