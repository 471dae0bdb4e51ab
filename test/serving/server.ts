import https from 'node:https';
import http2 from 'node:http2';
import type {ApiRequest, ApiResponse, EncodedEvent, ApiHandler, WatchSink} from '#src/api/request.js';
import {type Authority, authorityPem} from '#src/pki/authority.js';
import {systemClock} from '#src/base/clock.js';
import {seededRandom} from '#src/base/random.js';
import {type HttpServerOptions, type HttpServer, createHttpServer} from '#src/serving/http-server.js';
import {type Listener, type ListenerOptions, listen} from '#src/serving/listener.js';
import {aPair, anAuthority} from './credentials.js';

export interface TestServer extends AsyncDisposable {
  readonly ca: string;
  readonly authority: Authority;
  readonly port: number;
  readonly url: string;
  readonly listener: Listener;
  readonly http: HttpServer;
  readonly faults: unknown[];
}

/** A server on a port of its own in front of `handler`. */
export const serve = async (
  handler: ApiHandler,
  options: {readonly listener?: Partial<ListenerOptions>; readonly http?: Partial<HttpServerOptions>} = {},
): Promise<TestServer> => {
  const authority = await anAuthority();
  const {cert, key} = await aPair(authority, {commonName: 'server'}, 'server auth');
  const faults: unknown[] = [];
  const http = createHttpServer(handler, {
    clock: systemClock,
    random: seededRandom(1),
    onFault: fault => faults.push(fault),
    ...options.http,
  });
  const listener = await listen({
    clock: systemClock,
    bindAddress: '127.0.0.1',
    port: 0,
    tls: {cert, key},
    handler: http,
    ...options.listener,
  });
  return {
    ca: authorityPem(authority).certificate,
    authority,
    port: listener.port,
    url: `https://127.0.0.1:${listener.port}`,
    listener,
    http,
    faults,
    [Symbol.asyncDispose]: () => listener.close(),
  };
};

export interface TestAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

interface Question {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Record<string, string | string[]>;
  readonly body?: Buffer | string;
  readonly cert?: string;
  readonly key?: string;
}

/** Sends a request over HTTP/1.1, on a connection of its own. */
export const ask1 = (server: TestServer, {method = 'GET', path = '/', headers = {}, body, cert, key}: Question = {}): Promise<TestAnswer> =>
  new Promise((resolve, reject) => {
    const request = https.request(
      {host: '127.0.0.1', port: server.port, ca: server.ca, agent: false, method, path, headers, ...(cert ? {cert, key} : {})},
      response => {
        const chunks: Buffer[] = [];
        response
          .on('data', (chunk: Buffer) => chunks.push(chunk))
          .on('end', () => {
            resolve({status: response.statusCode!, headers: response.headers, body: Buffer.concat(chunks)});
          })
          .on('error', reject);
      },
    );
    request.on('error', reject);
    request.end(body);
  });

/** Sends a request over HTTP/2, on a connection of its own. */
export const ask2 = (server: TestServer, {method = 'GET', path = '/', headers = {}, body, cert, key}: Question = {}): Promise<TestAnswer> =>
  new Promise((resolve, reject) => {
    const session = http2.connect(server.url, {ca: server.ca, ...(cert ? {cert, key} : {})});
    session.on('error', reject);
    const stream = session.request({':method': method, ':path': path, ...headers}, {endStream: body === undefined});
    const chunks: Buffer[] = [];
    let answer: TestAnswer['headers'] = {};
    stream.on('response', fields => {
      answer = fields as TestAnswer['headers'];
    });
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('error', reject);
    stream.on('end', () => {
      session.close();
      resolve({status: Number(answer[':status']), headers: answer, body: Buffer.concat(chunks)});
    });
    if (body !== undefined) stream.end(body);
  });

export const bothVersions = [
  ['HTTP/1.1', ask1],
  ['HTTP/2', ask2],
] as const;

/** A handler that answers every request by `answer`. */
export const answering =
  (answer: (request: ApiRequest) => ApiResponse | Promise<ApiResponse>): ApiHandler =>
  async request =>
    answer(request);

export const json = (value: unknown, status = 200, headers: ApiResponse['headers'] = {}): ApiResponse => ({
  status,
  headers,
  body: {kind: 'bytes', bytes: JSON.stringify(value), contentType: 'application/json'},
});

export const anEvent = (type: string, object: unknown): EncodedEvent => {
  const bytes = Buffer.from(`${JSON.stringify({type, object})}\n`);
  return {type, bytes: () => bytes, object: () => object};
};

/** A watch whose sinks the test holds in its hand. */
export const aWatch = (): {readonly sinks: WatchSink[]; readonly stopped: () => number; readonly response: ApiResponse} => {
  const sinks: WatchSink[] = [];
  let stopped = 0;
  return {
    sinks,
    stopped: () => stopped,
    response: {
      status: 200,
      headers: {},
      body: {
        kind: 'watch',
        contentType: 'application/json',
        start(sink) {
          sinks.push(sink);
          return {
            [Symbol.dispose]() {
              stopped++;
            },
          };
        },
      },
    },
  };
};
