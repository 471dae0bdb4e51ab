import {Duplex, type Writable} from 'node:stream';
import {AgentError, type NodeAgent} from '#src/api/node/agent.js';
import type {ApiRequest, ApiResponse} from '#src/api/request.js';
import {knownApiSuffixes} from '#src/api/naming.js';
import {confineErrors} from '#src/base/emitters/confined.js';
import type {StreamLimits} from './idle.js';
import {messageOf} from '#src/base/message.js';
import {contentOf, maxTextBytes} from '#src/serving/streams/channels.js';
import {negotiatedProtocol, refusedProtocols, isWebSocketRequest, type WebSocketClient} from '#src/serving/streams/websocket-server.js';
import type {SpdyStream} from '#src/transport/spdy/stream.js';
import {paced} from './paced.js';
import {acceptedSpdy, spdyVersion} from './spdy.js';
import {upgradeToWebSocket} from './upgrade.js';

type Pod = Parameters<NodeAgent['listener']>[0];

const protocols = knownApiSuffixes.flatMap(suffix => [`v4.channel.${suffix}`, `v4.base64.channel.${suffix}`]);

/** The maximum of ports over one WebSocket, whose channel is one byte. */
const maxPorts = 127;

/** Connects a client with ports of a pod, over SPDY, or over WebSocket with the ports in the query. */
export const portsResponse = (
  request: ApiRequest,
  query: URLSearchParams,
  pod: Pod,
  agent: NodeAgent,
  limits: StreamLimits,
): ApiResponse => {
  if (isWebSocketRequest(request))
    return byWebSocket(request, portsIn(query), (port, connection, error) => forward(agent, pod, port, connection, error), limits);
  return acceptedSpdy(spdyVersion(request, ['portforward']), limits, session => {
    const waiting = new Map<string, SpdyStream>();
    session.onStream(stream => {
      const {streamtype: [kind] = [], requestid: [id = ''] = [], port: [port] = []} = stream.headers;
      if (kind === 'error') {
        waiting.set(id, stream.resume());
        return void stream.once('close', () => {
          if (waiting.get(id) === stream) waiting.delete(id);
        });
      }
      const error = waiting.get(id);
      waiting.delete(id);
      if (kind !== 'data' || !error) return void stream.destroy();
      stream.once('close', () => error.end());
      void forward(agent, pod, Number(port), stream, error);
    });
  });
};

/** Connects a stream with a listener in the pod, or writes the error that there is none. */
const forward = async (agent: NodeAgent, pod: Pod, port: number, connection: Duplex, error: Writable): Promise<void> => {
  try {
    await agent.listener(pod, port)(connection);
  } catch (cause) {
    error.end(`error forwarding port ${port} to pod ${pod.namespace}/${pod.pod}: ${messageOf(cause)}`);
    connection.end();
    connection.resume();
  }
};

const portsIn = (query: URLSearchParams): readonly number[] => {
  const ports = query
    .getAll('port')
    .flatMap(text => text.split(','))
    .map(text => (/^\d{1,5}$/.test(text) ? Number(text) : 0));
  if (ports.length === 0) throw new AgentError(400, 'query parameter "port" is required');
  if (ports.length > maxPorts) throw new AgentError(400, `query parameter "port" has more than ${maxPorts} ports`);
  if (ports.some(port => port < 1 || port > 65_535)) throw new AgentError(400, `query parameter "port" must be a port number`);
  return ports;
};

type Forward = (port: number, connection: Duplex, error: Writable) => Promise<void>;

const byWebSocket = (request: ApiRequest, ports: readonly number[], forwardTo: Forward, limits: StreamLimits): ApiResponse => {
  const protocol = negotiatedProtocol(request, ['', ...protocols]);
  if (protocol === undefined) return refusedProtocols();
  return upgradeToWebSocket(request, protocol, limits, client => serve(client, ports, protocol.includes('base64'), forwardTo));
};

/** One channel of a client as a connection, which ends only with the WebSocket. */
class Channel extends Duplex {
  readonly #client: WebSocketClient;
  readonly #send: (bytes: Buffer) => Promise<void>;

  constructor(client: WebSocketClient, send: (bytes: Buffer) => Promise<void>) {
    super({allowHalfOpen: true});
    this.#client = client;
    this.#send = send;
    confineErrors(this).on('error', () => {});
  }

  override _read(): void {
    this.#client.pause(false);
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    void this.#send(chunk).then(() => done());
  }

  receive(bytes: Buffer): void {
    if (!this.destroyed && !this.readableEnded && !this.push(bytes)) this.#client.pause(true);
  }
}

const serve = (client: WebSocketClient, ports: readonly number[], isText: boolean, forwardTo: Forward): void => {
  const pace = paced(client);
  const sends = (channel: number) => (bytes: Buffer) =>
    pace.send(isText ? `${String.fromCharCode(48 + channel)}${bytes.toString('base64')}` : Buffer.concat([Buffer.from([channel]), bytes]));
  const connections = ports.map((_, index) => new Channel(client, sends(2 * index)));
  client.onMessage(received => {
    const [first] = received;
    if (first === undefined) return;
    if (isText && received.length > maxTextBytes) return client.terminate();
    const bytes = isText ? contentOf(received) : received.subarray(1);
    const channel = isText ? first - 48 : first;
    if (channel % 2 === 0) connections[channel / 2]?.receive(bytes);
  });
  client.onClose(() => {
    for (const connection of connections) connection.destroy();
  });
  for (const [index, port] of ports.entries()) {
    const named = Buffer.alloc(2);
    named.writeUInt16LE(port);
    void sends(2 * index)(named);
    void sends(2 * index + 1)(named);
    void forwardTo(port, connections[index]!, new Channel(client, sends(2 * index + 1)));
  }
};
