import {isIP} from 'node:net';
import {serverIdentity} from '#src/controlplane/identity-lease.js';
import {peerDiscoveryLoop} from '#src/controlplane/peer-discovery.js';
import type {Loops} from '#src/controlplane/loops.js';
import type {Naming} from '#src/api/naming.js';
import {PeerCatalog} from '#src/apiserver/peers/catalog.js';
import {PeerEndpoints, type PeerAddress} from '#src/apiserver/peers/endpoints.js';
import {peerProxy, type PeerProxy} from '#src/apiserver/peers/proxy.js';
import type {Registrations} from '#src/apiserver/aggregation/registrations.js';
import type {Registry} from '#src/apiserver/registry/registry.js';
import {runEvery, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import type {Random} from '#src/base/random.js';
import type {ApiserverOptions} from '#src/options/programs/apiserver.js';
import type {Store} from '#src/storage/store.js';
import type {TargetTls} from '#src/transport/dial.js';
import type {Connections} from '#src/transport/http1/connections.js';
import {readAnchors} from '#src/transport/tls-handshake.js';
import {explained, readFlagFile} from './authentication/authentication.js';
import type {StartHook} from './start/hook.js';
import type {ProxyClient} from '#src/plane/outgoing/proxy-client.js';
import {advertisedAddress} from './addresses.js';
import {storePrefix} from './store-servers.js';

export interface PeerParts {
  readonly options: ApiserverOptions;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly meter: Meter;
  gate(name: string): boolean;
  readonly store: Store;
  readonly registry: Registry;
  readonly registrations: Registrations;
  readonly backends: Connections;
  readonly proxy: ProxyClient;
  /** The name of this server's host, from which its identity follows. */
  readonly host: string;
  readonly serverAddress: string;
  readonly signal: AbortSignal;
}

/** The other servers on the same store. */
export interface ServerPeers {
  /** Present with `--peer-ca-file`. */
  readonly proxy: PeerProxy | undefined;
  readonly catalog: PeerCatalog | undefined;
  hooks(loops: Loops): StartHook[];
  /** Removes this server's address. */
  leave(): Promise<void>;
}

const renewMs = 10_000;

/** The address of the flags if both are given, or the advertised one. */
const ownAddress = ({options, serverAddress}: PeerParts): PeerAddress => {
  const {peerAdvertiseIp: ip, peerAdvertisePort: port} = options;
  if (ip && port) return {host: ip, port};
  const family = isIP(options.bindAddress) === 6 ? 'IPv6' : 'IPv4';
  const ownPort = Number(serverAddress.slice(serverAddress.lastIndexOf(':') + 1)) || options.securePort;
  return {host: advertisedAddress(options, family), port: ownPort};
};

/**
 * Returns a function that yields the TLS settings for connections to peers, which change with the server's client
 * certificate.
 */
const tlsOf = ({options: {peerCaFile: path}, naming, proxy}: PeerParts): (() => TargetTls) => {
  const ca = readFlagFile('peer-ca-file', path).toString();
  const anchors = explained('peer-ca-file', path, () => readAnchors(ca));
  const make = (): TargetTls => ({anchors, pair: proxy.pair, serverName: `${naming.self}.default.svc`});
  let current = make();
  return () => (current.pair === proxy.pair ? current : (current = make()));
};

/**
 * Everything about peers that the flags configure; undefined if servers do not pass requests to each other. Throws an
 * error of one line that names the flag.
 */
export const serverPeers = (parts: PeerParts): ServerPeers | undefined => {
  const {options, clock, log, gate, store, registry, host, signal} = parts;
  if (!gate('UnknownVersionInteroperabilityProxy')) return undefined;
  if (!store.shared) {
    log.warn('the gate UnknownVersionInteroperabilityProxy has no effect: no other server can use this store');
    return undefined;
  }
  const id = serverIdentity(host);
  const endpoints = new PeerEndpoints({store, prefix: storePrefix(options)});
  const tls = options.peerCaFile ? tlsOf(parts) : undefined;
  const catalog = tls && new PeerCatalog({...parts, endpoints, tls});
  let isLeaving = false;
  const renew = async (): Promise<void> => {
    if (isLeaving) return;
    using _ = clock.hold();
    await endpoints.renew(id, ownAddress(parts)).catch((error: unknown) => {
      if (!signal.aborted) log.warn({err: error}, 'the address for other servers could not be announced');
    });
  };
  return {
    catalog,
    proxy: tls && catalog && peerProxy({...parts, registry, catalog, endpoints, tls}),
    hooks: loops => [
      {
        name: 'peer-endpoint-reconciler-controller',
        async run() {
          await renew();
          runEvery(clock, renewMs, signal, renew);
        },
      },
      ...(catalog
        ? [{name: 'unknown-version-proxy-filter', run: () => loops.run(peerDiscoveryLoop(id, servers => catalog.refresh(servers)))}]
        : []),
    ],
    async leave() {
      isLeaving = true;
      await endpoints.remove(id);
    },
  };
};
