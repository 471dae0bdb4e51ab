import {Writable} from 'node:stream';
import {AgentError, type CommandStreams, type RunCommand} from '#src/api/node/agent.js';
import type {ApiRequest, ApiResponse} from '#src/api/request.js';
import {knownApiSuffixes} from '#src/api/naming.js';
import {channels, inputOf, message, type RequestedStreams} from '#src/serving/streams/channels.js';
import {negotiatedProtocol, refusedProtocols, isWebSocketRequest, type WebSocketClient} from '#src/serving/streams/websocket-server.js';
import type {SpdyStream} from '#src/transport/spdy/stream.js';
import type {StreamLimits} from './idle.js';
import {paced} from './paced.js';
import {TerminalSizes} from './terminal-sizes.js';
import {endingText, flushed, type Ending} from './outcome.js';
import {acceptedSpdy, waitForStreams, spdyVersion} from './spdy.js';
import {upgradeToWebSocket} from './upgrade.js';

const truthy = (query: URLSearchParams, ...names: readonly string[]): boolean =>
  names.some(name => ['1', 'true'].includes(query.get(name) ?? ''));

/** Returns the streams that a request selects. Throws if it selects none. */
export const requestedStreams = (query: URLSearchParams): RequestedStreams => {
  const tty = truthy(query, 'tty');
  const requested = {
    stdin: truthy(query, 'input', 'stdin'),
    stdout: truthy(query, 'output', 'stdout'),
    stderr: truthy(query, 'error', 'stderr') && !tty,
    tty,
  };
  if (!requested.stdin && !requested.stdout && !requested.stderr)
    throw new AgentError(400, 'you must specify at least 1 of stdin, stdout, stderr');
  return requested;
};

interface WebSocketForm {
  readonly version: number;
  readonly isText: boolean;
}

/** The WebSocket protocols by name, with their versions; those with text messages carry base64. */
const overWebSocket: ReadonlyMap<string, WebSocketForm> = new Map([
  ['', {version: 1, isText: false}],
  ...knownApiSuffixes.flatMap((suffix): [string, WebSocketForm][] => [
    [`v5.channel.${suffix}`, {version: 5, isText: false}],
    [`v4.channel.${suffix}`, {version: 4, isText: false}],
    [`v4.base64.channel.${suffix}`, {version: 4, isText: true}],
    [`channel.${suffix}`, {version: 1, isText: false}],
    [`base64.channel.${suffix}`, {version: 1, isText: true}],
  ]),
]);

/** Connects a client with a command, over SPDY or WebSocket. */
export const commandResponse = (
  request: ApiRequest,
  requested: RequestedStreams,
  running: RunCommand,
  limits: StreamLimits,
): ApiResponse => {
  if (isWebSocketRequest(request)) return byWebSocket(request, requested, running, limits);
  const version = spdyVersion(request, ['v5.channel', 'v4.channel', 'v3.channel', 'v2.channel', 'channel']);
  const kinds = [
    'error',
    ...(['stdin', 'stdout', 'stderr'] as const).filter(kind => requested[kind]),
    ...(requested.tty && hasSizes(version) ? ['resize'] : []),
  ];
  return acceptedSpdy(version, limits, session => {
    void waitForStreams(session, kinds, limits.clock).then(
      streams =>
        serveSpdy(streams, running, {
          requested,
          version: versionOf(version),
          closed: session.closed,
          close: () => session.close(),
        }),
      () => session.close(),
    );
  });
};

/** Clients of a terminal send its sizes from the third version of the protocol on. */
const hasSizes = (version: string): boolean => versionOf(version) >= 3;
const versionOf = (protocol: string): number => Number(/^v(\d)/.exec(protocol)?.[1] ?? 1);

const ended = async (running: RunCommand, streams: CommandStreams, signal: AbortSignal): Promise<Ending> => {
  try {
    return {code: await running(streams, signal)};
  } catch (error) {
    return {error};
  }
};

interface Serving {
  readonly requested: RequestedStreams;
  readonly version: number;
  readonly closed: Promise<unknown>;
  close(): void;
}

const serveSpdy = async (
  streams: ReadonlyMap<string, SpdyStream>,
  running: RunCommand,
  {requested, version, closed, close}: Serving,
): Promise<void> => {
  const closing = new AbortController();
  void closed.then(() => closing.abort());
  const [error, stdin, stdout, stderr, resize] = ['error', 'stdin', 'stdout', 'stderr', 'resize'].map(kind => streams.get(kind));
  const sizes = new TerminalSizes();
  resize?.on('data', (text: Buffer) => sizes.add(text));
  const ending = await ended(running, {stdin, stdout, stderr, tty: requested.tty, ...(resize ? {sizes} : {})}, closing.signal);
  sizes.end();
  error?.end(endingText(ending, version));
  for (const stream of streams.values()) stream.resume().end();
  await flushed([...streams.values()]);
  close();
};

const byWebSocket = (request: ApiRequest, requested: RequestedStreams, running: RunCommand, limits: StreamLimits): ApiResponse => {
  const protocol = negotiatedProtocol(request, [...overWebSocket.keys()]);
  if (protocol === undefined) return refusedProtocols();
  return upgradeToWebSocket(request, protocol, limits, client => serveWebSocket(client, running, requested, overWebSocket.get(protocol)!));
};

const outlet = (send: (bytes: Buffer) => Promise<void>): Writable =>
  new Writable({
    write(chunk: Buffer, _, done) {
      void send(chunk).then(() => done());
    },
  });

const serveWebSocket = async (
  client: WebSocketClient,
  running: RunCommand,
  requested: RequestedStreams,
  {version, isText}: WebSocketForm,
): Promise<void> => {
  const closing = new AbortController();
  client.onClose(() => closing.abort());
  const pace = paced(client);
  const send = (channel: number, bytes: Buffer) => pace.send(isText ? `${channel}${bytes.toString('base64')}` : message(channel, bytes));
  const input = inputOf(client, requested, isText);
  const outlets = {
    stdout: requested.stdout ? outlet(bytes => send(channels.stdout, bytes)) : undefined,
    stderr: requested.stderr ? outlet(bytes => send(channels.stderr, bytes)) : undefined,
  };
  // An empty message before any output shows the client that it is connected.
  void send(requested.stdout ? channels.stdout : requested.stderr ? channels.stderr : channels.error, Buffer.alloc(0));
  const sizes = new TerminalSizes();
  input.onResize(text => sizes.add(Buffer.from(text)));
  const ending = await ended(
    running,
    {stdin: requested.stdin ? input.stdin : undefined, ...outlets, tty: requested.tty, ...(requested.tty ? {sizes} : {})},
    closing.signal,
  );
  sizes.end();
  input.ignore();
  for (const stream of Object.values(outlets)) stream?.end();
  await flushed(Object.values(outlets).filter(stream => stream !== undefined));
  await send(channels.error, Buffer.from(endingText(ending, version)));
  await pace.close();
};
