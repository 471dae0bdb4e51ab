// Tracks the responses that are being sent, over all protocols, and disconnects clients that exceed a deadline or, when
// too many bytes are buffered, have made no progress for the longest time. It never sends anything itself.

import type {Duplex, Writable} from 'node:stream';
import type {Delivery} from '#src/api/request.js';
import type {Clock} from '#src/base/clock.js';
import {FairYielder} from '#src/base/turn.js';
import {PacedActions} from './paced-actions.js';

/** The default limit of buffered bytes, in all responses and watches of a server together. */
const defaultWaitingBytes = 256 << 20;

/** Responses that take longer than this are tracked. */
const checkMs = 250;

/**
 * The number of clients that are disconnected per turn of the event loop: each takes a few tenths of a millisecond,
 * most of it to free its TLS buffers.
 */
const maxDisconnectsPerTurn = 8;

/** How much of the limit those may take that are still to be disconnected. */
const leavingShare = 1 / 8;

/** The writable side of a response; both `ServerResponse` and HTTP/2 streams fit. */
export type Outlet = Pick<Writable, 'destroy' | 'destroyed' | 'on'>;

/**
 * The responses that a server is sending. Each ends with the deadline of its request. The bytes buffered for all
 * clients are limited: above the limit, those clients are disconnected that have not read for the longest time.
 */
export class Deliveries {
  readonly #maxBytes: number;
  readonly #timed = new Set<Sent>();
  /** Asks responses and connections for their buffered bytes, which grow unnoticed. */
  readonly #polled = new Map<Sent, () => void>();
  /** In the order of their last progress, the longest ago first. */
  readonly #waiting = new Set<Sent>();
  readonly #disconnects = new PacedActions(maxDisconnectsPerTurn);
  readonly clock: Clock;
  #nextCheck: Disposable | undefined;
  #isCuttingOff = false;
  /** The bytes of clients that are to be disconnected. */
  #leavingBytes = 0;
  /** The bytes that clients have not read yet. */
  waitingBytes = 0;
  /** The number of clients that were disconnected because of the limit of bytes, and because of their deadline. */
  readonly cutOff = {bytes: 0, time: 0};

  constructor(clock: Clock, maxBytes = defaultWaitingBytes) {
    this.clock = clock;
    this.#maxBytes = maxBytes;
  }

  /**
   * Tracks a response until its outlet closes. `ownBytes` is what it takes besides its buffered bytes, counted while
   * there are any.
   */
  send(outlet: Outlet, delivery: Delivery | undefined, ownBytes = 0): Sent {
    const sent = new Sent(this, outlet, delivery, ownBytes);
    if (delivery) {
      this.#timed.add(sent);
      this.#scheduleCheck();
    }
    outlet.on('close', () => sent.over());
    if (outlet.destroyed) sent.over();
    return sent;
  }

  /** Tracks an upgraded connection until it closes. Its buffered bytes are polled. */
  upgrade(socket: Duplex): Upgraded {
    const sent = new Sent(this, socket, undefined, 0);
    const upgraded = new Upgraded(socket, sent);
    if (socket.destroyed) return upgraded;
    this.poll(sent, () => upgraded.poll());
    socket.once('close', () => sent.over());
    return upgraded;
  }

  /**
   * Called by responses: replaces their number of buffered bytes. One that made progress moves to the end of the queue.
   */
  account(sent: Sent, before: number, bytes: number, hasTaken: boolean): void {
    this.waitingBytes += bytes - before;
    if (before > 0 && (hasTaken || bytes === 0)) this.#waiting.delete(sent);
    if (bytes > 0) this.#waiting.add(sent);
    if (this.waitingBytes > this.#maxBytes && !this.#isCuttingOff) this.#cutOffSlowest();
  }

  /** Lets a response be accounted from time to time, until it is over. */
  poll(sent: Sent, account: () => void): void {
    this.#polled.set(sent, account);
    this.#scheduleCheck();
  }

  over(sent: Sent): void {
    this.#timed.delete(sent);
    if (!this.#polled.delete(sent) || this.#hasToLook()) return;
    this.#nextCheck?.[Symbol.dispose]();
    this.#nextCheck = undefined;
  }

  #hasToLook(): boolean {
    return this.#timed.size + this.#polled.size > 0;
  }

  /**
   * Ends the connection of an outlet, in this turn of the event loop or a later one; at once if the memory of many is
   * still to be freed.
   */
  disconnect(outlet: Outlet, bytes: number): void {
    // Without an error an HTTP/2 stream would seem complete.
    const destroy = () => outlet.destroy(new Error('the reader is too slow'));
    if (this.#leavingBytes > this.#maxBytes * leavingShare) return void destroy();
    this.#leavingBytes += bytes;
    const begin = () => {
      this.#leavingBytes -= bytes;
      destroy();
    };
    this.#disconnects.add({begin, isGone: () => false, of: outlet});
  }

  /** Each that is disconnected is accounted again, which must not lead here: there may be tens of thousands. */
  #cutOffSlowest(): void {
    this.#isCuttingOff = true;
    try {
      for (const slowest of this.#waiting) {
        if (this.waitingBytes <= this.#maxBytes) return;
        this.cutOff.bytes++;
        slowest.disconnect();
      }
    } finally {
      this.#isCuttingOff = false;
    }
  }

  #scheduleCheck(): void {
    this.#nextCheck ??= this.clock.schedule(checkMs, () => {
      this.#nextCheck = undefined;
      const now = this.clock.monotonic();
      for (const sent of this.#timed) {
        if (sent.endsAt > now) continue;
        this.cutOff.time++;
        sent.disconnect();
      }
      for (const account of this.#polled.values()) account();
      if (this.#hasToLook()) this.#scheduleCheck();
    });
  }
}

/** One response that is being sent. */
export class Sent {
  readonly #deliveries: Deliveries;
  readonly #outlet: Outlet;
  readonly #delivery: Delivery | undefined;
  readonly #ownBytes: number;
  #bytes = 0;
  #over = false;
  #turns: FairYielder | undefined;

  constructor(deliveries: Deliveries, outlet: Outlet, delivery: Delivery | undefined, ownBytes: number) {
    this.#deliveries = deliveries;
    this.#outlet = outlet;
    this.#delivery = delivery;
    this.#ownBytes = ownBytes;
  }

  get endsAt(): number {
    return this.#delivery?.endsAt ?? Infinity;
  }

  /**
   * Returns a promise to await before the next slice, if requests have worked long enough in this turn of the event
   * loop.
   */
  pause(): Promise<void> | undefined {
    this.#turns ??= new FairYielder(this.#deliveries.clock);
    return this.#turns.pause(this.#delivery?.flow ?? '');
  }

  /** Called after progress, with the number of buffered bytes. */
  waits(bytes: number): void {
    this.#account(bytes, true);
  }

  /** Called without progress, with the number of buffered bytes. */
  grows(bytes: number): void {
    this.#account(bytes, false);
  }

  /** Asks from time to time for the number of buffered bytes, where they grow without anybody to call. */
  poll(bytes: () => number): void {
    if (!this.#over) this.#deliveries.poll(this, () => this.grows(bytes()));
  }

  over(): void {
    if (this.#over) return;
    this.#account(0, true);
    this.#over = true;
    this.#deliveries.over(this);
    this.#delivery?.[Symbol.dispose]();
  }

  /** Ends the connection of a client that is too slow. */
  disconnect(): void {
    this.#deliveries.disconnect(this.#outlet, this.#bytes);
    this.over();
  }

  #account(buffered: number, hasTaken: boolean): void {
    if (this.#over) return;
    const before = this.#bytes;
    const bytes = buffered > 0 ? buffered + this.#ownBytes : 0;
    this.#bytes = bytes;
    if (bytes !== before || hasTaken) this.#deliveries.account(this, before, bytes, hasTaken);
  }
}

/** An upgraded connection. */
export class Upgraded {
  readonly #socket: Duplex & {readonly bytesRead?: number; readonly bytesWritten?: number};
  readonly #sent: Sent;
  #bufferedBytes: () => number = () => 0;
  #moved = 0;

  constructor(socket: Duplex, sent: Sent) {
    this.#socket = socket;
    this.#sent = sent;
  }

  /** Sets the source of the bytes buffered for the connection besides those to be sent. */
  setBufferSource(bytes: () => number): void {
    this.#bufferedBytes = bytes;
  }

  poll(): void {
    const {bytesRead = 0, bytesWritten = 0, writableLength} = this.#socket;
    const bytes = writableLength + this.#bufferedBytes();
    const moved = bytesRead + bytesWritten - writableLength;
    if (moved === this.#moved) this.#sent.grows(bytes);
    else this.#sent.waits(bytes);
    this.#moved = moved;
  }
}
