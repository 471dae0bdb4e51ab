import {once} from 'node:events';
import {Agent, createServer, request as requestOf, type Server} from 'node:https';
import type {IncomingMessage, ServerResponse} from 'node:http';
import type {AddressInfo} from 'node:net';
import type {TLSSocket} from 'node:tls';
import {setTimeout as wait} from 'node:timers/promises';
import type {Random} from '#src/base/random.js';
import type {AdminSettings} from '#src/plane/kubeconfig/settings.js';

export const watchFaults = ['cut', 'stall', 'delay', '429', '410', '500', 'garbage'] as const;
export type WatchFault = (typeof watchFaults)[number];

/** What the proxy serves with, and where it passes requests to. */
export interface ProxyParts {
  readonly serving: {readonly certificate: string; readonly key: string};
  /** The administrator's settings, read for each request: a server that is started again has another port. */
  readonly server: () => AdminSettings;
  readonly random: Random;
}

/**
 * A proxy between clients and an API server that breaks what passes through it, as networks and servers under load do.
 */
export class FaultyProxy implements AsyncDisposable {
  readonly #parts: ProxyParts;
  readonly #server: Server;
  readonly #sockets = new Set<TLSSocket>();
  /** The responses of watches that are open. */
  readonly #watches = new Set<ServerResponse>();
  /** The connections on which nothing passes any more, in either direction. */
  readonly #stalled = new WeakSet<object>();
  #refusals: number[] = [];
  #delayMs = 0;
  readonly #agent = new Agent({keepAlive: false});

  constructor(parts: ProxyParts) {
    this.#parts = parts;
    const {certificate, key} = parts.serving;
    this.#server = createServer(
      {cert: certificate, key},
      (request, response) => void this.#pass(request, response).catch(() => response.destroy()),
    );
    this.#server.on('secureConnection', socket => {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.once('close', () => this.#sockets.delete(socket));
    });
  }

  async listen(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /**
   * Begins a fault. Refusals and delays of the one before end: piled up, they would keep every client away until the
   * load is over.
   */
  strike(fault: WatchFault): void {
    const {random} = this.#parts;
    this.rest();
    if (fault === 'cut') for (const socket of this.#sockets) socket.destroy();
    else if (fault === 'stall') for (const socket of this.#sockets) this.#stalled.add(socket);
    else if (fault === 'delay') this.#delayMs = 200 + random.float() * 2000;
    else if (fault === 'garbage')
      for (const response of this.#watches) if (!this.#isStalled(response)) response.write('{"type":"MODI\u0000FIED", not json}\n');
    if (fault === '429' || fault === '410' || fault === '500') {
      this.#refusals.push(...Array.from({length: 1 + Math.floor(random.float() * 3)}, () => Number(fault)));
      for (const response of this.#watches) response.destroy();
    }
  }

  /** Ends the faults. What is stalled stays so. */
  rest(): void {
    this.#refusals = [];
    this.#delayMs = 0;
  }

  async #pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.#delayMs > 0) await wait(this.#delayMs);
    const refusal = this.#refusals.shift();
    if (refusal !== undefined) return refuse(response, refusal);
    const {server, ca, certificate: cert, key} = this.#parts.server();
    const {authorization: _, host: __, connection: ___, ...headers} = request.headers;
    const passed = requestOf(`${server}${request.url}`, {method: request.method, headers, ca, cert, key, agent: this.#agent});
    passed.on('error', () => response.destroy());
    response.once('close', () => {
      this.#watches.delete(response);
      passed.destroy();
    });
    passed.on('response', answer => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      response.flushHeaders(); // A watch may have no event for long.
      if (request.url?.includes('watch=')) this.#watches.add(response);
      answer.on('data', (chunk: Buffer) => this.#isStalled(response) || response.write(chunk));
      answer.on('end', () => this.#isStalled(response) || response.end());
      answer.on('error', () => response.destroy());
    });
    request.pipe(passed);
  }

  #isStalled({socket}: ServerResponse): boolean {
    return socket !== null && this.#stalled.has(socket);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    this.#agent.destroy();
    if (this.#server.listening) await once(this.#server, 'close');
  }
}

const reasons: Readonly<Record<number, string>> = {429: 'TooManyRequests', 410: 'Expired', 500: 'InternalError'};

const refuse = (response: ServerResponse, code: number): void => {
  response.writeHead(code, {'content-type': 'application/json', ...(code === 429 ? {'retry-after': '1'} : {})});
  response.end(
    JSON.stringify({kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message: 'injected', reason: reasons[code], code}),
  );
};
