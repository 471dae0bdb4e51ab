// The names of tables and chains: those of the original, so that people and programs that know its chains know these.

import {createHash} from 'node:crypto';
import type {Endpoint} from '#src/proxy/state/endpoint.js';
import type {ServicePort} from '#src/proxy/state/service-port.js';

export type Table = 'mangle' | 'nat' | 'filter';

export const chains = {
  services: 'KUBE-SERVICES',
  externalServices: 'KUBE-EXTERNAL-SERVICES',
  nodePorts: 'KUBE-NODEPORTS',
  postrouting: 'KUBE-POSTROUTING',
  markMasquerade: 'KUBE-MARK-MASQ',
  forward: 'KUBE-FORWARD',
  firewall: 'KUBE-PROXY-FIREWALL',
  canary: 'KUBE-PROXY-CANARY',
  /** Shared with node agents, which create it as well. */
  localFirewall: 'KUBE-FIREWALL',
} as const;

const base32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
/** Names of chains have at most 28 characters. */
const hashLength = 16;

/** The first characters of the digest of a text in base32. */
const hash = (text: string): string => {
  const bits = BigInt(`0x${createHash('sha256').update(text).digest('hex')}`) >> BigInt(256 - 5 * hashLength);
  return Array.from({length: hashLength}, (_, at) => base32[Number((bits >> BigInt(5 * (hashLength - 1 - at))) & 31n)]).join('');
};

const prefixes = {
  cluster: 'KUBE-SVC-',
  local: 'KUBE-SVL-',
  firewall: 'KUBE-FW-',
  external: 'KUBE-EXT-',
  endpoint: 'KUBE-SEP-',
} as const;

/** The chains of a service port. */
export type PortChains = Readonly<Record<Exclude<keyof typeof prefixes, 'endpoint'>, string>>;

/** What lets a rule count its packets. */
export const countedBy = (counter: string): string => `-m nfacct --nfacct-name ${counter}`;

/** How a protocol is written in rules. */
export const protocolOf = ({protocol}: Pick<ServicePort, 'protocol'>): string => protocol.toLowerCase();

export const portChains = (port: Pick<ServicePort, 'text' | 'protocol'>): PortChains => {
  const digest = hash(`${port.text}${protocolOf(port)}`);
  return {
    cluster: `${prefixes.cluster}${digest}`,
    local: `${prefixes.local}${digest}`,
    firewall: `${prefixes.firewall}${digest}`,
    external: `${prefixes.external}${digest}`,
  };
};

export const endpointChain = (port: Pick<ServicePort, 'text' | 'protocol'>, {address}: Pick<Endpoint, 'address'>): string =>
  `${prefixes.endpoint}${hash(`${port.text}${protocolOf(port)}${address}`)}`;

/** Whether a chain is that of a service port or an endpoint. */
export const isPortChain = (chain: string): boolean => Object.values(prefixes).some(prefix => chain.startsWith(prefix));

/** The line that creates a chain, or empties it. */
export const chainLine = (chain: string): string => `:${chain} - [0:0]`;
