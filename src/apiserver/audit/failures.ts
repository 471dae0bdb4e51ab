import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Counter, Meter} from '#src/base/meter.js';
import {TokenBucket} from '#src/base/token-bucket.js';
import type {AuditEvent} from './event.js';

/** The parts of the audit pipeline that can fail, as metrics name them. */
export type Plugin = 'buffered' | 'log' | 'truncate' | 'webhook';

/** The lines that failures may log per second, and at once. */
const [linesPerSecond, linesAtOnce] = [1, 10];

/** The number of events whose text a line contains. */
const shownEvents = 5;

/** Counts and logs events that could not be recorded. */
export class AuditFailures {
  readonly #errors: Counter;
  readonly #log: Log;
  readonly #lines: TokenBucket;

  constructor({meter, log, clock}: {readonly meter: Meter; readonly log: Log; readonly clock: Clock}) {
    this.#log = log;
    this.#lines = new TokenBucket(clock, linesPerSecond, linesAtOnce);
    this.#errors = meter.counter({
      name: 'apiserver_audit_error_total',
      help: 'Counter of audit events that failed to be audited properly. Plugin identifies the plugin affected by the error.',
      labels: ['plugin'],
    });
  }

  failed(plugin: Plugin, cause: unknown, events: readonly AuditEvent[]): void {
    this.#errors.add({plugin}, events.length);
    if (!this.#lines.tryTake()) return;
    const impacted = events.slice(0, shownEvents).map(({text}) => text);
    this.#log.error({plugin, events: events.length, err: cause, impacted}, 'audit events could not be recorded');
  }
}
