// The rules that do not come from services: jumps from the chains of the kernel, and the chains that masquerade and
// forward.

import type {LocalDetection} from '#src/proxy/mode/settings.js';
import {isLoopback} from '#src/base/ip-address.js';
import type {IpFamily} from '#src/proxy/state/ip-family.js';
import type {Iptables} from './iptables.js';
import {chains, countedBy, type Table} from './names.js';
import {counterNames} from './packet-counters.js';

/** A rule that sends packets from a chain of the kernel to one of the proxy. */
interface Jump {
  readonly table: Table;
  readonly from: string;
  readonly to: string;
  readonly rule: readonly string[];
}

const jump = (table: Table, from: string, to: string, comment: string, match = ''): Jump => ({
  table,
  from,
  to,
  rule: [...match.split(' ').filter(Boolean), '-m', 'comment', '--comment', comment, '-j', to],
});

const isNew = '-m conntrack --ctstate NEW';

/** The jumps that belong to the proxy alone. */
const ownJumps: readonly Jump[] = [
  jump('filter', 'INPUT', chains.externalServices, 'kubernetes externally-visible service portals', isNew),
  jump('filter', 'FORWARD', chains.externalServices, 'kubernetes externally-visible service portals', isNew),
  jump('filter', 'INPUT', chains.nodePorts, 'kubernetes health check service ports'),
  jump('filter', 'FORWARD', chains.services, 'kubernetes service portals', isNew),
  jump('filter', 'OUTPUT', chains.services, 'kubernetes service portals', isNew),
  jump('filter', 'FORWARD', chains.forward, 'kubernetes forwarding rules'),
  jump('filter', 'INPUT', chains.firewall, 'kubernetes load balancer firewall', isNew),
  jump('filter', 'OUTPUT', chains.firewall, 'kubernetes load balancer firewall', isNew),
  jump('filter', 'FORWARD', chains.firewall, 'kubernetes load balancer firewall', isNew),
  jump('nat', 'OUTPUT', chains.services, 'kubernetes service portals'),
  jump('nat', 'PREROUTING', chains.services, 'kubernetes service portals'),
  jump('nat', 'POSTROUTING', chains.postrouting, 'kubernetes postrouting rules'),
];

/** Node agents have the same, so that these are never deleted. */
const sharedJumps: readonly Jump[] = ['INPUT', 'OUTPUT'].map(from => ({
  table: 'filter',
  from,
  to: chains.localFirewall,
  rule: ['-j', chains.localFirewall],
}));

/** Ensures that the chains of the kernel jump to those of the proxy. Rejects at the first that fails. */
export const ensureJumps = async (iptables: Iptables): Promise<void> => {
  for (const {table, from, to, rule} of [...ownJumps, ...sharedJumps]) {
    await iptables.ensureChain(table, to);
    await iptables.ensureRule(table, from, rule);
  }
};

/** Deletes the jumps that belong to the proxy alone. Returns what failed. */
export const deleteJumps = async (iptables: Iptables): Promise<readonly unknown[]> => {
  const errors: unknown[] = [];
  for (const {table, from, rule} of ownJumps) await iptables.deleteRule(table, from, rule).catch((error: unknown) => errors.push(error));
  return errors;
};

/** The chains that all service ports share, by table. */
export const sharedChains = {
  filter: [chains.services, chains.externalServices, chains.forward, chains.nodePorts, chains.firewall],
  nat: [chains.services, chains.nodePorts, chains.postrouting, chains.markMasquerade],
} as const;

/** What the rules depend on. */
export interface BaseSettings {
  readonly family: IpFamily;
  readonly masqueradeBit: number;
  readonly hasRandomFully: boolean;
  /** Whether node ports are reachable by addresses of the loopback. */
  readonly localhostNodePorts: boolean;
  /** Whether the kernel takes packets outside of a connection's window. */
  readonly conntrackTcpLiberal: boolean;
  /** Whether packets that belong to no connection are counted. */
  readonly countsInvalid: boolean;
  /** The addresses that take traffic to node ports; undefined for all of the node. */
  readonly nodePortIps: readonly string[] | undefined;
}

const masqueradeMark = (bit: number): string => `0x${(2 ** bit).toString(16).padStart(8, '0')}`;

/** The rules of the table nat that come before those of services. */
export const natRules = ({masqueradeBit, hasRandomFully}: BaseSettings): readonly string[] => {
  const mark = masqueradeMark(masqueradeBit);
  return [
    `-A ${chains.postrouting} -m mark ! --mark ${mark}/${mark} -j RETURN`,
    // A packet that passes again is not to be masqueraded again.
    `-A ${chains.postrouting} -j MARK --xor-mark ${mark}`,
    `-A ${chains.postrouting} -m comment --comment "kubernetes service traffic requiring SNAT" -j MASQUERADE${hasRandomFully ? ' --random-fully' : ''}`,
    `-A ${chains.markMasquerade} -j MARK --or-mark ${mark}`,
  ];
};

/** The last rules of the table nat, which look for node ports where no other address of a service has matched. */
export const nodePortRules = ({family, localhostNodePorts, nodePortIps}: BaseSettings): readonly string[] => {
  const rule = (match: string): string =>
    `-A ${chains.services} -m comment --comment "kubernetes service nodeports; NOTE: this must be the last rule in this chain" ${match} -j ${chains.nodePorts}`;
  if (nodePortIps) return nodePortIps.filter(ip => localhostNodePorts || !isLoopback(ip)).map(ip => rule(`-d ${ip}`));
  const local = '-m addrtype --dst-type LOCAL';
  const loopback = family === 'IPv6' ? '::1/128' : '127.0.0.0/8';
  return [rule(localhostNodePorts ? local : `${local} ! -d ${loopback}`)];
};

/**
 * Where node ports are open on the loopback, others of the network could reach what listens there. Node agents have the
 * same rule.
 */
export const localFirewallRules = ({localhostNodePorts}: BaseSettings): readonly string[] =>
  localhostNodePorts
    ? [
        `-A ${chains.localFirewall} -m comment --comment "block incoming localnet connections" -d 127.0.0.0/8 ! -s 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP`,
      ]
    : [];

/** The rules of what is forwarded. */
export const forwardRules = ({masqueradeBit, conntrackTcpLiberal, countsInvalid}: BaseSettings): readonly string[] => {
  const mark = masqueradeMark(masqueradeBit);
  const counting = countsInvalid ? ` ${countedBy(counterNames.invalid)}` : '';
  return [
    ...(conntrackTcpLiberal ? [] : [`-A ${chains.forward} -m conntrack --ctstate INVALID${counting} -j DROP`]),
    `-A ${chains.forward} -m comment --comment "kubernetes forwarding rules" -m mark --mark ${mark}/${mark} -j ACCEPT`,
    `-A ${chains.forward} -m comment --comment "kubernetes forwarding conntrack rule" -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT`,
  ];
};

/** Returns what matches the traffic of the node's pods, and all other; undefined if the family has no detection. */
export const localTraffic = (
  detection: LocalDetection,
  family: IpFamily,
): {readonly isLocal: string; readonly isNotLocal: string} | undefined => {
  const matching = (match: string | undefined) => (match === undefined ? undefined : {isLocal: match, isNotLocal: `! ${match}`});
  switch (detection.by) {
    case 'ranges':
      return matching(detection.ranges[family] && `-s ${detection.ranges[family]}`);
    case 'interface':
      return matching(`-i ${detection.name}`);
    case 'interfacePrefix':
      return matching(`-i ${detection.prefix}+`);
    case 'nothing':
      return undefined;
  }
};
