/**
 * Limits the HTTP/2 streams that clients open (RFC 9113 §10.5): in one turn of the event loop only a few requests
 * begin, those that were reset meanwhile never do, and a session that resets many in a short time is ended
 * (ENHANCE_YOUR_CALM).
 */
import {constants, type ServerHttp2Session, type ServerHttp2Stream} from 'node:http2';
import type {Clock} from '#src/base/clock.js';
import {PacedActions} from './paced-actions.js';

/** The number of requests that begin in one turn of the event loop; others wait for the next. */
const maxPerTurn = 32;
/** The number of unanswered streams that a session may reset within `windowMs`. */
const maxResets = 200;
const windowMs = 1000;

interface SessionStreams {
  open: number;
  /** The unanswered streams that were reset in the current window. */
  resets: number;
  since: number;
}

export class StreamLimits {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #turns = new PacedActions(maxPerTurn);
  readonly #sessions = new WeakMap<ServerHttp2Session, SessionStreams>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** The number of open streams of a session. */
  open(session: ServerHttp2Session): number {
    return this.#sessions.get(session)?.open ?? 0;
  }

  /**
   * Calls `begin` now or in a later turn, in the order of the calls; never for a stream that has been closed by then.
   */
  begin(stream: ServerHttp2Stream, begin: () => void): void {
    const session = stream.session as ServerHttp2Session;
    let streams = this.#sessions.get(session);
    if (!streams) this.#sessions.set(session, (streams = {open: 0, resets: 0, since: 0}));
    streams.open++;
    stream.on('close', () => this.#closed(session, streams, stream));
    const isNow = this.#turns.add({begin, isGone: () => stream.aborted || stream.destroyed || stream.closed, of: stream});
    if (!isNow) stream.on('error', () => undefined); // No other error listener exists yet.
  }

  #closed(session: ServerHttp2Session, streams: SessionStreams, {rstCode, headersSent}: ServerHttp2Stream): void {
    streams.open--;
    if (rstCode === constants.NGHTTP2_NO_ERROR || headersSent || session.destroyed) return;
    const now = this.#clock.monotonic();
    if (streams.resets === 0 || now - streams.since > windowMs) {
      streams.since = now;
      streams.resets = 1;
    } else if (++streams.resets > maxResets) session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
  }
}
