import {randomBytes} from 'node:crypto';
import https from 'node:https';
import type {IncomingMessage} from 'node:http';
import net from 'node:net';
import {Duplex, type Writable} from 'node:stream';
import * as library from 'ws';
import {WebSocket} from 'ws';
import type {Status} from '#src/api/status.js';
import type {ApiHandler} from '#src/api/request.js';
import {systemClock} from '#src/base/clock.js';
import type {VirtualClock} from '#src/base/virtual-clock.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {systemNetwork} from '#src/transport/network.js';
import {SpdySession} from '#src/transport/spdy/session.js';
import {aPair, anAuthority} from '#test/serving/credentials.js';
import {aBackend} from '#test/transport/backend.js';
import {serve} from '#test/serving/server.js';
import {authorityPem} from '#src/pki/authority.js';
import {admin, startWire} from './wire.js';
import {anAgent} from './agent.js';

const callers = await anAuthority('callers');
export const agent = await anAgent({clientCa: authorityPem(callers).certificate});
export const meter = new MetricsRegistry();
const pair = await aPair(callers, {commonName: 'the-server'}, 'client auth');
export const off = new Set<string>();
const trust = {verified: {ca: agent.ca, pair}, unverified: {pair, insecure: true}};
const system = systemNetwork(systemClock);
// Every address is this machine: those that lead here openly may not be called.
export const {
  server: api,
  post,
  put,
} = await startWire({
  clock: systemClock as VirtualClock,
  meter,
  gate: name =>
    !off.has(name) &&
    ['TranslateStreamCloseWebsocketRequests', 'PortForwardWebsockets', 'AuthorizePodWebsocketUpgradeCreatePermission'].includes(name),
  network: {dial: (_, port) => system.dial('127.0.0.1', port), resolve: () => Promise.resolve(['10.0.0.1'])},
  agents: {addresses: ['Hostname', 'InternalIP'], trust: {current: trust}, timeoutMs: 5000},
});
const asAdmin =
  (handler: ApiHandler): ApiHandler =>
  ({method, url, headers, remoteAddress, body, signal, upgradable = false}) =>
    handler({method, url, headers, remoteAddress, body, signal, upgradable, caller: {user: admin}});

export const server = await serve(asAdmin(api.handler));
export const pods = '/api/v1/namespaces/default/pods';
const aNode = (name: string, address: string, port: number) =>
  post('/api/v1/nodes', {
    metadata: {name},
    status: {addresses: [{type: 'InternalIP', address}], daemonEndpoints: {kubeletEndpoint: {Port: port}}},
  });

const aPod = async (name: string, nodeName: string, ...containers: string[]) => {
  const {status, text} = await post(pods, {
    metadata: {name},
    spec: {nodeName, containers: containers.map(container => ({name: container, image: 'x'}))},
  });
  if (status !== 201) throw new Error(text);
};

await aNode('n', 'localhost', agent.port);
await aNode('misnamed', '10.9.9.9', agent.port);
await aNode('gone', '127.0.0.1', 1);
for (const name of ['p', 'refusing', 'failing', 'moved', 'dying']) await aPod(name, 'n', 'c');
await aPod('several', 'n', 'c', 'broken', 'strange', 'elsewhere');
await aPod('elsewhere', 'misnamed', 'c');
await aPod('far', 'gone', 'c');
await put(`${pods}/p/status`, {metadata: {name: 'p'}, status: {podIP: '10.1.1.1', podIPs: [{ip: '10.1.1.1'}]}});

export const shop = await aBackend((request, response) =>
  response.writeHead(200, {'x-method': request.method!}).end(request.method === 'HEAD' ? undefined : `${request.method} ${request.url}`),
);

await post('/api/v1/namespaces/default/services', {metadata: {name: 'shop'}, spec: {ports: [{name: 'http', port: 80}]}});
await post('/api/v1/namespaces/default/endpoints', {
  metadata: {name: 'shop'},
  subsets: [
    {
      addresses: [{ip: '10.1.1.1', targetRef: {kind: 'Pod', namespace: 'default', name: 'p'}}],
      ports: [{name: 'http', port: Number(shop.port)}],
    },
  ],
});

let closed: Promise<void> | undefined;
/** Closes the servers. Tests that share them may each call it at their end. */
export const close = (): Promise<void> => (closed ??= closeAll());

const closeAll = async () => {
  api.backends[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
  await agent[Symbol.asyncDispose]();
  await shop[Symbol.asyncDispose]();
};

export const messageOf = (body: Buffer): string => (JSON.parse(body.toString()) as Status).message ?? '';

/** Opens a WebSocket; rejects with status and body of a refusal. */
export const webSocket = (path: string, protocols: string[] = []): Promise<WebSocket> =>
  new Promise((resolve, reject) => {
    const client = new WebSocket(`wss://127.0.0.1:${server.port}${path}`, protocols, {ca: server.ca});
    client.once('open', () => resolve(client));
    client.once('unexpected-response', (_, response: IncomingMessage) => {
      let text = '';
      response.on('data', chunk => (text += String(chunk))).on('end', () => reject(new Error(`${response.statusCode} ${text}`)));
    });
    client.on('error', error => void (/Unexpected server response/.test(error.message) || reject(error)));
  });

export const v5 = ['v5.channel.k8s.io'];
export const exec = (pod: string, command: readonly string[], streams = 'stdin=true&stdout=true&stderr=true') =>
  `${pods}/${pod}/exec?${streams}&${command.map(part => `command=${encodeURIComponent(part)}`).join('&')}`;

/** Members of the library that its types leave out. */
const {Receiver, Sender} = library as unknown as {
  Receiver: new (options: {isServer: boolean}) => Writable;
  Sender: new (socket: net.Socket) => {
    send(data: Buffer, options: object, done: () => void): void;
    close(code: number, reason: string, mask: boolean, done: () => void): void;
  };
};

/** A connection through a WebSocket, in a protocol whose name the library will not have. Rejects with status and body of a refusal. */
export const tunnelTo = (pod: string): Promise<SpdySession> =>
  new Promise((resolve, reject) => {
    const headers = {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': randomBytes(16).toString('base64'),
      'sec-websocket-protocol': 'SPDY/3.1+portforward.k8s.io',
    };
    const outgoing = https.get({
      host: '127.0.0.1',
      port: server.port,
      ca: server.ca,
      agent: false,
      path: `${pods}/${pod}/portforward`,
      headers,
    });
    outgoing.once('error', reject);
    outgoing.once(
      'response',
      (answer: IncomingMessage) =>
        void answer.toArray().then(chunks => reject(new Error(`${answer.statusCode} ${Buffer.concat(chunks as Buffer[]).toString()}`))),
    );
    outgoing.once('upgrade', (answer: IncomingMessage, socket: net.Socket, head: Buffer) => {
      if (answer.headers['sec-websocket-protocol'] !== 'SPDY/3.1+portforward.k8s.io') return reject(new Error('another protocol'));
      resolve(new SpdySession(messagesOf(socket, head), {side: 'client'}));
    });
  });

const messagesOf = (socket: net.Socket, head: Buffer): Duplex => {
  const [sender, receiver] = [new Sender(socket), new Receiver({isServer: false})];
  const messages = new Duplex({
    read() {},
    write: (chunk: Buffer, _, done) => sender.send(chunk, {binary: true, fin: true, mask: true, compress: false}, () => done()),
    final(done) {
      sender.close(1000, '', true, () => done());
    },
  });
  socket.on('error', () => {}); // The server may reset it at its shutdown.
  receiver.on('message', (data: Buffer) => messages.push(data));
  receiver.on('conclude', () => messages.push(null));
  receiver.write(head);
  socket.pipe(receiver);
  socket.once('close', () => messages.destroy());
  return messages;
};
