import type {Readable} from 'node:stream';
import type {ApiResponse} from '#src/api/request.js';
import {internalError, StatusError, type Status} from '#src/api/status.js';
import type {Clock} from '#src/base/clock.js';
import {authority, type Backends} from '#src/transport/relay/backends.js';
import type {RelayRequest} from '#src/transport/relay/call.js';
import {upgraded, UpgradeRefused} from '#src/transport/relay/upgrade.js';
import {SpdySession} from '#src/transport/spdy/session.js';
import type {SpdyStream} from '#src/transport/spdy/stream.js';
import {openWebSocket, type WebSocketClient} from '#src/serving/websocket-server.js';
import {channels, inputOf, message, type Input, type Wanted} from './channels.js';
import {exited, outcome} from './outcome.js';
import {spdy} from './protocols.js';

export interface CommandRelay {
  readonly relayed: RelayRequest;
  readonly wanted: Wanted;
  /** The protocol the client speaks, and those that are offered to the agent in its place, best first. */
  readonly own: string;
  readonly agents: readonly string[];
  /** Told the code that stands for how it went: 200 for every command that came to its end, whatever that was. */
  ended(code: number): void;
}

const pingPeriodMs = 5000;
/** What an agent may say of how a command ended, or why it will not begin. */
const longestWord = 64 << 10;

/**
 * Lets a client who speaks WebSocket talk to a command by an agent who speaks SPDY. The client is told how it ended by a `Status` on the channel for that, also when the agent is not
 * reached; then he is waited for, so that he can read to the end.
 */
export const commandRelay = (backends: Backends, relay: CommandRelay): ApiResponse => {
  let dropped = () => {};
  return {
    status: 101,
    headers: {},
    body: {
      kind: 'upgrade',
      drop: () => dropped(),
      take(socket, head, keeps) {
        const {clock} = backends;
        dropped = () => void socket.destroy();
        openWebSocket(relay.relayed.request, {socket, head, protocol: relay.own, clock, keeps})
          .then(client => serve(backends, relay, client))
          .catch(() => socket.destroy());
      },
    },
  };
};

const serve = async (backends: Backends, relay: CommandRelay, client: WebSocketClient): Promise<void> => {
  const {wanted} = relay;
  const input = inputOf(client, wanted);
  const begins = wanted.stdout ? channels.stdout : wanted.stderr ? channels.stderr : channels.error;
  client.send(Buffer.from([begins]));
  const status = await run(backends, relay, client, input).catch((error: Error) => (error instanceof StatusError ? error.status : internalError(error).status));
  relay.ended(status.status === 'Success' || status.reason === exited ? 200 : (status.code ?? 500));
  input.ignore();
  client.send(message(channels.error, Buffer.from(JSON.stringify(status))));
  client.close();
};

/** Runs the command to its end, and tells how it ended. */
const run = async (backends: Backends, {relayed, wanted, agents}: CommandRelay, client: WebSocketClient, input: Input): Promise<Status> => {
  const {socket, head, answer} = await connected(backends, relayed, agents);
  client.onClose(() => socket.destroy());
  const session = new SpdySession(socket, {side: 'client', head});
  using _ = pinging(session, backends.clock);
  const version = /^v(\d)\./.exec(String(answer.headers['x-stream-protocol-version'] ?? ''))?.[1] ?? '1';
  const open = (kind: string): SpdyStream => session.open({streamtype: kind});

  const error = open('error');
  const told = wordOf(error);
  if (wanted.stdin) feed(input.stdin, open('stdin'));
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
    const word = await told;
    if (error.lost && word === '') throw new Error(`error reading from error stream: ${error.lost.message}`, {cause: error.lost});
    return outcome(word, Number(version) >= 4);
  } finally {
    session.close();
  }
};

const connected = async (backends: Backends, relayed: RelayRequest, agents: readonly string[]) => {
  const {to, path, request} = relayed;
  const asked = `error sending request: Post ${JSON.stringify(`${to.scheme}://${authority(to)}${path}`)}: `;
  // The request is this server's own: of the caller's nothing but who he is was to be known, and that is settled.
  const own = {...relayed, request: {method: 'POST', url: '/', headers: {}, caller: request.caller, remoteAddress: request.remoteAddress, signal: request.signal}, host: authority(to)};
  try {
    return await upgraded(backends, {...own, headers: {'x-forwarded-for': undefined, 'x-stream-protocol-version': agents}}, spdy);
  } catch (error) {
    if (!(error instanceof UpgradeRefused)) throw new Error(asked + (error as Error).message, {cause: error});
    const {answer} = error;
    const status = answer.statusCode!;
    if (status >= 300 && status < 400) {
      answer.destroy();
      throw new Error(`${asked}redirect not allowed`, {cause: error});
    }
    throw refusalIn(await wordOf(answer));
  }
};

/** What an agent means who will not: a `Status`, or something to read. */
const refusalIn = (text: string): Error => {
  try {
    const status = JSON.parse(text) as Status;
    if (status?.kind === 'Status') return new StatusError(status);
  } catch {
    // Something to read.
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

/** Gives a command what the client types, until either has enough. */
const feed = (stdin: Readable, stream: SpdyStream): void => {
  stdin.pipe(stream);
  stream.resume();
  stream.once('end', () => stream.end());
  stream.once('close', () => {
    stdin.unpipe(stream);
    stdin.resume();
  });
};

/** Gives the client what a command writes. Where the agent takes a stream away that is its end. */
const copy = async (stream: SpdyStream, channel: number, client: WebSocketClient): Promise<void> => {
  stream.end();
  for await (const chunk of stream as AsyncIterable<Buffer>) if (!client.send(message(channel, chunk))) await client.drained();
};

/** All that is said, or so much as one listens to. */
const wordOf = async (source: Readable): Promise<string> => {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of source as AsyncIterable<Buffer>) {
      if (length < longestWord) chunks.push(chunk);
      length += chunk.length;
    }
  } catch (error) {
    if (length === 0) throw new Error(`unable to read error from server response: ${(error as Error).message}`, {cause: error});
  }
  return Buffer.concat(chunks).toString();
};
