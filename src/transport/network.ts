// The network port: dialing and name resolution, which planes replace to reach simulated nodes in process. Errors have
// Go's wording, since they appear in statuses and messages.

import {lookup} from 'node:dns/promises';
import {connect, isIP, type Socket} from 'node:net';
import type {Duplex} from 'node:stream';
import type {Clock} from '#src/base/clock.js';
import {confineErrors} from '#src/base/emitters/confined.js';

/** The network port. Errors use Go's wording. */
export interface Network {
  /** Connects to a port, or to a unix socket if the host is an absolute path. Rejects with the dial error. */
  dial(host: string, port: string): Promise<Duplex>;
  /** Resolves a host name to addresses; an address resolves to itself. Rejects if there are none. */
  resolve(host: string): Promise<readonly string[]>;
  /**
   * Connects to an in-process server, which cannot be impersonated; undefined if none has the address. Rejects with the
   * dial error.
   */
  within?(host: string, port: string): Promise<Duplex> | undefined;
}

const dialTimeoutMs = 30_000;

const dialErrorTexts: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset by peer',
  EHOSTUNREACH: 'no route to host',
  ENETUNREACH: 'network is unreachable',
  ETIMEDOUT: 'connection timed out',
  EACCES: 'permission denied',
  ENOENT: 'no such file or directory',
  EADDRNOTAVAIL: 'cannot assign requested address',
  EINVAL: 'invalid argument',
};

const unresolved = (host: string, {code}: {readonly code?: string | undefined} = {}): string =>
  `lookup ${host}: ${code === 'EAI_AGAIN' ? 'Temporary failure in name resolution' : 'no such host'}`;

/** `host:port`, with brackets where the host needs them. */
export const endpoint = (host: string, port: string | number): string => `${host.includes(':') ? `[${host}]` : host}:${port}`;

type DialError = NodeJS.ErrnoException & {readonly address?: string; readonly errors?: readonly DialError[]};

/** The address as dial errors name it. */
const place = (host: string, port: string): string => (host.startsWith('/') ? `unix ${host}` : `tcp ${endpoint(host, port)}`);

/** Returns the dial error for an error of the platform, with its code. */
const dialError = (host: string, port: string, error: DialError): Error => {
  // Of several addresses that were tried, the first one's error is reported.
  const first = error.errors?.[0] ?? error;
  const {code = '', syscall, address, message} = first;
  const words =
    syscall === 'getaddrinfo'
      ? `dial tcp: ${unresolved(host, first)}`
      : `dial ${place(address ?? host, port)}: connect: ${dialErrorTexts[code] ?? message}`;
  return Object.assign(new Error(words, {cause: error}), {code});
};

/** The path of a unix socket as the platform takes it: `/@` begins the name of an abstract one. */
const socketPath = (host: string): string => (host.startsWith('/@') ? `\0${host.slice(2)}` : host);

/** The network of this machine. */
export const systemNetwork = (clock: Clock): Network => ({
  async dial(host, port) {
    // An empty host means this machine on this platform.
    if (host === '') throw new Error(`dial tcp: ${unresolved(host)}`);
    if (host.startsWith('/')) {
      using _ = clock.hold();
      return await connected(host, '', clock);
    }
    if (!/^\d+$/.test(port)) throw new Error(`dial tcp: lookup ${host}:${port}: no such host`);
    if (Number(port) > 65_535) throw new Error(`dial tcp: address ${port}: invalid port`);
    using _ = clock.hold();
    return await connected(host, port, clock);
  },
  async resolve(host) {
    if (isIP(host)) return [host];
    if (host === '') throw new Error(unresolved(host));
    using _ = clock.hold();
    try {
      return (await lookup(host, {all: true})).map(({address}) => address);
    } catch (error) {
      throw new Error(unresolved(host, error as NodeJS.ErrnoException), {cause: error});
    }
  },
});

/**
 * How long a connection may be idle until the system probes it. It is dead after ten probes without an answer, one a
 * second: within 17 s, also where the protocol has no pings.
 */
const probedAfterMs = 7_000;

const connected = (host: string, port: string, clock: Clock): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const options = {
      ...(host.startsWith('/') ? {path: socketPath(host)} : {host, port: Number(port)}),
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: probedAfterMs,
    };
    const socket = confineErrors(connect(options));
    const timer = clock.schedule(dialTimeoutMs, () =>
      socket.destroy(Object.assign(new Error(`dial ${place(host, port)}: i/o timeout`), {code: 'ETIMEDOUT'})),
    );
    const fail = (error: DialError) => {
      timer[Symbol.dispose]();
      reject(error.syscall ? dialError(host, port, error) : error);
    };
    socket.once('error', fail);
    socket.once('connect', () => {
      timer[Symbol.dispose]();
      socket.off('error', fail);
      resolve(socket);
    });
  });
