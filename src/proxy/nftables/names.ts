// The names of chains, maps and sets: those of the original, so that people and programs that know its table know this.

import {hash} from 'node:crypto';
import type {ServicePortName} from '#src/proxy/state/service-port-name.js';
import type {Endpoint} from '#src/proxy/state/endpoint.js';

export const chains = {
  filterPreroutingPreDnat: 'filter-prerouting-pre-dnat',
  filterOutputPreDnat: 'filter-output-pre-dnat',
  filterInput: 'filter-input',
  filterForward: 'filter-forward',
  filterOutput: 'filter-output',
  natPrerouting: 'nat-prerouting',
  natOutput: 'nat-output',
  natPostrouting: 'nat-postrouting',
  services: 'services',
  serviceEndpointsCheck: 'service-endpoints-check',
  nodePortEndpointsCheck: 'nodeport-endpoints-check',
  clusterIpsCheck: 'cluster-ips-check',
  firewallCheck: 'firewall-check',
  reject: 'reject-chain',
  markForMasquerade: 'mark-for-masquerade',
  masquerading: 'masquerading',
} as const;

/** The maps and sets whose elements come from services. */
export const containers = [
  'cluster-ips',
  'service-ips',
  'service-nodeports',
  'no-endpoint-services',
  'no-endpoint-nodeports',
  'firewall-ips',
] as const;
export type Container = (typeof containers)[number];

export const nodePortIps = 'nodeport-ips';

const base32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
/** The longest name that the kernel takes is 256, and the longest prefix of ours 16. */
const maxLength = 240;

/** The first eight characters of the digest in base32, which are its first forty bits. */
const shortHash = (text: string): string => {
  const bits = parseInt(hash('sha256', text).slice(0, 10), 16);
  let characters = '';
  for (let unit = 32 ** 7; unit >= 1; unit /= 32) characters += base32[Math.floor(bits / unit) % 32];
  return characters;
};

/** A digest makes names unique that are cut off, and those of a service easy to tell apart. */
const hashed = (name: string): string => {
  const full = `${shortHash(name)}-${name}`;
  return full.length > maxLength ? `${full.slice(0, maxLength - 3)}...` : full;
};

const baseName = ({namespace, name, port, protocol}: ServicePortName): string => `${namespace}/${name}/${protocol.toLowerCase()}/${port}`;

/** The names of the chains of a service port. */
export interface PortChains {
  readonly cluster: string;
  readonly local: string;
  readonly external: string;
  readonly firewall: string;
}

export const portChains = (name: ServicePortName): PortChains => {
  const base = hashed(baseName(name));
  return {cluster: `service-${base}`, local: `local-${base}`, external: `external-${base}`, firewall: `firewall-${base}`};
};

const affinityPrefix = 'affinity-';

/** The names of the chain of an endpoint of a service port, and of the set of the clients that stay with it. */
export interface EndpointNames {
  readonly chain: string;
  readonly affinity: string;
}

export const endpointNames = (name: ServicePortName, {ip, port}: Endpoint): EndpointNames => {
  // Colons may not stand in names.
  const base = hashed(`${baseName(name)}__${ip.replaceAll(':', '.')}/${port}`);
  return {chain: `endpoint-${base}`, affinity: `${affinityPrefix}${base}`};
};

/** Whether a chain is one of services or endpoints: no other name has a slash. */
export const isServiceChain = (name: string): boolean => name.includes('/');

export const isAffinitySet = (name: string): boolean => name.startsWith(affinityPrefix);
