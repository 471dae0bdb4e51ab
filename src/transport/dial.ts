// Opens the connections of all outgoing calls: to a host, a unix socket or a server within this process, with TLS where
// the target has it. The network is a parameter: a proxy or another route to a target is another network. A dialer
// never retries and never pools.

import type {Duplex} from 'node:stream';
import type {Clock} from '#src/base/clock.js';
import type {TrustAnchors} from '#src/pki/chain.js';
import {endpoint, type Network} from './network.js';
import {handshake, readAnchors, type ServerTrust} from './tls-handshake.js';

/** The TLS settings of a target. The same object is kept while nothing changes, since connections are pooled by it. */
export interface TargetTls {
  /** PEM; by default the system's CAs are trusted. */
  readonly ca?: string | Buffer | undefined;
  /** The trusted CAs if they have been parsed. */
  readonly anchors?: TrustAnchors | undefined;
  readonly pair?: {readonly cert: string | Buffer; readonly key: string | Buffer} | undefined;
  /** The name that its certificate must have; by default the host. */
  readonly serverName?: string | undefined;
  /** Skips verification. */
  readonly insecure?: boolean | undefined;
}

/** The address of a server. */
export interface Target {
  readonly scheme: 'http' | 'https';
  /** A name, an address, or the absolute path of a unix socket, which has no port. */
  readonly host: string;
  /**
   * The addresses to dial, in order, if they are known; the host is then only the name that its certificate must have.
   */
  readonly addresses?: readonly string[] | undefined;
  readonly port: string;
  readonly tls?: TargetTls | undefined;
  /**
   * The time limit of the connection's setup. Default: half a minute for the connection and ten seconds for the
   * handshake.
   */
  readonly connectTimeoutMs?: number | undefined;
}

/**
 * Opens a connection. Rejects with the reason as upstream's clients word it. With TLS it offers the protocols (ALPN);
 * by default HTTP/1.1 only.
 */
export type Dial = (target: Target, protocols?: readonly string[]) => Promise<Duplex>;

/** Returns the target of a URL: `http://host:port`, `https://host:port` or `unix:///path`. */
export const targetOf = (url: string, tls?: TargetTls): Target => {
  const {protocol, hostname, port, pathname} = new URL(url);
  if (protocol === 'unix:') return {scheme: 'http', host: decodeURIComponent(pathname), port: ''};
  const host = hostname.replace(/^\[|\]$/g, '');
  return protocol === 'https:' ? {scheme: 'https', host, port: port || '443', tls} : {scheme: 'http', host, port: port || '80'};
};

/** `host:port` of a target. */
export const authority = ({host, port}: Pick<Target, 'host' | 'port'>): string => endpoint(host, port);

/** Returns the dialer over a network. */
export const dialer =
  (network: Network, clock: Clock): Dial =>
  async (target, protocols) => {
    using _ = clock.hold();
    const attempt: Attempt = {timedOut: false};
    return await inTime(attempt, dial(network, clock, target, {attempt, protocols}), target, clock);
  };

/** A connection that is being set up. */
interface Attempt {
  /** Below TLS, once it is connected. */
  connection?: Duplex;
  timedOut: boolean;
}

const dial = async (
  network: Network,
  clock: Clock,
  {scheme, host, addresses, port, tls = {}}: Target,
  {attempt, protocols}: {readonly attempt: Attempt; readonly protocols?: readonly string[] | undefined},
): Promise<Duplex> => {
  const within = network.within?.(host, port);
  if (within) return within;
  // Wrong trust settings are reported before anything is dialled.
  const trust = scheme === 'https' ? trustOf(tls, host, protocols) : undefined;
  const socket = await dialAny(network, addresses ?? [host], port);
  attempt.connection = socket;
  if (attempt.timedOut) return socket; // Which its reader closes.
  return trust ? handshake(socket, trust, clock) : socket;
};

/** Connects to the first of several addresses that accepts. Rejects with the first one's error. */
const dialAny = async (network: Network, addresses: readonly string[], port: string): Promise<Duplex> => {
  let failure: unknown;
  for (const address of addresses) {
    try {
      return await network.dial(address, port);
    } catch (error) {
      failure ??= error;
    }
  }
  throw failure;
};

/** Gives up after the target's time limit and closes the connection, whose handshake may still be waiting. */
const inTime = (attempt: Attempt, dialing: Promise<Duplex>, target: Target, clock: Clock): Promise<Duplex> => {
  const {connectTimeoutMs} = target;
  if (connectTimeoutMs === undefined) return dialing;
  return new Promise((resolve, reject) => {
    const timer = clock.schedule(connectTimeoutMs, () => {
      attempt.timedOut = true;
      attempt.connection?.destroy();
      reject(Object.assign(new Error(`dial tcp ${authority(target)}: i/o timeout`), {code: 'ETIMEDOUT'}));
    });
    dialing.then(
      socket => {
        timer[Symbol.dispose]();
        if (attempt.timedOut) socket.destroy();
        else resolve(socket);
      },
      (error: Error) => {
        timer[Symbol.dispose]();
        reject(error);
      },
    );
  });
};

const anchors = new WeakMap<TargetTls, TrustAnchors>();

/** Parses the CAs of a target once while they are the same. */
const anchorsOf = (tls: TargetTls): TrustAnchors | undefined => {
  if (tls.anchors || !tls.ca) return tls.anchors;
  let found = anchors.get(tls);
  if (!found) anchors.set(tls, (found = readAnchors(String(tls.ca))));
  return found;
};

const trustOf = (tls: TargetTls, host: string, protocols?: readonly string[]): ServerTrust => ({
  serverName: tls.serverName || host,
  insecure: tls.insecure === true,
  anchors: tls.insecure ? undefined : anchorsOf(tls),
  pair: tls.pair && {cert: String(tls.pair.cert), key: String(tls.pair.key)},
  protocols,
});
