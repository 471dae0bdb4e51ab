// HTTP requests of probes and hooks: over separate connections, without proxies and without verification of
// certificates.

import type {IncomingMessage} from 'node:http';
import {isIP, type Socket} from 'node:net';
import type {Duplex} from 'node:stream';
import {connect as connectTls} from 'node:tls';
import {confineErrors} from '#src/base/emitters/confined.js';
import type {Clock} from '#src/base/clock.js';
import {messageOf} from '#src/base/message.js';
import {beginRequest} from '#src/transport/begin-request.js';
import {requestError} from '#src/transport/error-words.js';
import type {Network} from '#src/transport/network.js';
import type {HttpTarget} from './target.js';
import {timeoutError, withTimeout} from './timeout.js';

export interface HttpGetRequest extends HttpTarget {
  readonly agent: string;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

export interface HttpGetResponse {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  /** The first 10 KiB at most. */
  readonly body: string;
}

/** Sends a GET request. Rejects without a response. Redirects are not followed. */
export type HttpGet = (request: HttpGetRequest) => Promise<HttpGetResponse>;

const maxBodyBytes = 10 * 1024;

/** Returns the request headers: those given, and the default ones. */
const headersOf = ({url, headers, agent}: HttpGetRequest): Record<string, string | string[]> => {
  const result: Record<string, string[]> = {};
  const given = new Set(headers.map(([name]) => name.toLowerCase()));
  for (const [name, value] of headers) {
    const isRemoval = value === '' && ['user-agent', 'accept'].includes(name.toLowerCase());
    if (!isRemoval) (result[name.toLowerCase()] ??= []).push(value);
  }
  if (!given.has('user-agent')) result['user-agent'] = [agent];
  if (!given.has('accept')) result['accept'] = ['*/*'];
  const [host = url.host] = result['host'] ?? [];
  return {...result, host, connection: 'close'};
};

const read = async (response: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= maxBodyBytes) break;
  }
  response.destroy();
  return Buffer.concat(chunks).subarray(0, maxBodyBytes).toString();
};

const timeoutText = 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)';

/** Sends the request over an open connection. */
const exchange = (get: HttpGetRequest, connection: Duplex): Promise<HttpGetResponse> =>
  new Promise((resolve, reject) => {
    const {url} = get;
    const outgoing = beginRequest({
      createConnection: () => connection as Socket,
      path: `${url.pathname}${url.search}`,
      headers: headersOf(get),
      setHost: false,
    });
    outgoing.on('error', error => reject(requestError(error, outgoing.socket)));
    outgoing.on('response', response => {
      read(response).then(body => resolve({status: response.statusCode ?? 0, headers: response.headers, body}), reject);
    });
    outgoing.end();
  });

/** Returns a getter that connects over a network. */
export const httpGetter =
  (clock: Clock, network: Network): HttpGet =>
  async get => {
    const {url, timeoutMs, signal} = get;
    const host = url.hostname.replace(/^\[|\]$/g, '');
    const isSecure = url.protocol === 'https:';
    let connection: Duplex | undefined;
    let isOver = false;
    const send = async (): Promise<HttpGetResponse> => {
      const socket = await network.dial(host, url.port || (isSecure ? '443' : '80'));
      if (isOver) socket.destroy();
      connection = isSecure
        ? confineErrors(connectTls({socket, rejectUnauthorized: false, ...(isIP(host) ? {} : {servername: host})}))
        : socket;
      return exchange(get, connection);
    };
    try {
      return await withTimeout(clock, timeoutMs, send(), signal);
    } catch (error) {
      throw new Error(`Get ${JSON.stringify(url.href)}: ${error === timeoutError ? timeoutText : messageOf(error)}`, {cause: error});
    } finally {
      isOver = true;
      connection?.destroy();
    }
  };
