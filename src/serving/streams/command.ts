// Relays remote commands between WebSocket clients (protocol version 5) and agents that support only SPDY, and
// translates the result. Port-forward and older protocols are not translated: their bytes are relayed as they are.

import type {Readable} from 'node:stream';
import type {ApiResponse} from '#src/api/request.js';
import {internalError, StatusError, type Status} from '#src/api/status.js';
import type {Clock} from '#src/base/clock.js';
import {authority} from '#src/transport/dial.js';
import type {Connections} from '#src/transport/http1/connections.js';
import type {RelayRequest} from '#src/transport/relay/call.js';
import {requestUpgrade, UpgradeRefused} from '#src/transport/relay/upgrade.js';
import {SpdySession} from '#src/transport/spdy/session.js';
import type {SpdyStream} from '#src/transport/spdy/stream.js';
import {openWebSocket, type WebSocketClient} from './websocket-server.js';
import {channels, inputOf, message, type Input, type RequestedStreams} from './channels.js';
import {nonZeroExitCode, outcome} from './outcome.js';
import {spdy} from './protocols.js';

export interface CommandRelay {
  readonly relayed: RelayRequest;
  readonly wanted: RequestedStreams;
  /** The client's protocol, and those offered to the agent instead, best first. */
  readonly own: string;
  readonly agents: readonly string[];
  /** Called with the code of the result: 200 for every command that ended, whatever its exit code. */
  ended(code: number): void;
}

const pingPeriodMs = 5000;
/** The size limit of an agent's message about a command's end or refusal. */
const maxMessageBytes = 64 << 10;

/**
 * Relays a command between a WebSocket client and a SPDY agent. The client receives the result as a `Status` on the
 * error channel, also when the agent is not reached; the connection is closed only after the client could read it.
 */
export const commandRelay = (backends: Connections, relay: CommandRelay): ApiResponse => {
  let dropped = () => {};
  return {
    status: 101,
    headers: {},
    body: {
      kind: 'upgrade',
      drop: () => dropped(),
      take(socket, head, accountBuffer) {
        const {clock} = backends;
        dropped = () => void socket.destroy();
        openWebSocket(relay.relayed.request, {socket, head, protocol: relay.own, clock, accountBuffer})
          .then(client => serve(backends, relay, client))
          .catch(() => socket.destroy());
      },
    },
  };
};

const serve = async (backends: Connections, relay: CommandRelay, client: WebSocketClient): Promise<void> => {
  const {wanted} = relay;
  const input = inputOf(client, wanted);
  const begins = wanted.stdout ? channels.stdout : wanted.stderr ? channels.stderr : channels.error;
  client.send(Buffer.from([begins]));
  const status = await run(backends, relay, client, input).catch((error: Error) =>
    error instanceof StatusError ? error.status : internalError(error).status,
  );
  relay.ended(status.status === 'Success' || status.reason === nonZeroExitCode ? 200 : (status.code ?? 500));
  input.ignore();
  client.send(message(channels.error, Buffer.from(JSON.stringify(status))));
  client.close();
};

/** Runs the command to its end, and reports its result. */
const run = async (
  backends: Connections,
  {relayed, wanted, agents}: CommandRelay,
  client: WebSocketClient,
  input: Input,
): Promise<Status> => {
  const {socket, head, answer} = await connected(backends, relayed, agents);
  client.onClose(() => socket.destroy());
  const session = new SpdySession(socket, {side: 'client', head});
  using _ = pinging(session, backends.clock);
  const version = /^v(\d)\./.exec(String(answer.headers['x-stream-protocol-version'] ?? ''))?.[1] ?? '1';
  const open = (kind: string): SpdyStream => session.open({streamtype: kind});

  const error = open('error');
  const finalText = readText(error);
  if (wanted.stdin) copyInput(input.stdin, open('stdin'));
  const outputs = [
    ...(wanted.stdout ? [[channels.stdout, open('stdout')] as const] : []),
    ...(wanted.stderr && !wanted.tty ? [[channels.stderr, open('stderr')] as const] : []),
  ];
  if (wanted.tty && Number(version) >= 3) {
    const sizes = open('resize').resume();
    input.onResize(size => void sizes.write(size));
  }
  error.end();
  try {
    await Promise.all(outputs.map(([channel, stream]) => copy(stream, channel, client)));
    const text = await finalText;
    if (error.lost && text === '') throw new Error(`error reading from error stream: ${error.lost.message}`, {cause: error.lost});
    return outcome(text, Number(version) >= 4);
  } finally {
    session.close();
  }
};

const connected = async (backends: Connections, relayed: RelayRequest, agents: readonly string[]) => {
  const {to, path, request} = relayed;
  const prefix = `error sending request: Post ${JSON.stringify(`${to.scheme}://${authority(to)}${path}`)}: `;
  // This is the server's own request: the client's identity has been used for authorization, and none of its headers are sent.
  const own = {
    ...relayed,
    request: {method: 'POST', url: '/', headers: {}, caller: request.caller, remoteAddress: request.remoteAddress, signal: request.signal},
    host: authority(to),
  };
  try {
    return await requestUpgrade(backends, {...own, headers: {'x-forwarded-for': undefined, 'x-stream-protocol-version': agents}}, spdy);
  } catch (error) {
    if (!(error instanceof UpgradeRefused)) throw new Error(prefix + (error as Error).message, {cause: error});
    const {answer} = error;
    const status = answer.statusCode!;
    if (status >= 300 && status < 400) {
      answer.destroy();
      throw new Error(`${prefix}redirect not allowed`, {cause: error});
    }
    throw refusalIn(await readText(answer));
  }
};

/** The error of an agent's refusal: a `Status` or a text. */
const refusalIn = (text: string): Error => {
  try {
    const status = JSON.parse(text) as Status;
    if (status?.kind === 'Status') return new StatusError(status);
  } catch {
    // A text, not a Status.
  }
  return new Error(`unable to upgrade connection: ${text.trim()}`);
};

const pinging = (session: SpdySession, clock: Clock): Disposable => {
  const ping = () => {
    session.ping();
    timer = clock.schedule(pingPeriodMs, ping);
  };
  let timer = clock.schedule(pingPeriodMs, ping);
  return {[Symbol.dispose]: () => timer[Symbol.dispose]()};
};

/** Copies the client's input to a command until either side ends. */
const copyInput = (stdin: Readable, stream: SpdyStream): void => {
  stdin.pipe(stream);
  stream.resume();
  stream.once('end', () => stream.end());
  stream.once('close', () => {
    stdin.unpipe(stream);
    stdin.resume();
  });
};

/** Copies the output of a command to the client. A reset of the stream counts as its end. */
const copy = async (stream: SpdyStream, channel: number, client: WebSocketClient): Promise<void> => {
  stream.end();
  for await (const chunk of stream as AsyncIterable<Buffer>) if (!client.send(message(channel, chunk))) await client.drained();
};

/** Reads a text, up to the limit. */
const readText = async (source: Readable): Promise<string> => {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of source as AsyncIterable<Buffer>) {
      if (length < maxMessageBytes) chunks.push(chunk);
      length += chunk.length;
    }
  } catch (error) {
    if (length === 0) throw new Error(`unable to read error from server response: ${(error as Error).message}`, {cause: error});
  }
  return Buffer.concat(chunks).toString();
};
