// Ports of this machine that lead to ports of pods, through the API server: each connection has streams of its own, as
// those of `kubectl port-forward`.

import {createServer, type AddressInfo, type Server, type Socket} from 'node:net';
import {discard, type ApiRequest} from '#src/api/request.js';
import {knownApiSuffixes} from '#src/api/naming.js';
import {badRequest, tooManyRequests} from '#src/api/status.js';
import {confineErrors} from '#src/base/emitters/confined.js';
import type {Log} from '#src/base/log.js';
import {duplexPair} from '#src/transport/duplex-pair.js';
import {SpdySession} from '#src/transport/spdy/session.js';
import type {Upstream} from './upstream.js';

/** A port of this machine that leads to a port of a pod. */
export interface Forward {
  readonly namespace: string;
  readonly pod: string;
  /** The port of the pod. */
  readonly port: number;
  /** The port of this machine. */
  readonly local: number;
}

/** The most ports at a time, and the most connections of each. */
const [mostForwards, mostConnections] = [16, 64];

const maxHeadBytes = 16 << 10;

const label = /^[a-z0-9][-.a-z0-9]{0,252}$/;

/** The forwards of a console, which end with it. */
export class Forwards implements AsyncDisposable {
  readonly #upstream: Upstream;
  readonly #log: Log;
  readonly #open = new Map<number, {readonly forward: Forward; readonly server: Server; readonly ending: AbortController}>();

  constructor(upstream: Upstream, log: Log) {
    this.#upstream = upstream;
    this.#log = log;
  }

  get list(): readonly Forward[] {
    return [...this.#open.values()].map(({forward}) => forward);
  }

  /** Opens a port for one of a pod, or returns the one that there is. Throws for what is no such request. */
  async add({namespace, pod, port}: Readonly<Record<string, unknown>>): Promise<Forward> {
    if (typeof namespace !== 'string' || !label.test(namespace) || typeof pod !== 'string' || !label.test(pod))
      throw badRequest('namespace and pod must be names');
    if (typeof port !== 'number' || !Number.isInteger(port) || port < 1 || port > 65_535)
      throw badRequest('port must be a number from 1 to 65535');
    const known = this.list.find(each => each.namespace === namespace && each.pod === pod && each.port === port);
    if (known) return known;
    if (this.#open.size >= mostForwards) throw tooManyRequests(`${mostForwards} ports are forwarded already: end one of them first`, 1);
    const ending = new AbortController();
    const server = confineErrors(
      createServer({allowHalfOpen: true}, socket => {
        this.#connect({namespace, pod, port}, socket, ending.signal).catch((error: unknown) => {
          this.#log.warn({err: error, namespace, pod, port}, 'a connection to a pod failed');
          socket.destroy();
        });
      }),
    );
    server.maxConnections = mostConnections;
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen({host: '127.0.0.1', port: 0}, resolve));
    const forward = {namespace, pod, port, local: (server.address() as AddressInfo).port};
    this.#open.set(forward.local, {forward, server, ending});
    return forward;
  }

  /** Ends the forward of a port of this machine. */
  async end(local: number): Promise<void> {
    const open = this.#open.get(local);
    this.#open.delete(local);
    if (!open) return;
    open.ending.abort(new Error('the forward has ended'));
    await new Promise(resolve => open.server.close(resolve));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#open.keys()].map(local => this.end(local)));
  }

  /** Joins a connection with a port of a pod until either ends. */
  async #connect({namespace, pod, port}: Omit<Forward, 'local'>, socket: Socket, signal: AbortSignal): Promise<void> {
    confineErrors(socket).on('error', () => {});
    const abort = (): void => void socket.destroy();
    signal.addEventListener('abort', abort, {once: true});
    socket.once('close', () => signal.removeEventListener('abort', abort));
    const session = await this.#session(`/api/v1/namespaces/${namespace}/pods/${pod}/portforward`, signal);
    const open = (streamtype: string) => session.open({streamtype, port: String(port), requestid: '0'});
    const error = open('error');
    error.end();
    const data = open('data');
    error.on('data', (text: Buffer) => {
      this.#log.warn({namespace, pod, port, message: text.toString().slice(0, 1000)}, 'a connection to a pod failed');
      socket.destroy();
    });
    data.on('error', abort);
    socket.pipe(data).pipe(socket);
    socket.once('close', () => {
      session.close();
      for (const stream of [error, data]) stream.destroy();
    });
  }

  async #session(url: string, signal: AbortSignal): Promise<SpdySession> {
    const request: ApiRequest = {
      method: 'POST',
      url,
      headers: {
        connection: 'Upgrade',
        upgrade: 'SPDY/3.1',
        'x-stream-protocol-version': knownApiSuffixes.map(suffix => `portforward.${suffix}`).join(','),
        'user-agent': 'plat-console',
      },
      caller: {credentials: {certificates: []}},
      remoteAddress: '127.0.0.1',
      signal,
      upgradable: true,
    };
    const response = await this.#upstream(request);
    if (response.body.kind !== 'upgrade') {
      discard(response);
      throw new Error(`the API server answered ${response.status}`);
    }
    const [near, far] = duplexPair();
    await response.body.take(far, Buffer.alloc(0));
    return new SpdySession(near, {side: 'client', head: await restAfterHead(near)});
  }
}

/** Reads the head of the response of an upgrade. Resolves with what follows it; rejects if it is a refusal. */
const restAfterHead = (socket: ReturnType<typeof duplexPair>[0]): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    let read = Buffer.alloc(0);
    const fail = (why: string): void => {
      stop();
      socket.destroy();
      reject(new Error(why));
    };
    const more = (chunk: Buffer): void => {
      read = Buffer.concat([read, chunk]);
      const end = read.indexOf('\r\n\r\n');
      if (end < 0) return read.length > maxHeadBytes ? fail('the head of the response is too long') : undefined;
      const [line = ''] = read.toString('latin1').split('\r\n', 1);
      if (!line.startsWith('HTTP/1.1 101')) return fail(`the API server answered ${line.slice('HTTP/1.1 '.length)}`);
      stop();
      resolve(read.subarray(end + 4));
    };
    const over = (): void => fail('the connection ended');
    const stop = (): void => {
      socket.off('data', more).off('end', over).off('close', over);
      socket.pause();
    };
    socket.on('data', more).on('end', over).on('close', over);
  });
