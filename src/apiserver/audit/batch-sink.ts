// The batch mode: events are buffered and passed on later, many at once. It never makes a request wait: events that do
// not fit into the buffer are dropped and counted. The bytes of the buffer and of batches that are being sent are
// bounded together.

import {sleep, type Clock} from '#src/base/clock.js';
import {TokenBucket} from '#src/base/token-bucket.js';
import type {AuditEvent} from './event.js';
import type {AuditFailures} from './failures.js';
import type {AuditSink} from './sink.js';

/**
 * The bytes of one backend's events that are held in memory at most. Differs from upstream, which only bounds their
 * number.
 */
export const maxBufferedBytes = 64 << 20;

export interface BatchOptions {
  /** How many events wait at most. */
  readonly bufferSize: number;
  /** How many events one batch has at most. */
  readonly maxBatchSize: number;
  /** How many bytes one batch has at most, unless it is a single event. */
  readonly maxBatchBytes: number;
  /** How long an event waits for its batch to fill. */
  readonly maxWaitMs: number;
  /** Batches per second on average, and at once; not limited without it. */
  readonly throttle: {readonly qps: number; readonly burst: number} | undefined;
  readonly maxBytes?: number;
}

export interface BatchParts {
  readonly clock: Clock;
  readonly failures: AuditFailures;
}

export class BatchSink implements AuditSink {
  readonly holdsRequest = false;
  readonly #sink: AuditSink;
  readonly #options: BatchOptions;
  readonly #maxBytes: number;
  readonly #clock: Clock;
  readonly #failures: AuditFailures;
  readonly #throttle: TokenBucket | undefined;
  readonly #buffer: AuditEvent[] = [];
  /** The batches that are being sent. */
  readonly #sending = new Set<Promise<unknown>>();
  /** Ends waits when the sink closes. */
  readonly #closing = new AbortController();
  #bytes = 0;
  #timer: Disposable | undefined;
  /** The passing on of batches. */
  #running: Promise<void> | undefined;
  #isClosed = false;

  constructor(sink: AuditSink, options: BatchOptions, {clock, failures}: BatchParts) {
    this.#sink = sink;
    this.#options = options;
    this.#maxBytes = options.maxBytes ?? maxBufferedBytes;
    this.#clock = clock;
    this.#failures = failures;
    this.#throttle = options.throttle && new TokenBucket(clock, options.throttle.qps, options.throttle.burst);
  }

  process(events: readonly AuditEvent[]): boolean {
    for (const [index, event] of events.entries()) {
      const bytes = event.json.length;
      const refusal = this.#isClosed
        ? 'audit backend shut down'
        : this.#buffer.length >= this.#options.bufferSize || this.#bytes + bytes > this.#maxBytes
          ? 'audit buffer queue blocked'
          : undefined;
      if (refusal !== undefined) {
        this.#failures.failed('buffered', new Error(refusal), events.slice(index));
        break;
      }
      this.#bytes += bytes;
      this.#buffer.push(event);
    }
    this.#wake();
    return true;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#closing.abort();
    this.#wake(true);
    await this.#running;
    const closed = this.#sink.close();
    await Promise.all(this.#sending);
    await closed;
  }

  /** Passes batches on if one is full, and else waits for it to fill. */
  #wake(isDue = false): void {
    if (this.#running || this.#buffer.length === 0) return;
    if (isDue || this.#isClosed || this.#buffer.length >= this.#options.maxBatchSize) {
      this.#timer?.[Symbol.dispose]();
      this.#timer = undefined;
      this.#running = this.#run();
      return;
    }
    this.#timer ??= this.#clock.schedule(this.#options.maxWaitMs, () => {
      this.#timer = undefined;
      this.#wake(true);
    });
  }

  /** Passes on what the buffer holds: at first even a batch that is not full. Rejects never. */
  async #run(): Promise<void> {
    await Promise.resolve(); // The events of one turn go into one batch.
    do {
      const waitMs = this.#isClosed ? 0 : (this.#throttle?.reserve() ?? 0);
      if (waitMs > 0) await sleep(this.#clock, waitMs, this.#closing.signal).catch(() => undefined);
      this.#send(this.#take());
    } while (this.#buffer.length >= this.#options.maxBatchSize || (this.#isClosed && this.#buffer.length > 0));
    this.#running = undefined;
    this.#wake();
  }

  #take(): AuditEvent[] {
    const {maxBatchSize, maxBatchBytes} = this.#options;
    let count = 0;
    let bytes = 0;
    while (count < maxBatchSize && count < this.#buffer.length) {
      const {length} = this.#buffer[count]!.json;
      if (count > 0 && bytes + length > maxBatchBytes) break;
      bytes += length;
      count++;
    }
    return this.#buffer.splice(0, count);
  }

  #send(batch: AuditEvent[]): void {
    const bytes = batch.reduce((sum, {json}) => sum + json.length, 0);
    const sending = Promise.resolve(this.#sink.process(batch)).finally(() => {
      this.#bytes -= bytes;
      this.#sending.delete(sending);
    });
    this.#sending.add(sending);
  }
}
