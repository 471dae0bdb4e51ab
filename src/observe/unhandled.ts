import type {Log} from '#src/base/log.js';
import type {Counter, Meter} from '#src/base/meter.js';

const metric = {
  name: 'unhandled_errors_total',
  help: 'Number of errors that no caller could receive: thrown by callbacks of timers and listeners, or rejections of promises that nobody awaits.',
};

/**
 * Handles errors that no caller can receive: each is logged and counted. The clock hands them over
 * (`withErrorHandler`); a program also hands over what reaches its process.
 */
export class UnhandledErrors {
  readonly #log: Log;
  readonly #counters: Counter[] = [];

  constructor(log: Log) {
    this.#log = log;
  }

  /** Adds a registry in which errors are counted. */
  countIn(meter: Meter): void {
    this.#counters.push(meter.counter(metric));
  }

  /** Handles an error. Never throws. */
  readonly handle = (error: unknown): void => {
    try {
      for (const counter of this.#counters) counter.add();
      this.#log.error({err: error, ...(error instanceof Error && error.stack ? {stack: error.stack} : {})}, 'Unhandled Error');
    } catch {
      // The failure of the log itself cannot be reported.
    }
  };
}
