/**
 * Ends HTTP/2 sessions that send much and ask for little (RFC 9113 §10.5): Node handles WINDOW_UPDATE, PRIORITY, PING,
 * SETTINGS and empty DATA frames without a call, so what they are is not seen, but what a session has received is, and
 * which of it was requests and bodies.
 */
import {constants, type ServerHttp2Session, type ServerHttp2Stream} from 'node:http2';
import type {Socket} from 'node:net';
import type {Clock} from '#src/base/clock.js';

/** How often the sessions are looked at. */
const periodMs = 200;
/**
 * What a session may receive at first, and per second, besides requests and bodies: 20,000 of the smallest frames, and
 * 5,000.
 */
const initialBytes = 256 << 10;
const bytesPerSecond = 64 << 10;
/** What it may save. */
const mostBytes = 4 << 20;
/** What a stream is good for, besides its headers: frames about its response. */
const streamBytes = 4 << 10;
/**
 * What a stream with a body is good for, which may have been sent before the client learns that nobody wants it: the
 * initial window.
 */
const bodyBytes = 64 << 10;
/**
 * Of the bytes that are sent, the share that a client may take to acknowledge them: two frames for each that it gets.
 */
const acknowledging = 0.5;

interface SessionInput {
  readonly session: ServerHttp2Session;
  readonly socket: Socket;
  /** What the session may still receive, when it was looked at. */
  budget: number;
  at: number;
  read: number;
  written: number;
}

export class InputLimits {
  readonly #clock: Pick<Clock, 'monotonic' | 'schedule'>;
  readonly #end: (session: ServerHttp2Session, code: number) => void;
  readonly #sessions = new Map<ServerHttp2Session, SessionInput>();
  #isWatching = false;

  /** `end` ends a session with a code. */
  constructor(clock: Pick<Clock, 'monotonic' | 'schedule'>, end: (session: ServerHttp2Session, code: number) => void) {
    this.#clock = clock;
    this.#end = end;
  }

  follow(session: ServerHttp2Session, socket: Socket): void {
    this.#sessions.set(session, {session, socket, budget: initialBytes, at: this.#clock.monotonic(), read: 0, written: 0});
    session.once('close', () => this.#sessions.delete(session));
    if (!this.#isWatching) this.#watch();
  }

  /** Counts the request of a stream, and its body as that arrives. */
  count(stream: ServerHttp2Stream, flags: number, rawHeaders: readonly string[]): void {
    const input = this.#sessions.get(stream.session as ServerHttp2Session);
    if (!input) return;
    input.budget += streamBytes;
    for (const text of rawHeaders) input.budget += text.length;
    if (flags & constants.NGHTTP2_FLAG_END_STREAM) return;
    input.budget += bodyBytes;
    const push = stream.push.bind(stream);
    stream.push = (chunk: Buffer | null, encoding?: BufferEncoding) => {
      if (chunk) input.budget += chunk.length;
      return push(chunk, encoding);
    };
  }

  #watch(): void {
    this.#isWatching = true;
    this.#clock.schedule(periodMs, () => {
      this.#isWatching = false;
      const now = this.#clock.monotonic();
      for (const input of this.#sessions.values()) if (isFlood(input, now)) this.#end(input.session, constants.NGHTTP2_ENHANCE_YOUR_CALM);
      if (this.#sessions.size > 0) this.#watch();
    });
  }
}

/** Takes what was received since the last look from the budget; returns whether that was too much. */
const isFlood = (input: SessionInput, now: number): boolean => {
  const {bytesRead} = input.socket;
  const received = bytesRead - input.read;
  if (received === 0) return false;
  input.budget = Math.min(input.budget + ((now - input.at) / 1000) * bytesPerSecond, mostBytes + received) - received;
  input.at = now;
  input.read = bytesRead;
  if (input.budget >= 0) return false;
  const {bytesWritten} = input.socket;
  input.budget = Math.min(input.budget + (bytesWritten - input.written) * acknowledging, mostBytes);
  input.written = bytesWritten;
  return input.budget < 0;
};
