import https from 'node:https';
import type {IncomingMessage} from 'node:http';
import type {TLSSocket} from 'node:tls';

/** Where servers listen, and as what clients come. */
export interface Servers {
  readonly urls: readonly string[];
  readonly token: string;
}

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly contentType?: string;
}

/**
 * A response; `unsent` if no connection came about, `lost` if it broke or nothing came in time: the request may have
 * had an effect.
 */
export interface Answered {
  readonly status: number | 'unsent' | 'lost';
  readonly body: unknown;
}

/** The connection of one client to one server, kept alive between its requests. */
export class Connection implements Disposable {
  readonly #url: string;
  readonly #headers: Record<string, string>;
  readonly #agent = new https.Agent({keepAlive: true, maxSockets: 1, rejectUnauthorized: false});

  constructor(url: string, token: string) {
    this.#url = url;
    this.#headers = {authorization: `Bearer ${token}`, accept: 'application/json', 'user-agent': 'faults'};
  }

  /** Resolves with the response; never rejects. */
  ask({method, path, body, contentType = 'application/json'}: Asked, timeoutMs: number): Promise<Answered> {
    return new Promise(resolve => {
      const {request, isUnsent} = this.#request(method, path, contentType);
      const lost = (): void => {
        clearTimeout(timer);
        resolve({status: isUnsent() ? 'unsent' : 'lost', body: undefined});
      };
      const timer = setTimeout(() => request.destroy(), timeoutMs);
      request.once('error', lost).once('close', lost);
      request.once('response', response => {
        const parts: Buffer[] = [];
        response.on('data', (part: Buffer) => parts.push(part));
        response.once('error', lost);
        response.once('end', () => {
          if (!response.complete) return;
          clearTimeout(timer);
          resolve({status: response.statusCode!, body: parsed(Buffer.concat(parts).toString())});
        });
      });
      if (body === undefined) {
        request.end();
        return;
      }
      const bytes = Buffer.from(JSON.stringify(body));
      // Node.js sends the body of a DELETE without a length otherwise.
      request.setHeader('content-length', bytes.length).end(bytes);
    });
  }

  /** Opens a stream; resolves with the response, or undefined if none came. */
  open(path: string, signal: AbortSignal): Promise<IncomingMessage | undefined> {
    return new Promise(resolve => {
      const {request} = this.#request('GET', path, undefined, signal);
      request.on('error', () => resolve(undefined)).once('close', () => resolve(undefined));
      request.once('response', resolve).end();
    });
  }

  #request(method: string, path: string, contentType?: string, signal?: AbortSignal) {
    const request = https.request(new URL(path, this.#url), {
      method,
      agent: this.#agent,
      headers: contentType && method !== 'GET' ? {...this.#headers, 'content-type': contentType} : this.#headers,
      ...(signal ? {signal} : {}),
    });
    let isUnsent = true;
    request.once('socket', socket => {
      // Before the handshake is over nothing is sent.
      if (request.reusedSocket || !(socket as TLSSocket).connecting) isUnsent = false;
      else socket.once('secureConnect', () => (isUnsent = false));
    });
    return {request, isUnsent: () => isUnsent};
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
};
