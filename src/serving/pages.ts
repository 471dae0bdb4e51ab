import {Socket} from 'node:net';
import type {Writable} from 'node:stream';
import {TLSSocket} from 'node:tls';
import type {PagedBody} from '#src/api/request.js';
import {confinedTo} from '#src/base/emitters/confined.js';
import type {Sent} from './deliveries.js';

/**
 * Sends a collection page by page, with backpressure. Stops reading when the client is gone; rejects, and breaks off
 * the response, when the rest cannot be read.
 */
export const sendPages = async (body: PagedBody, outlet: Writable, sent: Sent): Promise<void> => {
  outlet.once('close', () => body.close());
  const slices = new Slices(outlet, sent);
  try {
    for (let page = await body.next(); page !== undefined && !outlet.destroyed; page = await body.next()) {
      const sentPage = page;
      await slices.write(page, () => body.reuse?.(sentPage));
    }
    if (!outlet.destroyed) outlet.end();
  } catch (error) {
    // Without an error an HTTP/2 stream would seem complete.
    outlet.destroy(error as Error);
    throw error;
  } finally {
    body.close();
  }
};

/** Sends a long body with backpressure, and ends the response. */
export const sendBytes = async (bytes: Buffer, outlet: Writable, sent: Sent): Promise<void> => {
  await new Slices(outlet, sent).write(bytes);
  if (!outlet.destroyed) outlet.end();
};

/** TLS encrypts what it is given at once, into memory of the connection, which takes time to fill and to free. */
const sliceBytes = 64 << 10;

/**
 * Others hand it to the system. Each slice waits for a turn of the event loop, and those of a busy process are long.
 */
const plainSliceBytes = 512 << 10;

const isPlain = (outlet: Writable): boolean => {
  const {socket} = outlet as {readonly socket?: unknown};
  return socket instanceof Socket && !(socket instanceof TLSSocket);
};

/**
 * Writes a response in slices. One is on its way while the next is made: with none, the client would wait for the
 * server and the server for the client in turns.
 */
class Slices {
  readonly #outlet: Writable;
  readonly #sent: Sent;
  readonly #sliceBytes: number;
  /** The bytes that were written and not taken, and those of the same page that were not written. */
  #underWay = 0;
  #left = 0;
  #wake: (() => void) | undefined;

  constructor(outlet: Writable, sent: Sent) {
    this.#outlet = outlet;
    this.#sent = sent;
    this.#sliceBytes = isPlain(outlet) ? plainSliceBytes : sliceBytes;
    outlet.once('close', () => this.#wake?.());
  }

  /**
   * Resolves when all but the last slice were taken, or the client is gone. Calls `over` once the last was taken as
   * well; never if the client is gone, since the connection may still refer to the bytes then.
   */
  async write(bytes: Buffer, over?: () => void): Promise<void> {
    const outlet = this.#outlet;
    this.#left = bytes.length;
    this.#account();
    for (let at = 0; at < bytes.length && !outlet.destroyed; at += this.#sliceBytes) {
      const turn = this.#sent.pause();
      if (turn) await turn;
      if (outlet.destroyed) return;
      const slice = bytes.subarray(at, at + this.#sliceBytes);
      const isLast = at + slice.length === bytes.length;
      this.#left -= slice.length;
      this.#underWay += slice.length;
      outlet.write(
        slice,
        confinedTo(outlet, (error?: Error | null) => {
          this.#taken(slice.length);
          if (isLast && !error && !outlet.destroyed) over?.();
        }),
      );
      while (this.#underWay > this.#sliceBytes && !outlet.destroyed) await new Promise<void>(resolve => (this.#wake = resolve));
    }
  }

  #taken(bytes: number): void {
    this.#underWay -= bytes;
    this.#account();
    this.#wake?.();
  }

  #account(): void {
    this.#sent.waits(this.#left + this.#underWay);
  }
}
