import {Duplex} from 'node:stream';
import {addSocketMethods} from './socket-methods.js';
import {confineErrors} from '#src/base/emitters/confined.js';

/** The maximum number of unread bytes before the writer has to wait. */
const heldBytes = 64 << 10;

/** One end of an in-process connection. Node's HTTP treats it as a socket without options. */
export class PairedEnd extends Duplex {
  #other: PairedEnd | undefined;
  #hasEnd = false;
  /** The writer waits until its data is read. */
  #taken: (() => void) | undefined;

  constructor() {
    super({allowHalfOpen: true, readableHighWaterMark: heldBytes});
    confineErrors(this).on('error', () => {});
  }

  join(other: PairedEnd): void {
    this.#other = other;
  }

  override _read(): void {
    const taken = this.#taken;
    this.#taken = undefined;
    taken?.();
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: (error?: Error | null) => void): void {
    if (chunk.length === 0) process.nextTick(done);
    else if (!this.#other || this.#other.#isDiscarding) done(Object.assign(new Error('write EPIPE'), {code: 'EPIPE', syscall: 'write'}));
    else this.#other.#receive(chunk, done);
  }

  override _final(done: (error?: Error | null) => void): void {
    if (this.#other) this.#other.#receiveEnd();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#release();
    const other = this.#other;
    this.#other = undefined;
    if (other) process.nextTick(() => other.#receiveEnd());
    done(error);
  }

  get #isDiscarding(): boolean {
    return this.destroyed || this.readableEnded;
  }

  #receive(chunk: Buffer, done: () => void): void {
    if (this.push(chunk)) process.nextTick(done);
    else this.#taken = done;
  }

  #receiveEnd(): void {
    if (!this.destroyed && !this.#hasEnd) this.push(null);
    this.#hasEnd = true;
  }

  #release(): void {
    const taken = this.#taken;
    this.#taken = undefined;
    taken?.();
  }
}

addSocketMethods(PairedEnd.prototype);

/**
 * Says that it is corked, so that Node's HTTP writes the chunks of a message as they come. In Node.js 24.22 and 26.12
 * it gathers them until the end of the turn otherwise, and a message never drains if its connection has drained before
 * that.
 */
Object.defineProperty(PairedEnd.prototype, 'writableCorked', {value: 1});

/** Returns the two ends of an in-process connection with back-pressure. */
export const duplexPair = (): readonly [PairedEnd, PairedEnd] => {
  const pair = [new PairedEnd(), new PairedEnd()] as const;
  pair[0].join(pair[1]);
  pair[1].join(pair[0]);
  return pair;
};
