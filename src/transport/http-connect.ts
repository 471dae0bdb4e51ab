// Tunnels through HTTP proxies by CONNECT (RFC 9110 §9.3.6).

import type {IncomingMessage} from 'node:http';
import type {Socket} from 'node:net';
import type {Duplex} from 'node:stream';
import {requestError} from './error-words.js';
import {beginRequest} from '#src/transport/begin-request.js';

/** A proxy refused a tunnel. */
export class TunnelRefused extends Error {
  override readonly name = 'TunnelRefused';
  readonly status: number;
  readonly reason: string;

  constructor({statusCode = 0, statusMessage = ''}: IncomingMessage) {
    super(statusMessage || String(statusCode));
    this.status = statusCode;
    this.reason = statusMessage;
  }
}

/**
 * Requests a tunnel to `host:port` on a connection to a proxy. Rejects with `TunnelRefused`, or with the reason why
 * there was no response.
 */
export const requestTunnel = (connection: Duplex, to: string, headers: Readonly<Record<string, string>>): Promise<Duplex> =>
  new Promise((resolve, reject) => {
    const sent = beginRequest({method: 'CONNECT', path: to, headers, createConnection: () => connection as Socket});
    sent.once('connect', (response: IncomingMessage, _: unknown, head: Buffer) => {
      if (response.statusCode !== 200) return reject(new TunnelRefused(response));
      if (head.length > 0) connection.unshift(head);
      resolve(connection);
    });
    sent.on('error', error => reject(requestError(error, connection as Socket)));
    sent.end();
  });
