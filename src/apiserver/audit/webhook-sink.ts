import {sleep, type Clock} from '#src/base/clock.js';
import {jittered, type Random} from '#src/base/random.js';
import type {AuditEvent} from './event.js';
import type {AuditFailures} from './failures.js';
import type {AuditSink} from './sink.js';

/** How often a batch is sent, and by how much each wait is longer than the one before. */
const [attempts, factor, jitter] = [5, 1.5, 0.2];

/** The time limit of one attempt, and of the last one when the server stops. */
const [attemptMs, lastAttemptMs] = [30_000, 5_000];

export interface WebhookSinkParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly failures: AuditFailures;
  /** The group version on the wire. */
  readonly apiVersion: string;
  readonly initialBackoffMs: number;
  /** Posts a list of events. Rejects unless the webhook took it. */
  post(body: Buffer, timeoutMs: number): Promise<void>;
  /** Closes the connections. */
  close(): Promise<void>;
}

/** Sends events to a webhook as an EventList. Every failure counts as passing: a list is sent up to five times. */
export class WebhookSink implements AuditSink {
  readonly holdsRequest = true;
  readonly #parts: WebhookSinkParts;
  readonly #closing = new AbortController();
  readonly #open: Buffer;
  readonly #sending = new Set<Promise<unknown>>();

  constructor(parts: WebhookSinkParts) {
    this.#parts = parts;
    this.#open = Buffer.from(`{"kind":"EventList","apiVersion":${JSON.stringify(parts.apiVersion)},"metadata":{},"items":[`);
  }

  process(events: readonly AuditEvent[]): Promise<boolean> {
    const sending = this.#send(events).then(
      () => true,
      (error: unknown) => {
        this.#parts.failures.failed('webhook', error, events);
        return false;
      },
    );
    this.#sending.add(sending);
    void sending.then(() => this.#sending.delete(sending));
    return sending;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#sending);
    await this.#parts.close();
  }

  async #send(events: readonly AuditEvent[]): Promise<void> {
    const {clock, random, initialBackoffMs, post} = this.#parts;
    const {signal} = this.#closing;
    const body = this.#bodyOf(events);
    for (let attempt = 1; ; attempt++) {
      try {
        return await post(body, signal.aborted ? lastAttemptMs : attemptMs);
      } catch (error) {
        if (attempt === attempts || signal.aborted) throw error;
        await sleep(clock, jittered(random, initialBackoffMs * factor ** (attempt - 1), jitter), signal).catch(() => undefined);
      }
    }
  }

  #bodyOf(events: readonly AuditEvent[]): Buffer {
    const items = events.flatMap(({item}, index) => (index === 0 ? [item] : [comma, item]));
    return Buffer.concat([this.#open, ...items, close]);
  }
}

const comma = Buffer.from(',');
const close = Buffer.from(']}\n');
