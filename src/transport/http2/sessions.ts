// The HTTP/2 connections to one service: streams share sessions, each as many as its server allows. A session is in
// use, draining (after GOAWAY: its streams continue, no new ones) or closed. One whose server does not answer pings is
// closed, so that no stream waits forever. Streams are never repeated here.

import http2, {type ClientHttp2Session, type ClientHttp2Stream} from 'node:http2';
import type {Duplex} from 'node:stream';
import type {Clock} from '#src/base/clock.js';
import {LinkedQueue, type Linked} from '#src/base/collections/linked-queue.js';
import {confineErrors} from '#src/base/emitters/confined.js';
import {maxSessionMemory} from './session-memory.js';

/** Pings of a session: their interval, and how long their answer may take. */
export interface Pings {
  readonly everyMs: number;
  readonly timeoutMs: number;
}

export interface SessionsOptions {
  readonly clock: Clock;
  /** Opens a session, for example by `openSession`. */
  open(): Promise<ClientHttp2Session>;
  /** Absent: none. Some servers end connections that are pinged often. */
  readonly pings?: Pings | undefined;
  /** How long a session that is pinged is kept without a stream; default: until its server ends it. */
  readonly idleMs?: number | undefined;
  /**
   * The maximum number of sessions in use; streams wait when theirs has all it allows. Default: as many as the streams
   * need.
   */
  readonly maxSessions?: number;
}

/** How a session is opened on a connection. */
export interface OpenSession {
  readonly clock: Clock;
  /** The URL of the server. */
  readonly origin: string;
  /** Opens the connection. */
  connect(): Promise<Duplex>;
  /** The receive windows. */
  readonly windows: {readonly stream: number; readonly session: number};
  /** The time limit for the connection and the server's preface. */
  readonly timeoutMs: number;
}

/** The error of a server that did not serve HTTP/2 in time. */
const late = (timeoutMs: number): Error =>
  Object.assign(new Error(`context deadline exceeded: no server preface within ${timeoutMs / 1000} s`), {code: 'ETIMEDOUT'});

/**
 * Opens a session. Only the server's first settings confirm that it serves: one that accepts the connection may still
 * refuse the client's certificate, or use another protocol.
 */
export const openSession = (options: OpenSession): Promise<ClientHttp2Session> => {
  const {clock, connect, timeoutMs} = options;
  return new Promise((resolve, reject) => {
    let isOver = false;
    let opened: {destroy(error?: Error): unknown} | undefined;
    const settle = (finish: () => void): void => {
      isOver = true;
      timer[Symbol.dispose]();
      finish();
    };
    const fail = (error: unknown): void => settle(() => reject(error as Error));
    const timer = clock.schedule(timeoutMs, () => {
      fail(late(timeoutMs));
      opened?.destroy();
    });
    connect().then(socket => {
      if (isOver) return void socket.destroy();
      const refuse = (error: Error): void => {
        if (!isOver) socket.destroy();
        fail(error);
      };
      // While there is no stream, TLS alerts are only reported by the socket.
      socket.once('error', refuse);
      const session = begin(socket, options);
      opened = session;
      session.once('remoteSettings', () => settle(() => resolve(session)));
      // Later errors are reported by the streams.
      session.on('error', refuse);
      session.once('close', () => refuse(new Error('error reading server preface: EOF')));
    }, fail);
  });
};

const begin = (socket: Duplex, {origin, windows}: OpenSession): ClientHttp2Session => {
  const settings = {
    createConnection: () => socket,
    settings: {initialWindowSize: windows.stream, enablePush: false},
    maxSessionMemory,
  };
  const session = confineErrors(http2.connect(origin, settings));
  session.once('remoteSettings', () => session.setLocalWindowSize(windows.session));
  return session;
};

/** One session, and the number of its open streams. */
interface PooledSession {
  readonly session: ClientHttp2Session;
  streams: number;
  isDraining: boolean;
}

/** A stream that waits for a place. */
interface Waiting extends Linked<Waiting> {
  begin(pooled: PooledSession): void;
  fail(error: Error): void;
}

/**
 * Sessions that are opened on demand. A stream for which none has a place waits for the first that gets one: by the end
 * of another stream, or since it was opened. It fails if none can be opened while no other stream ends.
 */
export class Sessions {
  readonly #options: SessionsOptions;
  readonly #sessions = new Set<PooledSession>();
  readonly #waiting = new LinkedQueue<Waiting>();
  #opening: Promise<PooledSession> | undefined;
  /** The number of streams that have ended. */
  #ended = 0;
  #isClosed = false;
  #isDestroyed = false;

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  /**
   * Starts a stream on a session. `start` begins it and listens to it at once, since it may fail on the next tick.
   * Rejects with the error of opening a session, or with what `start` throws.
   */
  async stream(start: (session: ClientHttp2Session) => ClientHttp2Stream): Promise<ClientHttp2Stream> {
    if (this.#isClosed) throw new Error('the connection was closed');
    const pooled = this.#reserved() ?? (await this.#place());
    try {
      return confineErrors(start(pooled.session)).once('close', () => this.#leave(pooled));
    } catch (error) {
      this.#leave(pooled);
      throw error;
    }
  }

  /** Whether a session is open, which may have ended unnoticed. */
  get isConnected(): boolean {
    return !this.#usable().next().done;
  }

  /** Connects unless connected. */
  async ready(): Promise<void> {
    if (!this.isConnected) await this.#opened();
  }

  /** Lets the present sessions end with their streams: later streams use new ones. */
  drain(): void {
    for (const pooled of this.#sessions) drain(pooled);
  }

  /** Ends the present sessions with their streams: later streams use new ones. */
  drop(): void {
    for (const pooled of this.#sessions) {
      pooled.isDraining = true;
      pooled.session.destroy(new Error('the connection was dropped'));
    }
  }

  /** Opens no more streams; open ones continue, and those that wait for a session. */
  close(): void {
    this.#isClosed = true;
    this.drain();
    void this.#opening?.then(drain, () => {});
  }

  /** Ends all streams. Resolves when no session is being opened any more. */
  async destroy(): Promise<void> {
    this.#isClosed = true;
    this.#isDestroyed = true;
    this.#refuse(new Error('the connection was closed'));
    for (const {session} of this.#sessions) session.destroy();
    await this.#opening?.catch(() => {});
  }

  *#usable(): Generator<PooledSession, void> {
    for (const pooled of this.#sessions) if (!pooled.isDraining && !pooled.session.closed && !pooled.session.destroyed) yield pooled;
  }

  /** A session with a place that is reserved at once, since others may wait for one at the same time. */
  #reserved(): PooledSession | undefined {
    const {maxSessions = Infinity} = this.#options;
    let inUse = 0;
    for (const pooled of this.#usable()) {
      const {streams, session} = pooled;
      const mayWait = ++inUse >= maxSessions;
      if (mayWait || streams < Math.max(1, session.remoteSettings.maxConcurrentStreams ?? 100)) {
        if (++pooled.streams === 1) session.ref();
        return pooled;
      }
    }
    return undefined;
  }

  #place(): Promise<PooledSession> {
    return new Promise((begin, fail) => {
      this.#waiting.push({begin, fail, previous: undefined, next: undefined});
      this.#grow();
    });
  }

  /** Gives places to those that wait, and opens a session for the rest. */
  #serve(): void {
    for (let first = this.#waiting.first; first; first = this.#waiting.first) {
      const pooled = this.#reserved();
      if (!pooled) return this.#grow();
      this.#waiting.remove(first);
      first.begin(pooled);
    }
  }

  #refuse(error: Error): void {
    const refused = [...this.#waiting];
    this.#waiting.clear();
    for (const {fail} of refused) fail(error);
  }

  #grow(): void {
    if (!this.#opening) this.#opened().catch(() => {});
  }

  #opened(): Promise<PooledSession> {
    const endedBefore = this.#ended;
    const begun = (pooled: PooledSession): PooledSession => {
      this.#opening = undefined;
      const {session} = pooled;
      if ((session.closed || session.destroyed) && !this.isConnected) this.#refuse(new Error('the server closed the connection'));
      this.#serve();
      return pooled;
    };
    const failed = (error: Error): never => {
      this.#opening = undefined;
      if (!this.isConnected || this.#ended === endedBefore) this.#refuse(error);
      else this.#serve();
      throw error;
    };
    return (this.#opening ??= this.#open().then(begun, failed));
  }

  async #open(): Promise<PooledSession> {
    const {open, clock, pings, idleMs = Infinity} = this.#options;
    const session = await open();
    const pooled: PooledSession = {session, streams: 0, isDraining: false};
    this.#sessions.add(pooled);
    session.once('goaway', () => {
      pooled.isDraining = true;
      this.#serve();
    });
    session.once('close', () => {
      this.#sessions.delete(pooled);
      this.#serve();
    });
    session.unref();
    if (pings) keepAlive(pooled, clock, pings, idleMs);
    if (this.#isDestroyed) session.destroy();
    return pooled;
  }

  /** A session without streams does not keep the process running. */
  #leave(pooled: PooledSession): void {
    pooled.streams--;
    this.#ended++;
    this.#serve();
    const {session, streams, isDraining} = pooled;
    if (streams > 0 || session.destroyed) return;
    if (isDraining) session.close();
    else session.unref();
  }
}

/** Has a session accept no more streams, and end with those that it has. */
const drain = (pooled: PooledSession): void => {
  pooled.isDraining = true;
  if (pooled.streams === 0) pooled.session.close();
};

/**
 * Pings a session periodically, and closes it when there is no answer: its streams would wait forever. One that had no
 * stream for `idleMs` is closed as well.
 */
const keepAlive = (pooled: PooledSession, clock: Clock, {everyMs, timeoutMs}: Pings, idleMs: number): void => {
  const {session} = pooled;
  let unusedMs = 0;
  let timer = clock.schedule(everyMs, ping);
  function ping() {
    if (session.destroyed) return;
    unusedMs = pooled.streams > 0 ? 0 : unusedMs + everyMs;
    if (unusedMs >= idleMs) return session.close();
    timer = clock.schedule(timeoutMs, () => session.destroy(new Error('the connection fell silent')));
    session.ping(() => {
      timer[Symbol.dispose]();
      if (!session.destroyed) timer = clock.schedule(everyMs, ping);
    });
  }
  session.once('close', () => timer[Symbol.dispose]());
};
