import {isIP} from 'node:net';
import {networkInterfaces} from 'node:os';
import {formatIp, parseIp, parseRange, rangeStart} from '#src/base/ip-address.js';
import type {SelfServiceParts, ServerPeers} from '#src/controlplane/self-service.js';
import type {ApiserverOptions} from '#src/options/apiserver.js';

type Options = Pick<ApiserverOptions, 'serviceClusterIpRange' | 'advertiseAddress' | 'bindAddress' | 'securePort' | 'platServiceNodePort' | 'endpointReconcilerType'>;

const defaultRange = '10.0.0.0/24';

/** The ranges of service addresses; there is one even where none was named. */
export const serviceRangesOf = ({serviceClusterIpRange}: Pick<Options, 'serviceClusterIpRange'>): readonly string[] =>
  serviceClusterIpRange.length > 0 ? serviceClusterIpRange : [defaultRange];

/** The first address of the default range: that of the service that leads to the servers. */
export const firstServiceAddress = (options: Pick<Options, 'serviceClusterIpRange'>): string => {
  const start = rangeStart(parseRange(serviceRangesOf(options)[0]!)!);
  return formatIp({...start, value: start.value + 1n});
};

/** The host's own address as others see it; undefined on a host without a network. */
const hostAddress = (family: 'IPv4' | 'IPv6'): string | undefined =>
  Object.values(networkInterfaces())
    .flatMap(addresses => addresses ?? [])
    .find(address => !address.internal && address.family === family && !address.address.startsWith('fe80:'))?.address;

const isOnlyHere = (address: string): boolean => address === '' || address === '0.0.0.0' || address === '::' || address === '::1' || address.startsWith('127.');

/** The address that members of the cluster are told: as said, or the one bound to, or the host's where that is no address for others. */
export const advertisedAddress = ({advertiseAddress = '', bindAddress}: Pick<Options, 'advertiseAddress' | 'bindAddress'>, family: 'IPv4' | 'IPv6'): string => {
  if (advertiseAddress) return advertiseAddress;
  if (isIP(bindAddress) && !isOnlyHere(bindAddress)) return bindAddress;
  return hostAddress(family) ?? hostAddress(family === 'IPv4' ? 'IPv6' : 'IPv4') ?? '127.0.0.1';
};

/** `host:port` in URLs meant for outside: of the server as it is called there, or as it listens. */
export const externalAddress = ({externalHostname}: Pick<ApiserverOptions, 'externalHostname'>, serverAddress: string): string => {
  if (!externalHostname || !serverAddress) return serverAddress;
  const host = externalHostname.includes(':') && !externalHostname.startsWith('[') ? `[${externalHostname}]` : externalHostname;
  return `${host}${serverAddress.slice(serverAddress.lastIndexOf(':'))}`;
};

/** What the self service is made of, as the options say. `serverAddress` is empty where nothing listens: then there is nothing to lead to. */
export const selfServiceOf = (options: Options, serverAddress: string, peers: ServerPeers): Omit<SelfServiceParts, 'client' | 'clock' | 'log'> => {
  const serviceAddress = firstServiceAddress(options);
  const port = Number(serverAddress.slice(serverAddress.lastIndexOf(':') + 1)) || options.securePort || 6443;
  return {
    peers: serverAddress && options.endpointReconcilerType !== 'none' ? peers : undefined,
    address: advertisedAddress(options, parseIp(serviceAddress)?.family === 6 ? 'IPv6' : 'IPv4'),
    port,
    serviceAddress,
    nodePort: options.platServiceNodePort,
  };
};
