import type {IncomingMessage} from 'node:http';
import type {Http2Session} from 'node:http2';
import type {TLSSocket} from 'node:tls';
import {peerChain} from '#src/transport/peer-chain.js';
import type {Caller, Credentials} from '#src/api/request.js';

/** What stays the same for all requests of one TLS connection. It is the `connection` of its credentials. */
export class Connection implements Credentials {
  readonly certificates: readonly Buffer[];
  readonly remoteAddress: string;
  readonly caller: Caller;

  constructor(socket: TLSSocket) {
    // Read at once: a socket that closes later has forgotten its peer, and a request in flight must not change identity by that.
    this.certificates = chainOf(socket);
    this.remoteAddress = plainAddress(socket.remoteAddress);
    this.caller = {credentials: this};
  }

  get connection(): object {
    return this;
  }
}

const connections = new WeakMap<object, Connection>();

/** Remembers a connection by its socket, or by the session that took the socket over. */
export const remember = (carrier: TLSSocket | Http2Session, connection: Connection): void => {
  connections.set(carrier, connection);
};

/** The connection a request came in on. */
export const connectionOf = (carrier: IncomingMessage['socket'] | Http2Session): Connection => {
  const known = connections.get(carrier);
  if (known) return known;
  const made = new Connection(carrier as TLSSocket);
  connections.set(carrier, made);
  return made;
};

/** Every resumed session would lack all certificates but the leaf, which is why the listener resumes none. */
const chainOf = (socket: TLSSocket): readonly Buffer[] => (typeof socket.getPeerCertificate === 'function' ? peerChain(socket) : []);

const plainAddress = (address = ''): string => (address.startsWith('::ffff:') ? address.slice(7) : address);
