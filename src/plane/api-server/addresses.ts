// The addresses of an API server: its service ranges, the address it advertises, its external address, and the
// parameters of the service of the API servers. Derived from flags alone; the service is maintained by
// src/controlplane.

import {isIP} from 'node:net';
import {formatIp, isLoopback, parseIp, parseRange, rangeStart} from '#src/base/ip-address.js';
import type {SelfServiceParts, ServerPeers} from '#src/controlplane/self-service.js';
import type {ApiserverOptions} from '#src/options/programs/apiserver.js';
import {hostAddress} from './host-address.js';

type Options = Pick<
  ApiserverOptions,
  'serviceClusterIpRange' | 'advertiseAddress' | 'bindAddress' | 'securePort' | 'platServiceNodePort' | 'endpointReconcilerType'
>;

const defaultRange = '10.0.0.0/24';

/** The ranges of service addresses; without a configured one, the default. */
export const serviceRangesOf = ({serviceClusterIpRange}: Pick<Options, 'serviceClusterIpRange'>): readonly string[] =>
  serviceClusterIpRange.length > 0 ? serviceClusterIpRange : [defaultRange];

/** The first address of the default range: that of the self service. */
export const firstServiceAddress = (options: Pick<Options, 'serviceClusterIpRange'>): string => {
  const start = rangeStart(parseRange(serviceRangesOf(options)[0]!)!);
  return formatIp({...start, value: start.value + 1n});
};

const isLocalOnly = (address: string): boolean => ['', '0.0.0.0', '::'].includes(address) || isLoopback(address);

/**
 * The advertised address: the configured one, or the bind address, or the host's if the bind address is not reachable
 * for others; a loopback one where there is no other.
 */
export const advertisedAddress = (
  {advertiseAddress = '', bindAddress}: Pick<Options, 'advertiseAddress' | 'bindAddress'>,
  family: 'IPv4' | 'IPv6',
): string => {
  if (advertiseAddress) return advertiseAddress;
  if (isIP(bindAddress) && !isLocalOnly(bindAddress)) return bindAddress;
  const loopback = isLoopback(bindAddress) ? bindAddress : family === 'IPv6' ? '::1' : '127.0.0.1';
  return hostAddress(family) ?? hostAddress(family === 'IPv4' ? 'IPv6' : 'IPv4') ?? loopback;
};

type Addresses = Pick<ApiserverOptions, 'externalHostname' | 'advertiseAddress' | 'bindAddress'>;

/**
 * The host by which other machines reach the server: the external host name, or the advertised address; undefined if it
 * listens on a loopback address only.
 */
export const reachableHost = (options: Addresses): string | undefined => {
  if (options.externalHostname) return options.externalHostname;
  if (!options.advertiseAddress && isLoopback(options.bindAddress)) return undefined;
  return advertisedAddress(options, isIP(options.bindAddress) === 6 ? 'IPv6' : 'IPv4');
};

/**
 * `host:port` of external URLs, by which nodes and pods reach the server: the listener's address unless there is one
 * that other machines reach. Empty without a listener.
 */
export const externalAddress = (options: Addresses, serverAddress: string): string => {
  const host = reachableHost(options);
  if (!host || !serverAddress) return serverAddress;
  return `${host.includes(':') && !host.startsWith('[') ? `[${host}]` : host}${serverAddress.slice(serverAddress.lastIndexOf(':'))}`;
};

/**
 * The parameters of the self service from the options. `serverAddress` is empty without a listener: then there is no
 * endpoint.
 */
export const selfServiceOf = (
  options: Options,
  serverAddress: string,
  peers: ServerPeers,
): Omit<SelfServiceParts, 'client' | 'clock' | 'log'> => {
  const serviceAddress = firstServiceAddress(options);
  const port = Number(serverAddress.slice(serverAddress.lastIndexOf(':') + 1)) || options.securePort || 6443;
  const hasEndpoint = serverAddress !== '' && options.endpointReconcilerType !== 'none';
  return {
    peers: hasEndpoint ? peers : undefined,
    address: hasEndpoint ? advertisedAddress(options, parseIp(serviceAddress)?.family === 6 ? 'IPv6' : 'IPv4') : '',
    port,
    serviceAddress,
    nodePort: options.platServiceNodePort,
  };
};
