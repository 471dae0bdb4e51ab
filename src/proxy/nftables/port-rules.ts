// The rules of one service port: its chains, its elements in maps and sets, and the sets of its clients.

import {rangeHolds, parseLooseIp} from '#src/base/ip-address.js';
import type {Endpoint} from '#src/proxy/state/endpoint.js';
import {parseLooseRange, type IpFamily} from '#src/proxy/state/ip-family.js';
import {isExternallyAccessible, usesClusterEndpoints, usesLocalEndpoints, type ServicePort} from '#src/proxy/state/service-port.js';
import type {Reachable} from '#src/proxy/topology/reachable.js';
import {familyWords, type LocalTraffic} from './expressions.js';
import {chains as fixed, endpointNames, portChains, type Container, type EndpointNames, type PortChains} from './names.js';

/** An element of a map or set. */
export interface Element {
  readonly container: Container;
  readonly key: string;
  /** The verdict; undefined in sets. */
  readonly value?: string;
  readonly comment?: string;
}

/** All that one service port has in the table. */
export interface PortRules {
  /** The rules of its chains. */
  readonly chains: ReadonlyMap<string, readonly string[]>;
  /** The sets of clients that stay with an endpoint, with the seconds for which they do. */
  readonly affinitySets: ReadonlyMap<string, number>;
  readonly elements: readonly Element[];
  /** Whether a policy leaves it without endpoints, though other nodes have some. */
  readonly lacksLocal: {readonly internal: boolean; readonly external: boolean};
}

/** What rules depend on beside the service. */
export interface PortRuleSettings {
  readonly family: IpFamily;
  readonly nodeIp: string | undefined;
  readonly masqueradeAll: boolean;
  readonly local: LocalTraffic | undefined;
}

/** What of a service port is used, and by whom. */
interface Plan {
  readonly port: ServicePort;
  readonly reachable: Reachable;
  readonly chains: PortChains;
  /** The names of the endpoints that are reached. */
  readonly names: ReadonlyMap<Endpoint, EndpointNames>;
  /** The chain of traffic to the cluster IP. */
  readonly internalChain: string;
  /** The chain of traffic from outside that no rule treats otherwise. */
  readonly externalPolicyChain: string;
  readonly hasInternal: boolean;
  readonly hasExternal: boolean;
}

const planOf = (port: ServicePort, reachable: Reachable): Plan => {
  const chains = portChains(port.name);
  const {hasAny, local} = reachable;
  const hasLocal = local.length > 0;
  return {
    port,
    reachable,
    chains,
    names: new Map(reachable.all.map(each => [each, endpointNames(port.name, each)])),
    internalChain: port.internalPolicyLocal ? chains.local : chains.cluster,
    externalPolicyChain: port.externalPolicyLocal ? chains.local : chains.cluster,
    hasInternal: hasAny && (!port.internalPolicyLocal || hasLocal),
    hasExternal: hasAny && (!port.externalPolicyLocal || hasLocal),
  };
};

const usesFirewall = ({loadBalancerIps, sourceRanges}: ServicePort): boolean => loadBalancerIps.length > 0 && sourceRanges.length > 0;

const elementsOf = ({port, reachable, chains, internalChain, hasInternal, hasExternal}: Plan): Element[] => {
  const {clusterIp, externalIps, loadBalancerIps, nodePort, text: comment} = port;
  const protocol = port.protocol.toLowerCase();
  const at = (ip: string) => `${ip} . ${protocol} . ${port.port}`;
  // Without any endpoint clients are told so; those that only other nodes have are not for this traffic.
  const refusal = reachable.hasAny ? 'drop' : `goto ${fixed.reject}`;
  const external = (container: Container, refusing: Container, key: string): Element[] => [
    ...(reachable.hasAny ? [{container, key, value: `goto ${chains.external}`}] : []),
    ...(hasExternal ? [] : [{container: refusing, key, value: refusal, comment}]),
  ];
  return [
    {container: 'cluster-ips', key: clusterIp},
    hasInternal
      ? {container: 'service-ips', key: at(clusterIp), value: `goto ${internalChain}`}
      : {container: 'no-endpoint-services', key: at(clusterIp), value: refusal, comment},
    ...[...externalIps, ...loadBalancerIps].flatMap(ip => external('service-ips', 'no-endpoint-services', at(ip))),
    ...(usesFirewall(port)
      ? loadBalancerIps.map((ip): Element => ({container: 'firewall-ips', key: at(ip), value: `goto ${chains.firewall}`}))
      : []),
    ...(nodePort === 0 ? [] : external('service-nodeports', 'no-endpoint-nodeports', `${protocol} . ${nodePort}`)),
  ];
};

/** What leads to the endpoints: clients that stay with one, then any. */
const balancingRules = ({port, names}: Plan, endpoints: readonly Endpoint[], ip: string): string[] => {
  const all = endpoints.map(each => names.get(each)!);
  const choices = all.map(({chain}, index) => `${index} : goto ${chain}`).join(' , ');
  return [
    ...(port.affinitySeconds === undefined ? [] : all.map(({chain, affinity}) => `${ip} saddr @${affinity} goto ${chain}`)),
    `numgen random mod ${all.length} vmap { ${choices} }`,
  ];
};

/** Traffic to the cluster IP that comes from elsewhere must come back through this node. */
const internalRules = ({port}: Plan, {family, masqueradeAll, local}: PortRuleSettings): string[] => {
  const {ip} = familyWords[family];
  const destination = `${ip} daddr ${port.clusterIp}`;
  if (masqueradeAll) return [`${destination} jump ${fixed.markForMasquerade}`];
  return local ? [`${destination} ${local.isNotLocal} jump ${fixed.markForMasquerade}`] : [];
};

const externalRules = ({port, chains, externalPolicyChain, hasExternal}: Plan, {local}: PortRuleSettings): string[] => {
  const rules: string[] = [];
  if (!port.externalPolicyLocal) rules.push(`jump ${fixed.markForMasquerade}`);
  else {
    // The policy is for traffic from outside: pods and the node itself may use every endpoint.
    if (local) rules.push(`${local.isLocal} goto ${chains.cluster} comment "short-circuit pod traffic"`);
    rules.push(`fib saddr type local jump ${fixed.markForMasquerade} comment "masquerade local traffic"`);
    rules.push(`fib saddr type local goto ${chains.cluster} comment "short-circuit local traffic"`);
  }
  return hasExternal ? [...rules, `goto ${externalPolicyChain}`] : rules;
};

const firewallRule = ({loadBalancerIps, sourceRanges}: ServicePort, {family, nodeIp}: PortRuleSettings): string => {
  const address = nodeIp === undefined ? undefined : parseLooseIp(nodeIp);
  const allowsNode = address !== undefined && sourceRanges.some(text => rangeHolds(parseLooseRange(text)!, address));
  // The node's own traffic to an address of a load balancer that it has itself comes from that address.
  const sources = [...sourceRanges, ...(allowsNode ? loadBalancerIps : [])];
  return `${familyWords[family].ip} saddr != { ${sources.join(' , ')} } drop`;
};

const endpointRules = (port: ServicePort, endpoint: Endpoint, {affinity}: EndpointNames, ip: string): string[] => [
  // An endpoint that talks to itself would otherwise answer itself directly.
  `${ip} saddr ${endpoint.ip} jump ${fixed.markForMasquerade}`,
  ...(port.affinitySeconds === undefined ? [] : [`update @${affinity} { ${ip} saddr }`]),
  `meta l4proto ${port.protocol.toLowerCase()} dnat to ${endpoint.address}`,
];

const chainsOf = (plan: Plan, settings: PortRuleSettings): Map<string, string[]> => {
  const {port, reachable, chains, internalChain, hasInternal} = plan;
  const {ip} = familyWords[settings.family];
  const found = new Map<string, string[]>();
  const add = (chain: string, rules: readonly string[]) => found.set(chain, [...(found.get(chain) ?? []), ...rules]);
  if (hasInternal) add(internalChain, internalRules(plan, settings));
  if (reachable.hasAny && isExternallyAccessible(port)) add(chains.external, externalRules(plan, settings));
  if (usesFirewall(port)) add(chains.firewall, [firewallRule(port, settings)]);
  if (reachable.cluster.length > 0 && usesClusterEndpoints(port)) add(chains.cluster, balancingRules(plan, reachable.cluster, ip));
  if (reachable.local.length > 0 && usesLocalEndpoints(port)) add(chains.local, balancingRules(plan, reachable.local, ip));
  for (const endpoint of reachable.all) {
    const names = plan.names.get(endpoint)!;
    found.set(names.chain, endpointRules(port, endpoint, names, ip));
  }
  return found;
};

/** Returns the rules of a service port with the endpoints that the node uses. */
export const portRules = (port: ServicePort, reachable: Reachable, settings: PortRuleSettings): PortRules => {
  const plan = planOf(port, reachable);
  const {affinitySeconds} = port;
  return {
    chains: chainsOf(plan, settings),
    affinitySets: new Map(
      affinitySeconds === undefined ? [] : reachable.all.map(each => [plan.names.get(each)!.affinity, affinitySeconds]),
    ),
    elements: elementsOf(plan),
    lacksLocal: {internal: reachable.hasAny && !plan.hasInternal, external: reachable.hasAny && !plan.hasExternal},
  };
};
