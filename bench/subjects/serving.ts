import http2 from 'node:http2';
import https from 'node:https';
import type {AddressInfo, Server} from 'node:net';
import type {ApiResponse, ApiHandler, WatchSink} from '#src/api/request.js';
import {systemClock} from '#src/base/clock.js';
import {systemRandom} from '#src/base/random.js';
import {authorityPem, createAuthority} from '#src/pki/authority.js';
import {issueServingCertificate, keyPairPem} from '#src/pki/issuing.js';
import {generatePrivateKey} from '#src/pki/keys/keys.js';
import {createHttpServer} from '#src/serving/http-server.js';
import {listen} from '#src/serving/listener.js';
import {resultOf} from '#bench/load/child.js';
import type {Load, Loaded} from '#bench/load/load.js';
import {openWatches} from '#bench/load/watch-delays.js';
import {now} from '#bench/load/watchers.js';
import {type Row, row} from '#bench/run/row.js';

const clients = 64;
const body = Buffer.from(JSON.stringify({kind: 'Thing', filler: 'x'.repeat(1460)}));
const answer: ApiResponse = {
  status: 200,
  headers: {'Audit-Id': '3f0b5a44-41a6-4ee8-a6b5-0a3b3d9f4f4a', 'Cache-Control': 'no-cache, private'},
  body: {kind: 'bytes', bytes: body, contentType: 'application/json'},
};
const handler: ApiHandler = async request => {
  void request.headers['authorization'];
  return answer;
};
const headers = {accept: 'application/json', 'user-agent': 'bench', authorization: 'Bearer abcdefghijklmnopqrstuvwxyz'};

interface Tls {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}

const tlsPair = async (): Promise<Tls> => {
  const authority = createAuthority(await generatePrivateKey(), {commonName: 'bench-ca', now: Date.now() - 60_000});
  const pair = keyPairPem(await issueServingCertificate(authority, {commonName: 'bench', hosts: ['127.0.0.1'], now: Date.now()}));
  return {cert: pair.certificate, key: pair.key, ca: authorityPem(authority).certificate};
};

const listening = async (server: Server): Promise<number> => {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
};

/** The baseline: a Node.js server that returns the same bytes for every request. */
const bare = async (version: Load['version'], {cert, key}: Tls): Promise<{port: number; close(): void}> => {
  const fields = {'content-type': 'application/json', 'content-length': String(body.length)};
  const server =
    version === 'HTTP/1.1'
      ? https.createServer({cert, key}, (_, response) => response.writeHead(200, fields).end(body))
      : http2.createSecureServer({cert, key}).on('stream', stream => {
          stream.respond(fields);
          stream.end(body);
        });
  return {port: await listening(server), close: () => server.close()};
};

interface Measured {
  readonly perSecond: number;
  /** The server's CPU time per response, which varies least on a shared machine. */
  readonly cpuUs: number;
}

const measured = async (port: number, version: Load['version'], {ca}: Tls): Promise<Measured> => {
  const load: Load = {
    url: `https://127.0.0.1:${port}`,
    ca,
    version,
    path: '/api/v1/namespaces/default/things/a',
    headers,
    clients,
    warmupMs: 1000,
    measureMs: 3000,
  };
  const before = process.cpuUsage();
  const {perSecond, total} = await resultOf<Loaded>('load.js', load);
  const {user, system} = process.cpuUsage(before);
  return {perSecond: Math.round(perSecond), cpuUs: Math.round((user + system) / total)};
};

/** Responses per second by HTTP version, of the HTTP server and the plain server, with the same client process. */
export const servingRows = async (): Promise<Row[]> => {
  const tls = await tlsPair();
  const rows: Row[] = [];
  for (const version of ['HTTP/1.1', 'HTTP/2'] as const) {
    const plain = await bare(version, tls);
    const baseline = await measured(plain.port, version, tls);
    plain.close();
    const httpServer = createHttpServer(handler, {clock: systemClock, random: systemRandom});
    const listener = await listen({clock: systemClock, bindAddress: '127.0.0.1', port: 0, tls, handler: httpServer});
    const measurement = await measured(listener.port, version, tls);
    await listener.close();
    const note = `${clients} clients, ${body.length} bytes; ${measurement.cpuUs} µs of CPU an answer, beside ${baseline.cpuUs} of a bare TLS server`;
    rows.push(row(`GET through the HTTP server, ${version}`, measurement.perSecond, '/s', {baseline: baseline.perSecond, note}));
  }
  return [...rows, await fanOut(tls)];
};

const watchers = 1000;
const eventsPerSecond = 100;
const fanOutEvents = 300;

/** The 99th percentile of the delay of events with a thousand watchers of one resource. */
const fanOut = async (tls: Tls): Promise<Row> => {
  const sinks = new Set<WatchSink>();
  const watch: ApiResponse['body'] = {
    kind: 'watch',
    contentType: 'application/json',
    start(sink) {
      sinks.add(sink);
      return {[Symbol.dispose]: () => void sinks.delete(sink)};
    },
  };
  const handler = createHttpServer(async () => ({status: 200, headers: {}, body: watch}), {clock: systemClock, random: systemRandom});
  const listener = await listen({clock: systemClock, bindAddress: '127.0.0.1', port: 0, tls, handler});
  const {result} = await openWatches({
    url: `https://127.0.0.1:${listener.port}`,
    ca: tls.ca,
    path: '/',
    watchers,
    connections: 50,
    events: fanOutEvents,
    timeoutMs: 60_000,
  });
  const before = process.cpuUsage();
  const start = performance.now();
  for (let sent = 0; sent < fanOutEvents; sent++) {
    await new Promise(resolve => setTimeout(resolve, Math.max(0, start + (sent * 1000) / eventsPerSecond - performance.now())));
    const bytes = Buffer.from(`${JSON.stringify({type: 'MODIFIED', object: {at: String(now()), filler: 'x'.repeat(1400)}})}\n`);
    const event = {type: 'MODIFIED', bytes: () => bytes, object: () => ({})};
    for (const sink of sinks) sink.event(event);
  }
  const {complete, p50Ms, p99Ms} = await result;
  const {user, system} = process.cpuUsage(before);
  const share = (user + system) / 1000 / (performance.now() - start);
  await listener.close();
  const note = `${watchers} watchers on 50 connections, ${eventsPerSecond} events/s of 1.5 kB, ${complete} watchers got all; half within ${Math.round(p50Ms)} ms, ${Math.round(share * 100)} % of a core; must stay below 100`;
  return row('watch fan-out, 99th of 100 events late by', p99Ms, 'ms', {note});
};
