// The connections of a port, of which there may be so many.

import type {Socket} from 'node:net';
import {isIPv6} from 'node:net';

interface OpenConnection {
  readonly socket: Socket;
  readonly peer: string;
  isIdle(): boolean;
}

/**
 * Limits the connections of a port. On a full one a newcomer takes the place of the oldest connection without a request
 * of the peer with the most, or of any of its connections if the newcomer's own peer has fewer: so nobody is shut out
 * by connections that do nothing, and no peer holds more than its share. A peer is an address, of IPv6 the network of
 * 64 bits.
 */
export class ConnectionLimit {
  /** No limit if 0. */
  readonly #most: number;
  readonly #byPeer = new Map<string, Set<OpenConnection>>();
  #count = 0;
  /** The number of connections that were closed because of the limit. */
  closed = 0;

  constructor(most = 0) {
    this.#most = most;
  }

  /** Counts a connection until it closes. Returns whether there is room for it; otherwise it has been closed. */
  enter(socket: Socket, isIdle: () => boolean): boolean {
    if (this.#most === 0) return true;
    const connection: OpenConnection = {socket, peer: peerOf(socket.remoteAddress), isIdle};
    this.#add(connection);
    socket.once('close', () => this.#remove(connection));
    if (this.#count <= this.#most) return true;
    const leaving = this.#leaving(connection);
    this.closed++;
    this.#remove(leaving);
    leaving.socket.destroy();
    return leaving !== connection;
  }

  #leaving(newcomer: OpenConnection): OpenConnection {
    const own = this.#byPeer.get(newcomer.peer)!;
    let largest = own;
    for (const others of this.#byPeer.values()) if (others.size > largest.size) largest = others;
    for (const connection of largest) if (connection !== newcomer && connection.isIdle()) return connection;
    const [oldest = newcomer] = largest;
    return largest.size > own.size ? oldest : newcomer;
  }

  #add(connection: OpenConnection): void {
    const same = this.#byPeer.get(connection.peer);
    if (same) same.add(connection);
    else this.#byPeer.set(connection.peer, new Set([connection]));
    this.#count++;
  }

  #remove(connection: OpenConnection): void {
    const same = this.#byPeer.get(connection.peer);
    if (!same?.delete(connection)) return;
    this.#count--;
    if (same.size === 0) this.#byPeer.delete(connection.peer);
  }
}

const groupsOf = (part: string): string[] => (part === '' ? [] : part.split(':'));

/** Whoever has one address of IPv6 usually has a whole network of them. */
export const peerOf = (address = ''): string => {
  const plain = address.startsWith('::ffff:') ? address.slice(7) : address;
  if (!isIPv6(plain)) return plain;
  const [before = '', after = ''] = plain.split('%')[0]!.split('::');
  const [first, last] = [groupsOf(before), groupsOf(after)];
  const zeros = Array.from({length: Math.max(0, 8 - first.length - last.length)}, () => '0');
  return `${[...first, ...zeros, ...last].slice(0, 4).join(':')}::`;
};
