import {request as begin, type IncomingMessage} from 'node:http';
import type {Duplex} from 'node:stream';
import type {ApiResponse} from '#src/api/request.js';
import type {Clock} from '#src/base/clock.js';
import {Unreached, type Backends} from './backends.js';
import {optionsOf, reasonOf, sentOf, within, type RelayRequest} from './call.js';
import {answerHeaders} from './headers.js';

/** A connection that speaks the protocol that was asked for. */
export interface Upgraded {
  readonly socket: Duplex;
  /** What came behind the head already. */
  readonly head: Buffer;
  /** The head of the answer. */
  readonly answer: IncomingMessage;
}

/** An upgrade that a backend turned down, with what it says. */
export class UpgradeRefused extends Error {
  override readonly name = 'UpgradeRefused';
  readonly answer: IncomingMessage;

  constructor(answer: IncomingMessage) {
    super(`unable to upgrade connection: status code ${answer.statusCode}`);
    this.answer = answer;
  }
}

/** Asks a backend to speak another protocol, on a connection of its own. Rejects with `UpgradeRefused` when it will not, or with why it was not reached; no connection is kept then. */
export const upgraded = (backends: Backends, relayed: RelayRequest, protocol: string): Promise<Upgraded> =>
  backends.calls.run(() => sentOf(relayed), () => requestUpgrade(backends, relayed, protocol), ({answer}) => ({status: answer.statusCode}));

const requestUpgrade = (backends: Backends, relayed: RelayRequest, protocol: string): Promise<Upgraded> => {
  const hold = backends.clock.hold();
  const pending = new Promise<Upgraded>((resolve, reject) => {
    relayed.request.signal.throwIfAborted();
    const {headers = {}} = relayed;
    // What follows on this connection is no answer to anybody else: it is never kept.
    const {signal, ...options} = optionsOf({...relayed, headers: {...headers, connection: 'Upgrade', upgrade: protocol, 'content-length': relayed.request.method === 'POST' || relayed.method === 'POST' ? '0' : undefined}});
    const sent = begin({...options, agent: backends.single});
    const abort = () => sent.destroy();
    signal?.addEventListener('abort', abort, {once: true});
    within(backends, relayed, sent);
    sent.on('error', error => reject(reasonOf(relayed, error)));
    sent.once('response', answer => {
      answer.once('close', () => sent.destroy());
      reject(new UpgradeRefused(answer));
    });
    sent.once('upgrade', (answer: IncomingMessage, socket: Duplex, head: Buffer) => {
      signal?.removeEventListener('abort', abort);
      if (signal?.aborted) socket.destroy();
      resolve({socket, head, answer});
    });
    sent.end();
  });
  return pending.finally(() => hold[Symbol.dispose]());
};

/**
 * Passes a request for another protocol on. When the backend agrees its answer goes back as it is and the two connections become one, until either ends; a refusal of the backend is
 * passed on as an answer. Rejects when it was not reached, or answered neither so nor so.
 */
export const relayUpgrade = async (backends: Backends, relayed: RelayRequest): Promise<ApiResponse> => {
  const {request} = relayed;
  try {
    return joined(await upgraded(backends, {...relayed, headers: {...handshake(relayed), ...relayed.headers}}, String(request.headers['upgrade'])), backends.clock);
  } catch (error) {
    if (error instanceof UpgradeRefused) return refusedResponse(error);
    throw dialled(error as Error);
  }
};

/** A connection that was to speak another protocol and was not made. */
export const dialled = (error: Error): Error => (error instanceof Unreached ? new Unreached(`error dialing backend: ${error.message}`, {cause: error}) : error);

const ignore = () => {};

/** Headers in which the two ends agree on the protocol's particulars, though one of them may be called a header of the connection. */
const handshake = ({request: {headers}}: RelayRequest): Record<string, string | readonly string[]> =>
  Object.fromEntries(Object.entries(headers).flatMap(([name, value]) => (value !== undefined && /^(sec-websocket-|x-stream-protocol-version$)/.test(name) ? [[name, value]] : [])));

/** The answer of a backend that will not. Where it is no error the caller would wait for a protocol that does not come. */
export const refusedResponse = ({answer}: UpgradeRefused): ApiResponse => {
  const status = answer.statusCode!;
  if (status < 400) {
    answer.destroy();
    throw new Error(`invalid upgrade response: status code ${status}`);
  }
  return {status, headers: answerHeaders(answer), body: {kind: 'stream', source: answer}};
};

/** The head of an answer as it came. */
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

/** How long who is hung up on has to read what was sent to him: hanging up on what he says meanwhile would take it from him. */
const closeTimeoutMs = 5000;

/** Makes one connection of two: bytes go both ways no faster than they are taken, and both end when either does, after what was on its way to the other is sent. */
export const join = (one: Duplex, other: Duplex, clock: Clock): void => {
  const end = (): void => {
    for (const side of [one, other]) if (!side.destroyed && !side.writableEnded) side.end();
  };
  for (const [from, to] of [[one, other], [other, one]] as const) {
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
