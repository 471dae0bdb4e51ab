import http2 from 'node:http2';
import {each, percentile} from './each.js';
import type {Server} from './programs.js';

/** A response, whatever its status. */
export interface Reply {
  readonly status: number;
  readonly body: Buffer;
}

export interface Asking {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Calls an API server over a few HTTP/2 connections as its administrator. The same client measures every server. */
export class ApiClient implements Disposable {
  readonly #sessions: readonly http2.ClientHttp2Session[];
  #next = 0;

  constructor({url, pki: {ca, cert, key}}: Server, connections = 8) {
    this.#sessions = Array.from({length: connections}, () => {
      const session = http2.connect(url, {ca, cert, key}).setMaxListeners(0);
      // Its calls are rejected with the error.
      return session.on('error', () => {});
    });
  }

  /** Resolves to a response below 300. Rejects for another. */
  async call(method: string, path: string, asking: Asking = {}): Promise<Reply> {
    const reply = await this.send(method, path, asking);
    if (reply.status >= 300) throw new Error(`${method} ${path} was answered ${reply.status}: ${reply.body.toString().slice(0, 300)}`);
    return reply;
  }

  async json<T>(method: string, path: string, body?: unknown): Promise<T> {
    return JSON.parse((await this.call(method, path, {body})).body.toString()) as T;
  }

  send(method: string, path: string, {body, headers = {}}: Asking = {}): Promise<Reply> {
    const session = this.#sessions[this.#next++ % this.#sessions.length]!;
    return new Promise((resolve, reject) => {
      const stream = session.request({
        ':method': method,
        ':path': path,
        ...(body === undefined ? {} : {'content-type': 'application/json'}),
        ...headers,
      });
      const parts: Buffer[] = [];
      let status = 0;
      stream.on('response', ({':status': received = 0}) => (status = received));
      stream.on('data', (part: Buffer) => parts.push(part));
      stream.on('end', () => resolve({status, body: Buffer.concat(parts)}));
      stream.on('error', reject);
      stream.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  [Symbol.dispose](): void {
    for (const session of this.#sessions) session.destroy();
  }
}

/** How fast calls were. */
export interface Rate {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Makes that many calls, some at once. */
export const rateOf = async (count: number, width: number, call: (index: number) => Promise<unknown>): Promise<Rate> => {
  const times: number[] = [];
  const startedAt = performance.now();
  await each(
    count,
    async index => {
      const calledAt = performance.now();
      await call(index);
      times.push(performance.now() - calledAt);
    },
    width,
  );
  const perSecond = (count * 1000) / (performance.now() - startedAt);
  times.sort((a, b) => a - b);
  return {perSecond, p50Ms: percentile(times, 0.5), p99Ms: percentile(times, 0.99)};
};

/** Creates a namespace, and resolves once the controllers have made what a namespace has. */
export const createNamespace = async (client: ApiClient, name: string): Promise<void> => {
  await client.call('POST', '/api/v1/namespaces', {body: {apiVersion: 'v1', kind: 'Namespace', metadata: {name}}});
  const account = `/api/v1/namespaces/${name}/serviceaccounts/default`;
  for (let tries = 0; tries < 200 && (await client.send('GET', account)).status !== 200; tries++)
    await new Promise(resolve => setTimeout(resolve, 20));
};
