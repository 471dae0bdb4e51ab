// Relays requests that upgrade their connection (SPDY, WebSocket). After the backend's response the two sockets are
// joined, and end together.

import type {IncomingMessage} from 'node:http';
import type {Duplex} from 'node:stream';
import type {ApiResponse} from '#src/api/request.js';
import type {Clock} from '#src/base/clock.js';
import {beginRequest} from '#src/transport/begin-request.js';
import {Unreached, type Connections} from '#src/transport/http1/connections.js';
import {optionsOf, reasonOf, sentOf, limitTime, type RelayRequest} from './call.js';
import {responseHeaders} from './headers.js';
import {throttled} from './throttle.js';

/** An upgraded connection. */
export interface Upgraded {
  readonly socket: Duplex;
  /** The bytes received after the head. */
  readonly head: Buffer;
  /** The head of the response. */
  readonly answer: IncomingMessage;
}

/** The error of an upgrade that a backend refused, with its response. */
export class UpgradeRefused extends Error {
  override readonly name = 'UpgradeRefused';
  readonly answer: IncomingMessage;

  constructor(answer: IncomingMessage) {
    super(`unable to upgrade connection: status code ${answer.statusCode}`);
    this.answer = answer;
  }
}

/**
 * Requests an upgrade from a backend, on a separate connection. Rejects with `UpgradeRefused` when it refuses, or with
 * the reason why it was not reached; the connection is closed then.
 */
export const requestUpgrade = (connections: Connections, relayed: RelayRequest, protocol: string): Promise<Upgraded> =>
  connections.calls.run(
    () => sentOf(connections, relayed),
    () => sendUpgrade(connections, relayed, protocol),
    ({answer}) => ({status: answer.statusCode}),
  );

const sendUpgrade = (connections: Connections, relayed: RelayRequest, protocol: string): Promise<Upgraded> => {
  const hold = connections.clock.hold();
  const pending = new Promise<Upgraded>((resolve, reject) => {
    relayed.request.signal.throwIfAborted();
    const {headers = {}} = relayed;
    // The connection is never reused after an upgrade request.
    const {signal, ...options} = optionsOf(connections, {
      ...relayed,
      headers: {
        ...headers,
        connection: 'Upgrade',
        upgrade: protocol,
        'content-length': relayed.request.method === 'POST' || relayed.method === 'POST' ? '0' : undefined,
      },
    });
    const sent = beginRequest({...options, agent: connections.single});
    const abort = () => sent.destroy();
    signal?.addEventListener('abort', abort, {once: true});
    limitTime(connections, relayed, sent);
    sent.on('error', error => reject(reasonOf(relayed, error, sent)));
    sent.once('response', answer => {
      answer.once('close', () => sent.destroy());
      reject(new UpgradeRefused(answer));
    });
    sent.once('upgrade', (answer: IncomingMessage, socket: Duplex, head: Buffer) => {
      signal?.removeEventListener('abort', abort);
      if (signal?.aborted) socket.destroy();
      const {bytesPerSecond} = relayed;
      resolve({socket: bytesPerSecond ? throttled(socket, bytesPerSecond, connections.clock) : socket, head, answer});
    });
    sent.end();
  });
  return pending.finally(() => hold[Symbol.dispose]());
};

/**
 * Relays a request for an upgrade. When the backend accepts, its response is relayed unchanged and the two connections
 * are joined until either ends; a refusal of the backend is relayed as a response. Rejects when it was not reached or
 * did not respond.
 */
export const relayUpgrade = async (connections: Connections, relayed: RelayRequest): Promise<ApiResponse> => {
  const {request} = relayed;
  try {
    return joined(
      await requestUpgrade(
        connections,
        {...relayed, headers: {...handshake(relayed), ...relayed.headers}},
        String(request.headers['upgrade']),
      ),
      connections.clock,
    );
  } catch (error) {
    if (error instanceof UpgradeRefused) return refusedResponse(error);
    throw dialFailure(error as Error);
  }
};

/** The error of a connection for an upgrade that was not established. */
export const dialFailure = (error: Error): Error =>
  error instanceof Unreached ? new Unreached(`error dialing backend: ${error.message}`, {cause: error}) : error;

const ignore = () => {};

/** The headers that negotiate the upgrade, including those that are otherwise limited to one connection. */
const handshake = ({request: {headers}}: RelayRequest): Record<string, string | readonly string[]> =>
  Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value !== undefined && /^(sec-websocket-|x-stream-protocol-version$)/.test(name) ? [[name, value]] : [],
    ),
  );

/**
 * The response to a refused upgrade. A success is replaced by an error, since the client would otherwise wait for the
 * protocol.
 */
export const refusedResponse = ({answer}: UpgradeRefused): ApiResponse => {
  const status = answer.statusCode!;
  if (status < 400) {
    answer.destroy();
    throw new Error(`invalid upgrade response: status code ${status}`);
  }
  return {status, headers: responseHeaders(answer), body: {kind: 'stream', source: answer}};
};

/** The head of a response, unchanged. */
const headOf = ({statusCode, statusMessage, rawHeaders}: IncomingMessage): string => {
  const lines = [`HTTP/1.1 ${statusCode} ${statusMessage ?? ''}`.trimEnd()];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) lines.push(`${rawHeaders[index]}: ${rawHeaders[index + 1]}`);
  return `${lines.join('\r\n')}\r\n\r\n`;
};

const joined = ({socket: backend, head, answer}: Upgraded, clock: Clock): ApiResponse => ({
  status: answer.statusCode!,
  headers: {},
  body: {
    kind: 'upgrade',
    drop: () => void backend.destroy(),
    take(caller, sentAhead) {
      caller.write(Buffer.concat([Buffer.from(headOf(answer), 'latin1'), head]));
      if (sentAhead.length > 0) backend.write(sentAhead);
      join(caller, backend, clock);
    },
  },
});

/**
 * How long a peer may still read what was sent to it before its connection is closed: closing at once, with unread
 * input, would discard that.
 */
const closeTimeoutMs = 5000;

/**
 * Joins two connections: bytes are copied in both directions with backpressure, and both end when either does, after
 * pending bytes were sent.
 */
export const join = (one: Duplex, other: Duplex, clock: Clock): void => {
  const end = (): void => {
    for (const side of [one, other]) if (!side.destroyed && !side.writableEnded) side.end();
  };
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.on('error', ignore);
    from.pipe(to);
    from.once('end', end);
    from.once('close', end);
    from.once('finish', () => {
      to.unpipe(from);
      from.unpipe(to);
      from.resume();
      const closeTimer = clock.schedule(closeTimeoutMs, () => from.destroy());
      from.once('end', () => from.destroy());
      from.once('close', () => closeTimer[Symbol.dispose]());
      if (from.readableEnded) from.destroy();
    });
  }
  if (one.destroyed || other.destroyed) end();
};
