// HTTP/2 sessions to one server, shared by streamed responses. A session is in use, draining (after GOAWAY, no new streams) or closed. Calls without
// streaming use HTTP/1.1.

import http2, {type ClientHttp2Session, type ClientHttp2Stream, type OutgoingHttpHeaders} from 'node:http2';
import {isIP} from 'node:net';
import {type ConnectionOptions, connect} from 'node:tls';
import type {Clock} from '#src/base/clock.js';
import type {HttpHead, StreamSink} from './dispatch-request.js';

export interface StreamRequest {
  readonly method: string;
  readonly path: string;
  /** Alternating names and values; names may repeat. */
  readonly headers: readonly string[];
  readonly headersTimeout: number;
}

export interface SessionOptions {
  readonly clock: Clock;
  readonly tls: ConnectionOptions;
  readonly connectTimeoutMs: number;
  /** The interval of pings on an idle connection, which is closed when there is no response within half of it. */
  readonly pingMs: number;
}

/** The server does not support HTTP/2. */
export class NoHttp2 extends Error {
  override readonly name = 'NoHttp2';
}

/** One session, and the number of its open streams. */
interface PooledSession {
  readonly session: ClientHttp2Session;
  streams: number;
}

/** The receive windows; the default of 64 KiB would let hundreds of watches wait for each other. */
const windows = {stream: 1 << 20, session: 16 << 20};

/**
 * Streamed responses over HTTP/2: many streams share a connection. A session that received GOAWAY keeps its streams and gets no more; one that does not
 * respond to pings is closed, so that no stream hangs forever.
 */
export class StreamSessions {
  readonly #origin: URL;
  readonly #options: SessionOptions;
  readonly #sessions = new Set<PooledSession>();
  #opening: Promise<PooledSession> | undefined;
  #isClosed = false;

  constructor(origin: string, options: SessionOptions) {
    this.#origin = new URL(origin);
    this.#options = options;
  }

  /** Runs a request with a sink. Rejects with `NoHttp2` if the server does not support it. */
  async open(
    request: StreamRequest,
    signal: AbortSignal | undefined,
    sink: StreamSink,
  ): Promise<(HttpHead & {readonly body: Buffer}) | undefined> {
    const pooled = await this.#place();
    const stream = opening(pooled, () => {
      signal?.throwIfAborted();
      return pooled.session.request(fieldsOf(request), {endStream: true});
    });
    return answered(stream, request.headersTimeout, signal, sink);
  }

  /** Connects unless connected. Rejects with `NoHttp2` if the server does not support HTTP/2. */
  async ready(): Promise<void> {
    for (const {session} of this.#sessions) if (!session.closed && !session.destroyed) return;
    await this.#opened();
  }

  /** Opens no more streams; open ones continue. */
  close(): void {
    this.#isClosed = true;
    for (const {session} of this.#sessions) session.close();
  }

  destroy(): void {
    this.#isClosed = true;
    for (const {session} of this.#sessions) session.destroy();
  }

  /** Returns a session with a reserved place: others may wait for one at the same time. */
  async #place(): Promise<PooledSession> {
    for (;;) {
      for (const pooled of this.#sessions) if (reservePlace(pooled)) return pooled;
      const pooled = await this.#opened();
      if (reservePlace(pooled)) return pooled;
      if (pooled.session.closed || pooled.session.destroyed) throw new Error('the server closed the connection');
    }
  }

  #opened(): Promise<PooledSession> {
    return (this.#opening ??= this.#connect().finally(() => {
      this.#opening = undefined;
    }));
  }

  async #connect(): Promise<PooledSession> {
    const session = await opened(this.#origin, this.#options);
    const pooled: PooledSession = {session, streams: 0};
    this.#sessions.add(pooled);
    session.setLocalWindowSize(windows.session);
    session.once('goaway', () => this.#sessions.delete(pooled));
    session.once('close', () => this.#sessions.delete(pooled));
    keepAlive(session, this.#options);
    if (this.#isClosed) session.close();
    return pooled;
  }
}

const reservePlace = (pooled: PooledSession): boolean => {
  const {session, streams} = pooled;
  if (session.closed || session.destroyed || streams >= Math.max(1, session.remoteSettings.maxConcurrentStreams ?? 100)) return false;
  pooled.streams++;
  return true;
};

/** Opens a stream on the reserved place, which is released when the stream ends. */
const opening = (pooled: PooledSession, open: () => ClientHttp2Stream): ClientHttp2Stream => {
  try {
    return open().once('close', () => {
      pooled.streams--;
    });
  } catch (error) {
    pooled.streams--;
    throw error;
  }
};

const opened = ({origin, hostname, port}: URL, {tls, connectTimeoutMs}: SessionOptions): Promise<ClientHttp2Session> =>
  new Promise((resolve, reject) => {
    const host = hostname.replace(/^\[|\]$/g, '');
    const servername = tls.servername ?? (isIP(host) ? '' : host);
    const socket = connect({...tls, host, port: Number(port || 443), servername, ALPNProtocols: ['h2', 'http/1.1']});
    socket.once('error', reject);
    socket.setTimeout(connectTimeoutMs, () => socket.destroy(new Error('connection timed out')));
    socket.once('secureConnect', () => {
      if (socket.alpnProtocol !== 'h2') {
        socket.destroy();
        return reject(new NoHttp2('the server does not speak HTTP/2'));
      }
      const session = http2.connect(origin, {
        createConnection: () => socket,
        settings: {initialWindowSize: windows.stream, enablePush: false},
      });
      session.on('error', reject);
      // The maximum number of streams is known only then.
      session.once('remoteSettings', () => {
        socket.setTimeout(0);
        resolve(session);
      });
      session.once('close', () => reject(new Error('the server closed the connection')));
    });
  });

/** Closes a session whose server does not respond to pings: its streams would wait forever. */
const keepAlive = (session: ClientHttp2Session, {clock, pingMs}: SessionOptions): void => {
  let timer = clock.schedule(pingMs, ping);
  function ping() {
    if (session.destroyed) return;
    timer = clock.schedule(pingMs / 2, () => session.destroy(new Error('the connection fell silent')));
    session.ping(() => {
      timer[Symbol.dispose]();
      if (!session.destroyed) timer = clock.schedule(pingMs, ping);
    });
  }
  session.once('close', () => timer[Symbol.dispose]());
};

const fieldsOf = ({method, path, headers}: StreamRequest): OutgoingHttpHeaders => {
  const fields: Record<string, string | string[]> = {':method': method, ':path': path};
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index]!;
    const value = headers[index + 1]!;
    const before = fields[name];
    fields[name] = before === undefined ? value : [...(Array.isArray(before) ? before : [before]), value];
  }
  return fields;
};

const answered = (
  stream: ClientHttp2Stream,
  headersTimeout: number,
  signal: AbortSignal | undefined,
  sink: StreamSink,
): Promise<(HttpHead & {readonly body: Buffer}) | undefined> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let head: HttpHead | undefined;
    let failure: unknown;
    let isWhole = false;
    const cancel = () => {
      reject(signal!.reason);
      stream.destroy();
    };
    signal?.addEventListener('abort', cancel, {once: true});
    stream.setTimeout(headersTimeout, () => stream.destroy(new Error('timeout awaiting response headers')));
    stream.on('response', headers => {
      stream.setTimeout(0);
      head = {status: headers[':status'] ?? 0, header: name => headers[name]?.toString()};
      if (head.status !== 200) return;
      sink.begin?.(head);
      resolve(undefined);
    });
    stream.on('data', (chunk: Buffer) => (head?.status === 200 ? signal?.aborted || sink.data(chunk) : chunks.push(chunk)));
    stream.on('end', () => {
      isWhole = !stream.aborted;
    });
    stream.on('error', error => {
      failure = error;
    });
    stream.on('close', () => {
      signal?.removeEventListener('abort', cancel);
      if (signal?.aborted) return;
      const error = failure ?? (isWhole && !stream.rstCode ? undefined : new Error('the server cut the stream off'));
      if (head?.status === 200) sink.end(error);
      else if (error !== undefined || !head) reject(error ?? new Error('the server sent no answer'));
      else resolve({...head, body: Buffer.concat(chunks)});
    });
  });
