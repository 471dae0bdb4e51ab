// The part of the table that does not depend on services: the chains at the hooks, and the maps and sets that lead from
// them to the chains of services.

import {proxyTable} from '#src/api/naming.js';
import type {IpFamily} from '#src/proxy/state/ip-family.js';
import {familyWords} from './expressions.js';
import {chains, nodePortIps} from './names.js';

/** What the base depends on. */
export interface BaseSettings {
  readonly family: IpFamily;
  readonly mark: string;
  readonly serviceCidrs: readonly string[];
  /** The addresses that take traffic to node ports; undefined for all local ones. */
  readonly nodePortAddresses: readonly string[] | undefined;
}

interface HookedChain {
  readonly name: string;
  readonly type: 'filter' | 'nat';
  readonly hook: 'prerouting' | 'input' | 'forward' | 'output' | 'postrouting';
  readonly priority: number;
}

/** The priority of the kernel's translation of destinations. */
const dstnat = -100;
const srcnat = 100;

const hooked: readonly HookedChain[] = [
  // Before the translation, where source ranges see the load balancer's address.
  {name: chains.filterPreroutingPreDnat, type: 'filter', hook: 'prerouting', priority: dstnat - 10},
  {name: chains.filterOutputPreDnat, type: 'filter', hook: 'output', priority: dstnat - 10},
  {name: chains.filterInput, type: 'filter', hook: 'input', priority: 0},
  {name: chains.filterForward, type: 'filter', hook: 'forward', priority: 0},
  {name: chains.filterOutput, type: 'filter', hook: 'output', priority: 0},
  {name: chains.natPrerouting, type: 'nat', hook: 'prerouting', priority: dstnat},
  {name: chains.natOutput, type: 'nat', hook: 'output', priority: dstnat},
  {name: chains.natPostrouting, type: 'nat', hook: 'postrouting', priority: srcnat},
];

/** The chains that the hooked ones jump to, in order. */
const jumps: readonly (readonly [from: string, to: string, when?: string])[] = [
  // Not from prerouting: kernels before 5.9 reject there.
  [chains.filterInput, chains.nodePortEndpointsCheck, 'ct state new'],
  [chains.filterInput, chains.serviceEndpointsCheck, 'ct state new'],
  [chains.filterForward, chains.serviceEndpointsCheck, 'ct state new'],
  [chains.filterOutput, chains.serviceEndpointsCheck, 'ct state new'],
  [chains.filterPreroutingPreDnat, chains.firewallCheck, 'ct state new'],
  [chains.filterOutputPreDnat, chains.firewallCheck, 'ct state new'],
  [chains.natOutput, chains.services],
  [chains.natPrerouting, chains.services],
  [chains.natPostrouting, chains.masquerading],
  [chains.filterForward, chains.clusterIpsCheck, 'ct state new'],
  [chains.filterOutput, chains.clusterIpsCheck, 'ct state new'],
];

const plain = [
  chains.nodePortEndpointsCheck,
  chains.serviceEndpointsCheck,
  chains.firewallCheck,
  chains.services,
  chains.masquerading,
  chains.clusterIpsCheck,
  chains.markForMasquerade,
] as const;

/** The maps that end in verdicts, with their comments. */
const verdicts: readonly (readonly [name: string, byAddress: boolean, comment: string])[] = [
  ['no-endpoint-services', true, 'vmap to drop or reject packets to services with no endpoints'],
  ['no-endpoint-nodeports', false, 'vmap to drop or reject packets to service nodeports with no endpoints'],
  ['firewall-ips', true, 'destinations that are subject to LoadBalancerSourceRanges'],
  ['service-ips', true, 'ClusterIP, ExternalIP and LoadBalancer IP traffic'],
  ['service-nodeports', false, 'NodePort traffic'],
];

const commented = (rule: string, comment: string): string => `${rule} comment "${comment}"`;

const hookLines = (at: string, recreates: boolean): string[] => [
  // The type or priority of a chain cannot be changed.
  ...(recreates ? hooked.flatMap(({name}) => [`add chain ${at} ${name}`, `delete chain ${at} ${name}`]) : []),
  ...hooked.flatMap(({name, type, hook, priority}) => [
    `add chain ${at} ${name} { type ${type} hook ${hook} priority ${priority} ; }`,
    `flush chain ${at} ${name}`,
  ]),
  ...plain.flatMap(name => [`add chain ${at} ${name}`, `flush chain ${at} ${name}`]),
  `add chain ${at} ${chains.reject} { comment "helper for @no-endpoint-services / @no-endpoint-nodeports" ; }`,
  `flush chain ${at} ${chains.reject}`,
];

const containerLines = (at: string, {family, nodePortAddresses}: BaseSettings): string[] => {
  const {address} = familyWords[family];
  return [
    `add set ${at} cluster-ips { type ${address} ; comment "Active ClusterIPs" ; }`,
    `add set ${at} ${nodePortIps} { type ${address} ; comment "IPs that accept NodePort traffic" ; }`,
    // A set that does not exist cannot be deleted: it is added before.
    `${nodePortAddresses ? 'flush' : 'delete'} set ${at} ${nodePortIps}`,
    ...verdicts.map(
      ([name, byAddress, comment]) =>
        `add map ${at} ${name} { type ${byAddress ? `${address} . ` : ''}inet_proto . inet_service : verdict ; comment "${comment}" ; }`,
    ),
    ...(nodePortAddresses ?? []).map(ip => `add element ${at} ${nodePortIps} { ${ip} }`),
  ];
};

const ruleLines = (at: string, {family, mark, serviceCidrs, nodePortAddresses}: BaseSettings): string[] => {
  const {ip, notLoopback} = familyWords[family];
  const destination = `${ip} daddr . meta l4proto . th dport vmap`;
  const nodePort = `meta l4proto . th dport vmap`;
  const restricted = `${ip} daddr @${nodePortIps}`;
  const rules: (readonly [chain: string, rule: string])[] = [
    ...jumps.map(([from, to, when = '']) => [from, `${when} jump ${to}`.trim()] as const),
    [chains.markForMasquerade, `mark set mark or ${mark}`],
    [chains.masquerading, `mark and ${mark} == 0 return`],
    [chains.masquerading, `mark set mark xor ${mark}`],
    [chains.masquerading, 'masquerade fully-random'],
    [chains.clusterIpsCheck, commented(`${ip} daddr @cluster-ips reject`, 'Reject traffic to invalid ports of ClusterIPs')],
  ];
  if (serviceCidrs.length > 0) {
    const unallocated = `${ip} daddr { ${serviceCidrs.join(',')} } drop`;
    rules.push([chains.clusterIpsCheck, commented(unallocated, 'Drop traffic to unallocated ClusterIPs')]);
  }
  rules.push(
    [chains.reject, 'reject'],
    [chains.serviceEndpointsCheck, `${destination} @no-endpoint-services`],
    [chains.nodePortEndpointsCheck, `${nodePortAddresses ? restricted : notLoopback} ${nodePort} @no-endpoint-nodeports`],
    [chains.firewallCheck, `${destination} @firewall-ips`],
    [chains.services, `${destination} @service-ips`],
    [chains.services, `${nodePortAddresses ? restricted : `fib daddr type local ${notLoopback}`} ${nodePort} @service-nodeports`],
  );
  return rules.map(([chain, rule]) => `add rule ${at} ${chain} ${rule}`);
};

/** Returns the commands that make the base. `recreates`: the chains at hooks may be there with other types or priorities. */
export const baseLines = (settings: BaseSettings, recreates: boolean): string[] => {
  const at = `${familyWords[settings.family].ip} ${proxyTable.name}`;
  return [
    `add table ${at} { comment "${proxyTable.comment}" ; }`,
    ...hookLines(at, recreates),
    ...containerLines(at, settings),
    ...ruleLines(at, settings),
  ];
};
