import type {IncomingMessage} from 'node:http';
import type {Http2Session} from 'node:http2';
import type {TLSSocket} from 'node:tls';
import {peerChain} from '#src/transport/peer-chain.js';
import type {Caller, Credentials} from '#src/api/request.js';

/** The properties of a TLS connection that all its requests share. It is the `connection` of its credentials. */
export class Connection implements Credentials {
  readonly certificates: readonly Buffer[];
  readonly remoteAddress: string;
  readonly caller: Caller;

  constructor(socket: TLSSocket) {
    // Read at once: a closed socket has no peer certificate, and a request in flight must keep its identity.
    this.certificates = chainOf(socket);
    this.remoteAddress = plainAddress(socket.remoteAddress);
    this.caller = {credentials: this};
  }

  get connection(): object {
    return this;
  }
}

const connections = new WeakMap<object, Connection>();

/** Associates a connection with its socket, or with the session that uses the socket. */
export const associate = (transport: TLSSocket | Http2Session, connection: Connection): void => {
  connections.set(transport, connection);
};

/** Returns the connection of a request. */
export const connectionOf = (transport: IncomingMessage['socket'] | Http2Session): Connection => {
  const known = connections.get(transport);
  if (known) return known;
  const made = new Connection(transport as TLSSocket);
  connections.set(transport, made);
  return made;
};

/** A resumed session has only the leaf certificate, which is why the listener disables resumption. */
const chainOf = (socket: TLSSocket): readonly Buffer[] => (typeof socket.getPeerCertificate === 'function' ? peerChain(socket) : []);

const plainAddress = (address = ''): string => (address.startsWith('::ffff:') ? address.slice(7) : address);
