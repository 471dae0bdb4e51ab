// Opens SPDY sessions: an HTTP request whose connection is upgraded.

import type {IncomingMessage} from 'node:http';
import type {Socket} from 'node:net';
import type {Duplex} from 'node:stream';
import type {Clock} from '#src/base/clock.js';
import {beginRequest} from '#src/transport/begin-request.js';
import {targetOf, type Dial} from '#src/transport/dial.js';
import {requestError} from '#src/transport/error-words.js';
import {SpdySession} from './session.js';

export interface OpenSpdy {
  readonly url: string;
  /** The protocol of the streams. */
  readonly protocol: string;
  readonly dial: Dial;
  readonly clock: Clock;
  /** Ends the session. */
  readonly signal: AbortSignal;
}

/** The time limit of a server's answer. */
const timeoutMs = 30_000;
/** As much as is shown of a refusal. */
const maxRefusalBytes = 2048;

/** Opens a session. Rejects if the server is not reached, or with its status and text if it refuses. */
export const openSpdy = async ({url, protocol, dial, clock, signal}: OpenSpdy): Promise<SpdySession> => {
  signal.throwIfAborted();
  const connection = await dial({...targetOf(url), connectTimeoutMs: timeoutMs});
  const abort = (): void => void connection.destroy();
  signal.addEventListener('abort', abort);
  const timer = clock.schedule(timeoutMs, () => connection.destroy(new Error(`no answer from ${new URL(url).host} in time`)));
  try {
    signal.throwIfAborted();
    const {socket, head} = await upgraded(connection, url, protocol);
    const session = new SpdySession(socket, {side: 'client', head});
    void session.closed.then(() => signal.removeEventListener('abort', abort));
    return session;
  } catch (error) {
    signal.removeEventListener('abort', abort);
    connection.destroy();
    throw signal.aborted ? signal.reason : error;
  } finally {
    timer[Symbol.dispose]();
  }
};

const upgraded = (connection: Duplex, url: string, protocol: string): Promise<{readonly socket: Duplex; readonly head: Buffer}> =>
  new Promise((resolve, reject) => {
    const sent = beginRequest(url, {
      method: 'POST',
      headers: {connection: 'Upgrade', upgrade: 'SPDY/3.1', 'x-stream-protocol-version': protocol, 'content-length': '0'},
      createConnection: () => connection as Socket,
    });
    sent.once('upgrade', (_: IncomingMessage, socket: Duplex, head: Buffer) => resolve({socket, head}));
    sent.once('response', answer => {
      const {statusCode = 0, statusMessage = ''} = answer;
      let text = '';
      answer.setEncoding('utf8').on('data', (chunk: string) => {
        if (text.length < maxRefusalBytes) text += chunk.slice(0, maxRefusalBytes - text.length);
      });
      answer.once('close', () => reject(new Error(`unable to upgrade connection: ${text.trim() || `${statusCode} ${statusMessage}`}`)));
    });
    sent.on('error', error => reject(requestError(error, connection as Socket)));
    sent.end();
  });
