// The networks of a server's outgoing connections: to the control plane (webhooks of authentication, authorization and
// audit, tracing), to the cluster (nodes, pods, services, other webhooks, aggregated servers) and to etcd, each direct
// or through a proxy server (`--egress-selector-config-file`).

import {readFile} from 'node:fs/promises';
import type {Naming} from '#src/api/naming.js';
import type {EgressConnection, EgressName} from '#src/apiserver/configuration/egress.js';
import type {Clock} from '#src/base/clock.js';
import {messageOf} from '#src/base/message.js';
import type {Meter} from '#src/base/meter.js';
import type {Random} from '#src/base/random.js';
import type {ApiserverOptions} from '#src/options/programs/apiserver.js';
import {checkKeyPair} from '#src/pki/key-pair.js';
import {environmentDialer} from '#src/transport/environment-proxy.js';
import {dialer, targetOf, type Dial, type TargetTls} from '#src/transport/dial.js';
import type {EgressProxy} from '#src/transport/egress/tunnel-network.js';
import {systemNetwork, type Network} from '#src/transport/network.js';
import {readAnchors} from '#src/transport/tls-handshake.js';

export interface EgressParts {
  readonly options: Pick<ApiserverOptions, 'egressSelectorConfigFile'>;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly random: Random;
  readonly meter: Meter;
  /** The network of direct connections. */
  readonly network: Network;
}

/** The outgoing connections of a server. */
export interface Egress {
  /** Returns the network for a kind of servers. */
  network(name: EgressName): Network;
  /** Whether the file says how that network is reached. */
  isConfigured(name: EgressName): boolean;
  /** Returns the dialer for requests over that network, which may go through a proxy of the environment. */
  dial(name: EgressName | 'direct'): Dial;
}

/**
 * Opens the networks of the configuration file. Rejects with an error of one line that names the flag; proxy servers
 * are reached later.
 */
export const openEgress = async (parts: EgressParts): Promise<Egress> => {
  const {network: direct, clock} = parts;
  const networks = await configured(parts);
  const network = (name: EgressName | 'direct') => (name === 'direct' ? direct : (networks.get(name) ?? direct));
  return {network, isConfigured: name => networks.has(name), dial: name => environmentDialer(network(name), clock)};
};

/** Returns the dialer of etcd servers; undefined if connections to them are direct. Rejects as `openEgress`. */
export const etcdDialer = async (parts: Omit<EgressParts, 'network'>): Promise<Dial | undefined> => {
  if (parts.options.egressSelectorConfigFile === '') return undefined;
  const egress = await openEgress({...parts, network: systemNetwork(parts.clock)});
  return egress.isConfigured('etcd') ? dialer(egress.network('etcd'), parts.clock) : undefined;
};

const configured = async ({options, naming, ...parts}: EgressParts): Promise<ReadonlyMap<EgressName, Network>> => {
  const {egressSelectorConfigFile: path} = options;
  if (path === '') return new Map();
  try {
    const [{readEgressConfiguration}, {tunnelNetwork}] = await Promise.all([
      import('#src/apiserver/configuration/egress.js'),
      import('#src/transport/egress/tunnel-network.js'),
    ]);
    const networks = new Map<EgressName, Network>();
    for (const [name, connection] of readEgressConfiguration(await readFile(path, 'utf8'), naming)) {
      const proxy = await proxyOf(connection);
      networks.set(name, proxy ? tunnelNetwork(proxy, parts) : parts.network);
    }
    return networks;
  } catch (cause) {
    throw new Error(`--egress-selector-config-file: ${path}: ${messageOf(cause)}`, {cause});
  }
};

const proxyOf = async (connection: EgressConnection): Promise<EgressProxy | undefined> => {
  switch (connection.kind) {
    case 'direct':
      return undefined;
    case 'socket':
      return {protocol: connection.protocol, transport: 'uds', socket: connection.socket};
    case 'tcp':
      return {protocol: 'http_connect', transport: 'tcp', target: targetOf(connection.url, await tlsOf(connection.tls))};
  }
};

const tlsOf = async (files: (EgressConnection & {kind: 'tcp'})['tls']): Promise<TargetTls | undefined> => {
  if (!files) return undefined;
  const {caBundle, clientCert = '', clientKey = ''} = files;
  const [cert, key] = await Promise.all([readFile(clientCert, 'utf8'), readFile(clientKey, 'utf8')]);
  try {
    checkKeyPair(cert, key);
  } catch (cause) {
    throw new Error(`failed to read key pair ${clientCert} & ${clientKey}, got ${messageOf(cause)}`, {cause});
  }
  return {pair: {cert, key}, ...(caBundle ? {anchors: readAnchors(await readFile(caBundle, 'utf8'))} : {})};
};
