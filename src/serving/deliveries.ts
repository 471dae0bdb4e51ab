import type {Duplex, Writable} from 'node:stream';
import type {Delivery} from '#src/api/request.js';
import type {Clock} from '#src/base/clock.js';

/** How many bytes may wait for readers, in all answers and watches of a server together. */
const defaultWaitingBytes = 256 << 20;

/** Answers that take longer than this are looked after. */
const lookMs = 250;

/** What answers are written to; `ServerResponse` and HTTP/2 streams both are. */
export type Outlet = Pick<Writable, 'destroy' | 'destroyed' | 'once'>;

/**
 * The answers of a server on their way to their readers. Each belongs to the time of its request and is cut off when that is up. What waits for all
 * readers together has a bound: beyond it those are cut off who have not taken anything for the longest time.
 */
export class Deliveries {
  readonly #clock: Clock;
  readonly #maxBytes: number;
  readonly #timed = new Set<Sent>();
  readonly #upgraded = new Set<Upgraded>();
  /** Who waits longest is first. */
  readonly #waiting = new Set<Sent>();
  #isLooking = false;
  /** Bytes that wait for readers. */
  waitingBytes = 0;
  /** How many readers were cut off because too much waited, and because their time was up. */
  readonly cutOff = {bytes: 0, time: 0};

  constructor(clock: Clock, maxBytes = defaultWaitingBytes) {
    this.#clock = clock;
    this.#maxBytes = maxBytes;
  }

  /** Looks after an answer until its outlet closes. */
  send(outlet: Outlet, delivery: Delivery | undefined): Sent {
    const sent = new Sent(this, outlet, delivery);
    if (delivery) {
      this.#timed.add(sent);
      this.#look();
    }
    outlet.once('close', () => sent.over());
    if (outlet.destroyed) sent.over();
    return sent;
  }

  /** Looks after a connection that speaks another protocol from now on, until it closes. What is kept for it is asked for now and then. */
  upgrade(socket: Duplex): Upgraded {
    const sent = new Sent(this, socket, undefined);
    const upgraded = new Upgraded(socket, sent);
    if (socket.destroyed) return upgraded;
    this.#upgraded.add(upgraded);
    socket.once('close', () => {
      this.#upgraded.delete(upgraded);
      sent.over();
    });
    this.#look();
    return upgraded;
  }

  /** For the answer itself: `bytes` wait instead of what waited before. Whoever took some goes to the end of the queue. */
  account(sent: Sent, before: number, bytes: number, hasTaken: boolean): void {
    this.waitingBytes += bytes - before;
    if (hasTaken || bytes === 0) this.#waiting.delete(sent);
    if (bytes > 0) this.#waiting.add(sent);
    if (this.waitingBytes <= this.#maxBytes) return;
    for (const slowest of this.#waiting) {
      this.cutOff.bytes++;
      slowest.cut();
      if (this.waitingBytes <= this.#maxBytes) return;
    }
  }

  over(sent: Sent): void {
    this.#timed.delete(sent);
  }

  #look(): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    this.#clock.schedule(lookMs, () => {
      this.#isLooking = false;
      const now = this.#clock.monotonic();
      for (const sent of this.#timed) {
        if (sent.endsAt > now) continue;
        this.cutOff.time++;
        sent.cut();
      }
      for (const upgraded of this.#upgraded) upgraded.look();
      if (this.#timed.size > 0 || this.#upgraded.size > 0) this.#look();
    });
  }
}

/** One answer on its way. */
export class Sent {
  readonly #deliveries: Deliveries;
  readonly #outlet: Outlet;
  readonly #delivery: Delivery | undefined;
  #bytes = 0;
  #over = false;

  constructor(deliveries: Deliveries, outlet: Outlet, delivery: Delivery | undefined) {
    this.#deliveries = deliveries;
    this.#outlet = outlet;
    this.#delivery = delivery;
  }

  get endsAt(): number {
    return this.#delivery?.endsAt ?? Infinity;
  }

  /** So many bytes wait now that others were taken. */
  waits(bytes: number): void {
    this.#account(bytes, true);
  }

  /** So many bytes wait, and none were taken. */
  grows(bytes: number): void {
    this.#account(bytes, false);
  }

  over(): void {
    if (this.#over) return;
    this.#account(0, true);
    this.#over = true;
    this.#deliveries.over(this);
    this.#delivery?.[Symbol.dispose]();
  }

  /** Ends the connection of a reader who is too slow. */
  cut(): void {
    this.over();
    // Without an error a stream of HTTP/2 would seem to have come to its end.
    this.#outlet.destroy(new Error('the reader is too slow'));
  }

  #account(bytes: number, hasTaken: boolean): void {
    if (this.#over) return;
    const before = this.#bytes;
    this.#bytes = bytes;
    if (bytes !== before || hasTaken) this.#deliveries.account(this, before, bytes, hasTaken);
  }
}

/** A connection that speaks another protocol. */
export class Upgraded {
  readonly #socket: Duplex & {readonly bytesRead?: number; readonly bytesWritten?: number};
  readonly #sent: Sent;
  #kept: () => number = () => 0;
  #moved = 0;

  constructor(socket: Duplex, sent: Sent) {
    this.#socket = socket;
    this.#sent = sent;
  }

  /** Counts what is kept for the connection besides what waits to be sent on it. */
  keeps(bytes: () => number): void {
    this.#kept = bytes;
  }

  look(): void {
    const {bytesRead = 0, bytesWritten = 0, writableLength} = this.#socket;
    const bytes = writableLength + this.#kept();
    const moved = bytesRead + bytesWritten - writableLength;
    if (moved === this.#moved) this.#sent.grows(bytes);
    else this.#sent.waits(bytes);
    this.#moved = moved;
  }
}
