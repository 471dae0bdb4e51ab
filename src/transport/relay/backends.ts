// Connections to the servers behind the API server: aggregated servers, node agents, pods and services. Ordinary calls reuse them by address and TLS
// settings; upgraded connections are never reused.

import {Agent} from 'node:http';
import type {Socket} from 'node:net';
import type {Duplex} from 'node:stream';
import type {Clock} from '#src/base/clock.js';
import {noLog, type Log} from '#src/base/log.js';
import type {TrustAnchors} from '#src/pki/chain.js';
import {CallLog} from '#src/transport/call-log.js';
import {endpoint, type Network} from '#src/transport/network.js';
import {readAnchors, handshake, type BackendTrust} from '#src/transport/secure-dial.js';

/** The TLS settings of a backend. The same object is kept while nothing changes, since connections are pooled by it. */
export interface BackendTls {
  /** PEM; by default the system's CAs are trusted. */
  readonly ca?: string | Buffer | undefined;
  readonly pair?: {readonly cert: string | Buffer; readonly key: string | Buffer} | undefined;
  /** The name that its certificate must have; by default the host. */
  readonly serverName?: string | undefined;
  /** Skips verification. */
  readonly insecure?: boolean | undefined;
}

/** The address of a backend. */
export interface Backend {
  readonly scheme: 'http' | 'https';
  readonly host: string;
  /** The addresses to dial, in order, if they are known; the host is then only the name that its certificate must have. */
  readonly addresses?: readonly string[] | undefined;
  readonly port: string;
  readonly tls?: BackendTls | undefined;
  /** The time limit of the connection's setup. Default: half a minute for the connection and ten seconds for the handshake. */
  readonly connectTimeoutMs?: number | undefined;
}

/** The error of a backend that was not reached, with the reason as upstream's clients word it. */
export class BackendUnreachable extends Error {
  override readonly name = 'Unreached';
}

const idleTimeoutMs = 90_000;

/** `host:port` of a backend. */
export const authority = ({host, port}: Pick<Backend, 'host' | 'port'>): string => endpoint(host, port);

/** Opens a connection to a backend; rejects with `Unreached`. */
const open = async (options: BackendsOptions, backend: Backend): Promise<Duplex> => {
  try {
    return await inTime(dial(options, backend), backend, options.clock);
  } catch (error) {
    throw new BackendUnreachable((error as Error).message, {cause: error});
  }
};

const dial = async ({network, clock}: BackendsOptions, {scheme, host, addresses, port, tls = {}}: Backend): Promise<Duplex> => {
  const within = network.within?.(host, port);
  if (within) return within;
  const trust = scheme === 'https' ? trustOf(tls, host) : undefined;
  const socket = await dialAny(network, addresses ?? [host], port);
  return trust ? handshake(socket, trust, clock) : socket;
};

/** Connects to the first of several addresses that accepts. Rejects with the first one's error. */
const dialAny = async (network: Network, addresses: readonly string[], port: string): Promise<Socket> => {
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

const inTime = (dialing: Promise<Duplex>, backend: Backend, clock: Clock): Promise<Duplex> => {
  const {connectTimeoutMs} = backend;
  if (connectTimeoutMs === undefined) return dialing;
  return new Promise((resolve, reject) => {
    let timedOut = false;
    const timer = clock.schedule(connectTimeoutMs, () => {
      timedOut = true;
      reject(new Error(`dial tcp ${authority(backend)}: i/o timeout`));
    });
    dialing.then(
      socket => {
        timer[Symbol.dispose]();
        if (timedOut) socket.destroy();
        else resolve(socket);
      },
      (error: Error) => {
        timer[Symbol.dispose]();
        reject(error);
      },
    );
  });
};

const anchors = new WeakMap<BackendTls, TrustAnchors>();

/** Parses the CAs of a backend once while they are the same. */
const anchorsOf = (tls: BackendTls): TrustAnchors | undefined => {
  if (!tls.ca) return undefined;
  let found = anchors.get(tls);
  if (!found) anchors.set(tls, (found = readAnchors(String(tls.ca))));
  return found;
};

const trustOf = (tls: BackendTls, host: string): BackendTrust => ({
  serverName: tls.serverName || host,
  insecure: tls.insecure === true,
  anchors: tls.insecure ? undefined : anchorsOf(tls),
  pair: tls.pair && {cert: String(tls.pair.cert), key: String(tls.pair.key)},
});

export interface BackendsOptions {
  readonly network: Network;
  readonly clock: Clock;
  /** The log of calls. */
  readonly log?: Log | undefined;
}

/** The connections to backends. Those of ordinary calls are reused; each upgraded one is opened separately. */
export interface Backends extends Disposable {
  readonly clock: Clock;
  /** The log of calls. */
  readonly calls: CallLog;
  /** Reuses connections by the backend's name. */
  readonly reused: Agent;
  /** Opens a connection for one request. */
  readonly single: Agent;
}

/** The fields of a request that an agent receives besides Node's own. */
export interface Addressed {
  readonly backend: Backend;
}

export const backends = (options: BackendsOptions): Backends => {
  const names = new WeakMap<BackendTls, number>();
  let last = 0;
  const nameOf = ({scheme, tls, addresses = [], ...at}: Backend): string => {
    if (tls && !names.has(tls)) names.set(tls, ++last);
    return `${scheme}://${authority(at)}#${tls ? names.get(tls)! : 0}${addresses.map(address => `,${address}`).join('')}`;
  };
  const agent = (settings: ConstructorParameters<typeof Agent>[0]): Agent =>
    Object.assign(new Agent(settings), {
      getName: (agentOptions: object) => nameOf((agentOptions as Addressed).backend),
      createConnection: (agentOptions: object, done: (error: Error | null, socket?: Duplex) => void) => {
        void open(options, (agentOptions as Addressed).backend).then(socket => done(null, socket), done);
      },
    });
  const reused = agent({keepAlive: true, maxFreeSockets: 25, timeout: idleTimeoutMs});
  const single = agent({keepAlive: false});
  return {
    clock: options.clock,
    calls: new CallLog(options.log ?? noLog, options.clock),
    reused,
    single,
    [Symbol.dispose]() {
      reused.destroy();
      single.destroy();
    },
  };
};
