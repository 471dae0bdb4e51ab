import type {IncomingMessage, ServerResponse} from 'node:http';
import type {Socket} from 'node:net';
import {InTurns} from './in-turns.js';

/** The number of pipelined requests that begin in one turn of the event loop. */
const maxPerTurn = 32;

const ignore = () => {};

/**
 * HTTP/1.1 requests that were sent before the response to the previous one. As in the original each begins when that has been sent, and until none waits no
 * further ones are read: a connection never has more than one request in progress, however many a client sends at once.
 */
export class PipelinedRequests {
  readonly #turns = new InTurns(maxPerTurn);
  readonly #waiting = new WeakMap<Socket, number>();

  /** Calls `begin` at once for a request whose response is next, otherwise in its turn, and never if the connection has been closed by then. */
  begin({socket}: IncomingMessage, response: ServerResponse, begin: () => void): void {
    // A response that waits for the previous one has no socket yet.
    if (response.socket) return begin();
    parseFromStream(socket);
    this.#wait(socket, 1);
    response.once('socket', () => {
      this.#turns.add({begin, isGone: () => socket.destroyed || response.destroyed, of: socket});
      this.#wait(socket, -1);
    });
  }

  #wait(socket: Socket, change: number): void {
    const waiting = (this.#waiting.get(socket) ?? 0) + change;
    this.#waiting.set(socket, waiting);
    // Node resumes the socket after each request unless it has this mark.
    (socket as {_paused?: boolean})._paused = waiting > 0;
    if (waiting > 0) socket.pause();
    else socket.resume();
  }
}

/**
 * Makes the parser of a connection read from the stream, which can be paused, instead of from the handle, which costs less: otherwise pipelined requests
 * during backpressure would break the connection. A data listener has that effect.
 */
const parseFromStream = (socket: Socket): void => void socket.on('data', ignore).off('data', ignore);
