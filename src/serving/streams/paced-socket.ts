import {Duplex} from 'node:stream';
import type {Clock} from '#src/base/clock.js';
import {confineErrors} from '#src/base/emitters/confined.js';
import {Yielder} from '#src/base/turn.js';

/** The connection of a paced socket. */
export type PacedConnection = Duplex & {readonly bytesRead?: number; setNoDelay?(): unknown};

export interface PacedOptions {
  readonly clock: Clock;
  /** Converts a received chunk. */
  readonly convert?: (chunk: Buffer) => Buffer;
}

/** The largest chunk that is read at once: a TLS record. */
const chunkBytes = 16 << 10;

/**
 * A connection whose readers get a few chunks in each turn of the event loop: when handling of chunks, of all such
 * connections together, has taken a few milliseconds, each further one waits for its own turn. Meanwhile the connection
 * is not read. What is written goes to the connection at once.
 */
export class PacedSocket extends Duplex {
  readonly #connection: PacedConnection;
  readonly #pieces: Yielder;
  readonly #convert: (chunk: Buffer) => Buffer;
  /** Chunks that wait for their turn. */
  readonly #waiting: Buffer[] = [];
  #isWaiting = false;
  #hasEnded = false;

  constructor(connection: PacedConnection, {clock, convert = chunk => chunk}: PacedOptions) {
    super({allowHalfOpen: true, readableHighWaterMark: chunkBytes});
    confineErrors(this);
    this.#connection = connection;
    this.#pieces = new Yielder(clock);
    this.#convert = convert;
    connection.pause();
    connection.on('data', (chunk: Buffer) => this.#receive(chunk));
    connection.once('end', () => this.#end());
    connection.once('error', error => this.destroy(error));
    connection.once('close', () => this.#closed());
  }

  /** The bytes that wait to be written, besides those that wait in the connection itself. */
  get unwrittenBytes(): number {
    return Math.max(0, this.writableLength - this.#connection.writableLength);
  }

  setNoDelay(): this {
    this.#connection.setNoDelay?.();
    return this;
  }

  override _read(): void {
    if (!this.#isWaiting) this.#connection.resume();
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#connection.write(chunk, done);
  }

  override _writev(chunks: readonly {readonly chunk: Buffer}[], done: (error?: Error | null) => void): void {
    const last = chunks.length - 1;
    this.#connection.cork();
    for (const [index, {chunk}] of chunks.entries()) this.#connection.write(chunk, index === last ? done : undefined);
    this.#connection.uncork();
  }

  override _final(done: (error?: Error | null) => void): void {
    this.#connection.end(() => done());
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#waiting.length = 0;
    this.#connection.destroy(error ?? undefined);
    done(error);
  }

  #receive(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; at += chunkBytes) this.#waiting.push(chunk.subarray(at, at + chunkBytes));
    if (!this.#isWaiting) void this.#pass();
  }

  #end(): void {
    this.#hasEnded = true;
    if (!this.#isWaiting) this.push(null);
  }

  #closed(): void {
    if (!this.#hasEnded) this.destroy();
  }

  /** Passes on the waiting chunks, in this turn as long as there is time. */
  async #pass(): Promise<void> {
    this.#isWaiting = true;
    let takes = true;
    while (this.#waiting.length > 0) {
      const pause = this.#pieces.pause();
      if (pause) {
        this.#connection.pause();
        await pause;
      }
      const chunk = this.#waiting.shift();
      if (chunk) takes = this.push(this.#convert(chunk));
    }
    this.#isWaiting = false;
    if (this.destroyed) return;
    if (this.#hasEnded) this.push(null);
    else if (takes) this.#connection.resume();
    else this.#connection.pause();
  }
}
