// One stream of a SPDY session, as a Node duplex. Its buffer is bounded by the window granted to the peer.

import {Duplex} from 'node:stream';
import type {SpdyHeaders} from './header-block.js';
import {confineErrors} from '#src/base/emitters/confined.js';

/** The methods of a session that its streams call. */
export interface StreamPort {
  /** Resolves once there is room for more. */
  data(stream: SpdyStream, bytes: Buffer): Promise<void>;
  /** This side has ended. */
  finish(stream: SpdyStream): void;
  /** Received bytes were read. */
  consumed(stream: SpdyStream, bytes: number): void;
  reset(stream: SpdyStream): void;
}

/** The number of unread bytes after which the peer of a stream has to wait; also the window granted. */
export const heldBytes = 256 << 10;

/** The maximum data per frame, so that streams share the connection. */
const pieceBytes = 16 << 10;

/** A stream of a session. Each side ends its own half. */
export class SpdyStream extends Duplex {
  readonly id: number;
  readonly headers: SpdyHeaders;
  /** Resolves when the peer accepts the stream; writes wait until then. */
  readonly accepted: Promise<void>;
  readonly #port: StreamPort;
  #accept!: () => void;
  #room: (() => void) | undefined;
  /** Received bytes that were not granted again yet. */
  #ungranted = 0;
  #isPeerDone = false;
  #isCut = false;
  #lost: Error | undefined;

  constructor(id: number, headers: SpdyHeaders, port: StreamPort) {
    super({allowHalfOpen: true, readableHighWaterMark: heldBytes});
    this.id = id;
    this.headers = headers;
    this.#port = port;
    this.accepted = new Promise(resolve => {
      this.#accept = resolve;
    });
    confineErrors(this).on('error', () => {});
  }

  /** Whether the peer ended its half. */
  get isPeerDone(): boolean {
    return this.#isPeerDone;
  }

  /** The reason why the connection was lost before the peer ended its half, if it was. */
  get lost(): Error | undefined {
    return this.#lost;
  }

  accept(): void {
    this.#accept();
  }

  /** The peer has gone. Received bytes can still be read; writes are discarded. */
  abort(lost?: Error): void {
    if (!this.#isPeerDone) {
      this.#lost = lost;
      this.#isPeerDone = true;
      this.push(null);
    }
    this.#isCut = true;
    this.#accept();
    this.#release();
    if (this.readableEnded) this.destroy();
    else this.once('end', () => this.destroy());
  }

  /**
   * Adds received bytes. Resolves once there is room for more: at once for a peer that respects its window, so that its
   * window updates are handled even while nothing reads the stream.
   */
  async receive(bytes: Buffer, fin: boolean): Promise<void> {
    if (this.#isPeerDone || this.destroyed) return;
    if (bytes.length > 0) {
      this.#ungranted += bytes.length;
      this.push(bytes);
      if (this.readableLength > heldBytes) {
        await new Promise<void>(resolve => {
          this.#room = resolve;
        });
      }
    }
    if (fin && !this.#isPeerDone) {
      this.#isPeerDone = true;
      this.push(null);
    }
  }

  override _read(): void {
    // Data is pushed when it is received.
  }

  /**
   * Grants the peer what has left the buffer. Granting on _read, which is called while the buffer fills, would let a
   * peer fill it twice over.
   */
  override read(size?: number): unknown {
    const chunk: unknown = super.read(size);
    const taken = this.#ungranted - this.readableLength;
    if (taken > 0) {
      this.#ungranted -= taken;
      this.#port.consumed(this, taken);
    }
    if (this.readableLength <= heldBytes) this.#release();
    return chunk;
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: (error?: Error) => void): void {
    this.#send(chunk).then(() => done(), done);
  }

  override _final(done: (error?: Error) => void): void {
    this.accepted.then(() => this.#port.finish(this)).then(() => done(), done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#accept();
    this.#release();
    this.#port.reset(this);
    done(error);
  }

  async #send(chunk: Buffer): Promise<void> {
    await this.accepted;
    for (let at = 0; at < chunk.length && !this.#isCut; at += pieceBytes) await this.#port.data(this, chunk.subarray(at, at + pieceBytes));
  }

  #release(): void {
    const room = this.#room;
    this.#room = undefined;
    room?.();
  }
}
