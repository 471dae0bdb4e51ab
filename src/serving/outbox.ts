// The buffers of watch streams. An outbox is open, ending or over. Events are collected into frames when there are many
// watchers; a watcher that exceeds its limit is disconnected alone. Events are never dropped from an open stream.

import type {Writable} from 'node:stream';
import type {EncodedEvent, WatchSink} from '#src/api/request.js';
import {guarded, type Clock} from '#src/base/clock.js';
import type {Sent} from './deliveries.js';

/** The part of a response stream that an outbox uses; both `ServerResponse` and HTTP/2 streams fit. */
type Outlet = Pick<Writable, 'write' | 'end' | 'destroy' | 'destroyed' | 'once'> & {readonly writableNeedDrain: boolean};

export interface OutboxLimits {
  /** A watcher with more buffered bytes than this is disconnected. */
  readonly maxBytes: number;
  /** Above this backpressure is signalled. */
  readonly backpressureBytes: number;
  /** Up to this many watchers every event is sent at once. */
  readonly fewWatchers: number;
  /** How long a disconnected client may still read what was sent. */
  readonly closeTimeoutMs: number;
}

export const outboxDefaults: OutboxLimits = {maxBytes: 32 << 20, backpressureBytes: 1 << 20, fewWatchers: 64, closeTimeoutMs: 5000};

const [shortestFrameMs, longestFrameMs] = [1, 50];

/**
 * To how many watchers the first event of a turn is sent at once. Sent at once to 20 watchers, the events of 32
 * concurrent writers cost a sixth more processor time.
 */
const fewReceivers = 4;

/**
 * Decides when the outboxes of a listener write. With few watchers every event is sent in the same turn of the event
 * loop, the first one at once if few receive it, so that it precedes the answer to the write that it reports: clients
 * that read what they wrote from a cache seldom wait for it with the original. With many, the first after a pause is
 * sent at once and later ones are collected into frames, since a TLS record per event and watcher is expensive. A frame
 * lasts as long as writing the last ones took, so that half of the time is left for everything else: 1 to 50 ms.
 */
export class Frames {
  readonly #clock: Clock;
  readonly limits: OutboxLimits;
  #dirty: Outbox[] = [];
  #armed = false;
  /** Whether outboxes were flushed in this turn before its end: later events of the turn leave together. */
  #flushedInTurn = false;
  #last = Number.NEGATIVE_INFINITY;
  /** How long writing a frame takes, by the last ones. */
  #writingMs = 0;
  /** The number of open watches. */
  watchers = 0;
  /** The number of watches that were closed for being slow. */
  cutOff = 0;
  #shared: {readonly events: readonly Buffer[]; readonly bytes: Buffer} | undefined;

  constructor(clock: Clock, limits: OutboxLimits = outboxDefaults) {
    this.#clock = clock;
    this.limits = limits;
  }

  later(afterMs: number, run: () => void): Disposable {
    return this.#clock.schedule(afterMs, run);
  }

  dirty(outbox: Outbox): void {
    this.#dirty.push(outbox);
    if (this.#armed) return;
    this.#armed = true;
    const wait = this.#frameMs() - (this.#clock.monotonic() - this.#last);
    if (wait > 0) this.#clock.schedule(wait, this.#flush);
    else if (this.#flushedInTurn) setImmediate(this.#flush);
    else queueMicrotask(this.#flushFirst);
  }

  /** Joins events into one buffer, which watchers with the same pending events share. */
  joined(events: readonly Buffer[]): Buffer {
    if (events.length === 1) return events[0]!;
    const shared = this.#shared;
    if (shared && shared.events.length === events.length && shared.events.every((event, index) => event === events[index]))
      return shared.bytes;
    const bytes = Buffer.concat(events);
    this.#shared = {events, bytes};
    return bytes;
  }

  #frameMs(): number {
    return this.watchers <= this.limits.fewWatchers ? 0 : Math.min(Math.max(shortestFrameMs, this.#writingMs), longestFrameMs);
  }

  /** Sends the first events of a turn, which all that receive them have by now. */
  readonly #flushFirst = (): void => {
    if (this.#dirty.length > fewReceivers) {
      setImmediate(this.#flush);
      return;
    }
    this.#flushedInTurn = true;
    setImmediate(this.#beginTurn);
    this.#flush();
  };

  readonly #beginTurn = (): void => {
    this.#flushedInTurn = false;
  };

  readonly #flush = (): void => {
    this.#armed = false;
    const begunAt = this.#clock.monotonic();
    const dirty = this.#dirty;
    this.#dirty = [];
    for (const outbox of dirty)
      guarded(
        () => outbox.flush(),
        error => this.#clock.unhandled(error),
      );
    this.#shared = undefined;
    this.#last = this.#clock.monotonic();
    this.#writingMs += (this.#last - begunAt - this.#writingMs) / 4;
  };
}

/** The size limit of one write. */
const frameBytes = 256 << 10;

/** The buffer of one watcher. Frames end between events, so closing a stream never truncates an event. */
export class Outbox implements WatchSink {
  readonly #outlet: Outlet;
  readonly #frames: Frames;
  readonly #sent: Pick<Sent, 'grows' | 'waits'> | undefined;
  #events: Buffer[] = [];
  /** The bytes that the outlet has not sent yet. */
  #unsentBytes = 0;
  #bytes = 0;
  #state: 'open' | 'ending' | 'over' = 'open';
  #isDirty = false;
  #blocked = false;
  #waiting: (() => void)[] = [];

  /** `sent` receives the number of buffered bytes. */
  constructor(outlet: Outlet, frames: Frames, sent?: Pick<Sent, 'grows' | 'waits'>) {
    this.#outlet = outlet;
    this.#frames = frames;
    this.#sent = sent;
    frames.watchers++;
    outlet.once('close', () => {
      frames.watchers--;
      this.#finish();
    });
  }

  event(event: EncodedEvent): boolean {
    if (this.#state !== 'open') return false;
    const bytes = event.bytes();
    this.#events.push(bytes);
    this.#bytes += bytes.length;
    if (this.#bytes > this.#frames.limits.maxBytes) {
      this.#cutOff();
      return false;
    }
    if (this.#blocked) this.#sent?.grows(this.#unsentBytes + this.#bytes);
    else this.#schedule();
    return this.#bytes < this.#frames.limits.backpressureBytes;
  }

  end(): void {
    if (this.#state !== 'open') return;
    this.#state = 'ending';
    this.#schedule();
  }

  drained(): Promise<void> {
    if (this.#state === 'over' || this.#bytes < this.#frames.limits.backpressureBytes) return Promise.resolve();
    return new Promise(resolve => {
      this.#waiting.push(resolve);
    });
  }

  flush(): void {
    this.#isDirty = false;
    while (!this.#blocked && this.#events.length > 0) {
      const bytes = this.#frames.joined(this.#take());
      if (!this.#outlet.write(bytes)) this.#block(bytes.length);
    }
    if (this.#bytes < this.#frames.limits.backpressureBytes) this.#release();
    if (this.#state === 'ending' && this.#events.length === 0) {
      this.#finish();
      this.#outlet.end();
    }
  }

  #schedule(): void {
    if (this.#isDirty || this.#blocked) return;
    this.#isDirty = true;
    this.#frames.dirty(this);
  }

  #block(bytes: number): void {
    this.#blocked = true;
    this.#unsentBytes = bytes;
    this.#sent?.waits(bytes + this.#bytes);
    this.#outlet.once('drain', () => {
      this.#blocked = false;
      this.#unsentBytes = 0;
      this.#sent?.waits(0);
      this.flush();
    });
  }

  #take(): Buffer[] {
    const events = this.#events;
    let count = 0;
    let size = 0;
    while (count < events.length && size < frameBytes) size += events[count++]!.length;
    this.#bytes -= size;
    if (count === events.length) {
      this.#events = [];
      return events;
    }
    return events.splice(0, count);
  }

  #cutOff(): void {
    this.#finish();
    this.#frames.cutOff++;
    this.#outlet.end();
    const closeTimer = this.#frames.later(this.#frames.limits.closeTimeoutMs, () => this.#outlet.destroy());
    this.#outlet.once('close', () => closeTimer[Symbol.dispose]());
  }

  #finish(): void {
    this.#state = 'over';
    this.#events = [];
    this.#bytes = 0;
    this.#sent?.grows(this.#unsentBytes);
    this.#release();
  }

  #release(): void {
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    this.#waiting = [];
    for (const resume of waiting) resume();
  }
}
