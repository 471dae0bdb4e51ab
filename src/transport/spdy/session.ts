// A SPDY/3.1 session: many streams over one connection, for exec, attach and port-forward. Streams are opened, accepted
// or reset, and end in two halves. Handles a limited number of frames per turn of the event loop.

import type {Duplex} from 'node:stream';
import {yieldToEventLoop} from '#src/base/turn.js';
import {ByteReader} from './byte-reader.js';
import {framesOf, frameWriter, resetStatus, type Frame} from './frames.js';
import {HeaderUnpacker, type SpdyHeaders} from './header-block.js';
import {heldBytes, SpdyStream, type StreamPort} from './stream.js';

export interface SessionSettings {
  /** The client is the side that requested the protocol: its streams have odd numbers. */
  readonly side: 'client' | 'server';
  /** The bytes of the peer that were read already. */
  readonly head?: Buffer;
  /** Receives the streams that the peer opens; without it they are refused. */
  readonly onStream?: (stream: SpdyStream) => void;
  /** The maximum number of open streams of the peer. */
  readonly maxStreams?: number;
}

/** The default window. */
const initialWindow = 64 << 10;
const defaultMaxStreams = 1000;
/** The estimated memory of an open stream besides its buffered bytes. */
const streamBytes = 8 << 10;
/** The maximum number of control frames queued for a peer that does not read. */
const maxQueuedReplies = 10_000;
/** The number of frames that are handled in one turn of the event loop: one chunk may contain thousands. */
const maxFramesPerTurn = 64;

/** The window of one stream granted by the peer. */
interface Grant {
  left: number;
  wake: (() => void) | undefined;
}

/**
 * Multiplexes streams over one connection by SPDY/3.1, as far as streams to containers use it. Windows are only
 * respected if the peer grants any: upstream's programs do not, so that a sender that respects them would wait forever.
 * Such a peer is slowed down by backpressure on the whole connection. A server that has shown no flow control is
 * granted none either: the runtime closes the connection at the end of a command, and what it had not read by then
 * would turn the end into a reset, which loses output that is still on its way.
 */
export class SpdySession implements StreamPort {
  readonly #socket: Duplex;
  readonly #streams = new Map<number, SpdyStream>();
  readonly #grants = new Map<number, Grant>();
  /** Streams whose end was sent. */
  readonly #endSent = new WeakSet<SpdyStream>();
  readonly #write = frameWriter();
  readonly #settings: SessionSettings;
  readonly #parity: number;
  #nextId: number;
  #lastPeerId = 0;
  #nextPing: number;
  #peerWindow: number | undefined;
  #isClosing = false;
  #queuedReplies = 0;
  #movedBytes = 0;
  /** Resolves when the connection has ended, with the error, if any. */
  readonly closed: Promise<Error | undefined>;

  constructor(socket: Duplex, settings: SessionSettings) {
    this.#socket = socket;
    this.#settings = settings;
    this.#parity = settings.side === 'client' ? 1 : 0;
    this.#nextId = settings.side === 'client' ? 1 : 2;
    this.#nextPing = this.#nextId;
    socket.on('error', () => {});
    this.#send({kind: 'settings', initialWindow: heldBytes});
    this.closed = this.#serve(settings.head ?? Buffer.alloc(0)).then(
      () => undefined,
      (error: NodeJS.ErrnoException) => (error.syscall ? new Error('unexpected EOF', {cause: error}) : error),
    );
    this.closed.then(error => this.#over(error)).catch(() => socket.destroy());
  }

  /** Opens a stream. Writes wait until the peer accepts it. */
  open(headers: Readonly<Record<string, string>>): SpdyStream {
    const id = this.#nextId;
    this.#nextId += 2;
    const stream = this.#add(id, {});
    if (this.#isClosing || this.#socket.destroyed) stream.destroy(new Error('the connection is closing'));
    else
      this.#send({
        kind: 'open',
        id,
        headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])),
        fin: false,
        unidirectional: false,
      });
    return stream;
  }

  /** The estimated memory of open streams. */
  get keptBytes(): number {
    let bytes = 0;
    for (const {readableLength, writableLength} of this.#streams.values()) bytes += streamBytes + readableLength + writableLength;
    return bytes;
  }

  /** The bytes of streams in both directions so far, and the streams themselves, as signs of use. */
  get moved(): number {
    return this.#movedBytes;
  }

  /** Sends a ping, as a sign of life. */
  ping(): void {
    this.#send({kind: 'ping', id: this.#nextPing});
    this.#nextPing += 2;
  }

  /** Closes the connection after all pending frames were sent. */
  close(): void {
    if (!this.#isClosing) this.#send({kind: 'goAway', last: this.#lastPeerId, status: 0});
    this.#isClosing = true;
    this.#socket.end();
  }

  async data(stream: SpdyStream, bytes: Buffer): Promise<void> {
    let rest = bytes;
    while (rest.length > 0) {
      const room = await this.#availableWindow(stream, rest.length);
      if (!this.#streams.has(stream.id) || this.#socket.destroyed) return;
      this.#movedBytes += room;
      if (!this.#send({kind: 'data', id: stream.id, bytes: rest.subarray(0, room), fin: false})) await this.#drained();
      rest = rest.subarray(room);
    }
  }

  finish(stream: SpdyStream): void {
    if (!this.#streams.has(stream.id)) return;
    this.#send({kind: 'data', id: stream.id, bytes: Buffer.alloc(0), fin: true});
    this.#endSent.add(stream);
    this.#forget(stream);
  }

  consumed(stream: SpdyStream, bytes: number): void {
    if (this.#settings.side === 'client' && this.#peerWindow === undefined) return;
    if (!stream.isPeerDone && this.#streams.has(stream.id)) this.#answer({kind: 'window', id: stream.id, delta: bytes});
  }

  reset(stream: SpdyStream): void {
    this.#wake(stream.id);
    if (!this.#streams.has(stream.id)) return;
    if (!stream.isPeerDone || !stream.writableFinished) this.#answer({kind: 'reset', id: stream.id, status: resetStatus.cancel});
    this.#streams.delete(stream.id);
    this.#grants.delete(stream.id);
  }

  async #serve(head: Buffer): Promise<void> {
    using unpacker = new HeaderUnpacker();
    try {
      let count = 0;
      for await (const frame of framesOf(new ByteReader(this.#socket, head), unpacker)) {
        await this.#take(frame);
        if (++count % maxFramesPerTurn === 0) await yieldToEventLoop();
      }
    } catch (error) {
      this.#send({kind: 'goAway', last: this.#lastPeerId, status: 1});
      throw error;
    }
  }

  async #take(frame: Frame): Promise<void> {
    switch (frame.kind) {
      case 'open':
        return this.#opened(frame);
      case 'reply':
        this.#streams.get(frame.id)?.accept();
        return this.#received(frame.id, Buffer.alloc(0), frame.fin);
      case 'headers':
        return this.#received(frame.id, Buffer.alloc(0), frame.fin);
      case 'data':
        return this.#received(frame.id, frame.bytes, frame.fin);
      case 'reset': {
        const stream = this.#streams.get(frame.id);
        this.#wake(frame.id);
        this.#streams.delete(frame.id);
        this.#grants.delete(frame.id);
        stream?.abort();
        return;
      }
      case 'settings':
        if (frame.initialWindow !== undefined) this.#windowIs(frame.initialWindow);
        return;
      case 'ping':
        if ((frame.id & 1) !== this.#parity) this.#answer(frame);
        return;
      case 'goAway':
        this.#isClosing = true;
        if (this.#streams.size === 0) this.#socket.end();
        return;
      case 'window':
        this.#granted(frame.id, frame.delta);
    }
  }

  async #opened({id, headers, fin, unidirectional}: Extract<Frame, {kind: 'open'}>): Promise<void> {
    const {onStream, maxStreams = defaultMaxStreams} = this.#settings;
    if ((id & 1) === this.#parity || id <= this.#lastPeerId) return this.#answer({kind: 'reset', id, status: resetStatus.protocolError});
    this.#lastPeerId = id;
    if (!onStream || this.#isClosing || this.#streams.size >= maxStreams)
      return this.#answer({kind: 'reset', id, status: resetStatus.refusedStream});
    const stream = this.#add(id, headers);
    stream.accept();
    this.#answer({kind: 'reply', id, headers: {}, fin: unidirectional});
    onStream(stream);
    if (fin) await this.#received(id, Buffer.alloc(0), true);
  }

  async #received(id: number, bytes: Buffer, fin: boolean): Promise<void> {
    const stream = this.#streams.get(id);
    if (!stream) return;
    this.#movedBytes += bytes.length;
    await stream.receive(bytes, fin);
    if (fin) this.#forget(stream);
  }

  #add(id: number, headers: SpdyHeaders): SpdyStream {
    const stream = new SpdyStream(id, headers, this);
    this.#streams.set(id, stream);
    this.#movedBytes++;
    return stream;
  }

  /** Removes a stream whose both halves have ended. */
  #forget(stream: SpdyStream): void {
    // Frames written before the end may still be pending.
    if (!stream.isPeerDone || !this.#endSent.has(stream)) return;
    this.#streams.delete(stream.id);
    this.#grants.delete(stream.id);
    if (this.#isClosing && this.#streams.size === 0) this.#socket.end();
  }

  #windowIs(size: number): void {
    const change = size - (this.#peerWindow ?? initialWindow);
    this.#peerWindow = size;
    for (const [id, grant] of this.#grants) {
      grant.left += change;
      this.#wake(id);
    }
  }

  #granted(id: number, delta: number): void {
    this.#peerWindow ??= initialWindow;
    const stream = this.#streams.get(id);
    if (!stream) return;
    this.#grantOf(id).left += delta;
    this.#wake(id);
  }

  #grantOf(id: number): Grant {
    let grant = this.#grants.get(id);
    if (!grant) this.#grants.set(id, (grant = {left: this.#peerWindow ?? initialWindow, wake: undefined}));
    return grant;
  }

  /** Returns how many of the wanted bytes may be sent, once there is any window. */
  async #availableWindow(stream: SpdyStream, wanted: number): Promise<number> {
    const grant = this.#grantOf(stream.id);
    while (this.#peerWindow !== undefined && grant.left <= 0 && this.#streams.has(stream.id) && !this.#socket.destroyed) {
      await new Promise<void>(resolve => {
        grant.wake = resolve;
      });
    }
    const room = this.#peerWindow === undefined ? wanted : Math.min(wanted, grant.left);
    grant.left -= room;
    return Math.max(room, 0);
  }

  #wake(id: number): void {
    const grant = this.#grants.get(id);
    const wake = grant?.wake;
    if (grant) grant.wake = undefined;
    wake?.();
  }

  #send(frame: Frame): boolean {
    if (this.#socket.destroyed || this.#socket.writableEnded) return true;
    return this.#socket.write(this.#write(frame));
  }

  /**
   * Sends a frame in response to the peer's. The connection of a peer that does not read is closed: waiting for it
   * would delay the data of other streams.
   */
  #answer(frame: Frame): void {
    if (this.#send(frame) && this.#queuedReplies === 0) return;
    if (++this.#queuedReplies === 1) this.#socket.once('drain', () => (this.#queuedReplies = 0));
    else if (this.#queuedReplies > maxQueuedReplies) this.#socket.destroy(new Error('too many answers wait for the peer'));
  }

  #drained(): Promise<void> {
    if (this.#socket.destroyed || !this.#socket.writableNeedDrain) return Promise.resolve();
    return new Promise(resolve => {
      const done = () => {
        this.#socket.off('drain', done).off('close', done);
        resolve();
      };
      this.#socket.on('drain', done).on('close', done);
    });
  }

  #over(error: Error | undefined): void {
    const left = [...this.#streams.values()];
    this.#streams.clear();
    for (const id of this.#grants.keys()) this.#wake(id);
    for (const stream of left) stream.abort(error ?? new Error('unexpected EOF'));
    if (error) this.#socket.destroy();
    else this.#socket.end();
  }
}
