// Limits the rate of an upgraded connection in each direction (`--max-connection-bytes-per-sec`). Bytes wait in the
// sockets, not here: reading stops and writing is not acknowledged until they are due.

import {Duplex} from 'node:stream';
import {sleep, type Clock} from '#src/base/clock.js';
import {confineErrors} from '#src/base/emitters/confined.js';
import {TokenBucket} from '#src/base/token-bucket.js';

/** The parts of a second in which bytes are released. */
const partsPerSecond = 10;

/** One direction of a connection. */
class Pace {
  readonly #bucket: TokenBucket;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly pieceBytes: number;

  constructor(bytesPerSecond: number, clock: Clock, signal: AbortSignal) {
    this.pieceBytes = Math.ceil(bytesPerSecond / partsPerSecond);
    this.#bucket = new TokenBucket(clock, bytesPerSecond, this.pieceBytes);
    this.#clock = clock;
    this.#signal = signal;
  }

  /** Yields the pieces of a chunk when they are due. */
  async *pieces(chunk: Buffer): AsyncGenerator<Buffer> {
    for (let at = 0; at < chunk.length; at += this.pieceBytes) {
      const piece = chunk.subarray(at, at + this.pieceBytes);
      const waitMs = this.#bucket.reserve(piece.length);
      if (waitMs > 0) await sleep(this.#clock, waitMs, this.#signal);
      yield piece;
    }
  }
}

/** A connection over another one, of limited rate. It owns the other one. */
class Throttled extends Duplex {
  readonly #inner: Duplex;
  readonly #closed = new AbortController();
  readonly #incoming: Pace;
  readonly #outgoing: Pace;
  #onReadable = (): void => {};

  constructor(inner: Duplex, bytesPerSecond: number, clock: Clock) {
    super({allowHalfOpen: inner.allowHalfOpen});
    confineErrors(this);
    this.#inner = inner;
    this.#incoming = new Pace(bytesPerSecond, clock, this.#closed.signal);
    this.#outgoing = new Pace(bytesPerSecond, clock, this.#closed.signal);
    inner.on('error', error => this.destroy(error));
    inner.once('close', () => {
      if (!inner.readableEnded) this.destroy();
    });
    this.#pump().catch((error: Error) => this.destroy(this.#closed.signal.aborted ? undefined : error));
  }

  override _read(): void {
    this.#onReadable();
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#send(chunk).then(() => done(), done);
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#inner.end(() => done());
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#closed.abort();
    this.#onReadable();
    this.#inner.destroy();
    done(error);
  }

  async #pump(): Promise<void> {
    for await (const chunk of this.#inner.iterator({destroyOnReturn: false}))
      for await (const piece of this.#incoming.pieces(chunk as Buffer)) {
        if (this.push(piece)) continue;
        await new Promise<void>(resolve => {
          this.#onReadable = resolve;
        });
      }
    this.push(null);
  }

  async #send(chunk: Buffer): Promise<void> {
    for await (const piece of this.#outgoing.pieces(chunk))
      await new Promise<void>((resolve, reject) => {
        this.#inner.write(piece, error => (error ? reject(error) : resolve()));
      });
  }
}

/** Returns the connection with a limited rate in each direction. */
export const throttled = (socket: Duplex, bytesPerSecond: number, clock: Clock): Duplex => new Throttled(socket, bytesPerSecond, clock);
