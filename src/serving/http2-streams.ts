/**
 * Bounds what clients can ask for by opening streams of HTTP/2 (RFC 9113 §10.5): requests of one turn of the event loop begin a few at a time, those that were reset meanwhile never do, and a
 * session that resets many in a short time is ended (ENHANCE_YOUR_CALM).
 */
import {constants, type ServerHttp2Session, type ServerHttp2Stream} from 'node:http2';
import type {Clock} from '#src/base/clock.js';
import {InTurns} from './in-turns.js';

/** How many requests begin in one turn of the event loop; more wait for the next. */
const mostInTurn = 32;
/** How many unanswered streams a session may reset within `windowMs`. */
const mostResets = 200;
const windowMs = 1000;

interface SessionStreams {
  open: number;
  /** Unanswered streams that were reset, since when. */
  resets: number;
  since: number;
}

export class StreamLimits {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #turns = new InTurns(mostInTurn);
  readonly #sessions = new WeakMap<ServerHttp2Session, SessionStreams>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** How many streams a session has open. */
  open(session: ServerHttp2Session): number {
    return this.#sessions.get(session)?.open ?? 0;
  }

  /** Calls `begin` now or in a later turn, in the order of the calls; never for a stream that is gone by then. */
  begin(stream: ServerHttp2Stream, begin: () => void): void {
    const session = stream.session as ServerHttp2Session;
    let streams = this.#sessions.get(session);
    if (!streams) this.#sessions.set(session, (streams = {open: 0, resets: 0, since: 0}));
    streams.open++;
    stream.once('close', () => this.#closed(session, streams, stream));
    const isNow = this.#turns.add({begin, isGone: () => stream.aborted || stream.destroyed || stream.closed});
    if (!isNow) stream.on('error', () => undefined); // Nobody else listens yet.
  }

  #closed(session: ServerHttp2Session, streams: SessionStreams, {rstCode, headersSent}: ServerHttp2Stream): void {
    streams.open--;
    if (rstCode === constants.NGHTTP2_NO_ERROR || headersSent || session.destroyed) return;
    const now = this.#clock.monotonic();
    if (streams.resets === 0 || now - streams.since > windowMs) {
      streams.since = now;
      streams.resets = 1;
    } else if (++streams.resets > mostResets) session.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
  }
}
