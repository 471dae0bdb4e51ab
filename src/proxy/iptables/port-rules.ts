// The rules of one service port: which traffic goes to which of its chains, and what these do with it.

import {parseLooseIp, parseRange, rangeHolds} from '#src/base/ip-address.js';
import type {Endpoint} from '#src/proxy/state/endpoint.js';
import {isExternallyAccessible, usesClusterEndpoints, usesLocalEndpoints, type ServicePort} from '#src/proxy/state/service-port.js';
import {reachableEndpoints, type NodeTopology, type Reachable} from '#src/proxy/topology/reachable.js';
import {chainLine, chains, countedBy, endpointChain, portChains, protocolOf, type PortChains} from './names.js';
import {counterNames} from './packet-counters.js';

/** What the rules of all service ports depend on. */
export interface RuleContext {
  readonly node: NodeTopology;
  /** The address of the node in the family. */
  readonly nodeIp: string | undefined;
  readonly masqueradeAll: boolean;
  /** What matches the traffic of the node's pods, and other traffic; undefined if it is not known. */
  readonly localTraffic: {readonly isLocal: string; readonly isNotLocal: string} | undefined;
  /** Whether the rules of endpoints have no comments, as there are many. */
  readonly isLarge: boolean;
  /** Whether packets to node ports by the loopback are counted. */
  readonly countsLocalhost: boolean;
}

/** The rules of a service port. */
export interface PortRules {
  /** Rules of the chains that all service ports share, which every sync writes again. */
  readonly filter: readonly string[];
  readonly nat: readonly string[];
  /** The chains of its own. */
  readonly chains: readonly string[];
  readonly chainRules: readonly string[];
  /** The policies whose endpoints are all on other nodes. */
  readonly lacksLocal: {readonly internal: boolean; readonly external: boolean};
}

/** A service port with what its rules are made from. */
interface Subject extends RuleContext {
  readonly port: ServicePort;
  readonly reachable: Reachable;
  readonly own: PortChains;
  readonly matchesProtocol: string;
  readonly hasInternal: boolean;
  readonly hasExternal: boolean;
  readonly hasFirewall: boolean;
}

const comment = (text: string): string => `-m comment --comment "${text}"`;

const subjectOf = (port: ServicePort, endpoints: readonly Endpoint[], context: RuleContext): Subject => {
  const reachable = reachableEndpoints(endpoints, port, context.node);
  const hasFor = (isLocal: boolean): boolean => reachable.hasAny && (!isLocal || reachable.local.length > 0);
  const protocol = protocolOf(port);
  return {
    ...context,
    port,
    reachable,
    own: portChains(port),
    matchesProtocol: `-m ${protocol} -p ${protocol}`,
    hasInternal: hasFor(port.internalPolicyLocal),
    hasExternal: hasFor(port.externalPolicyLocal),
    hasFirewall: reachable.hasAny && port.loadBalancerIps.length > 0 && port.sourceRanges.length > 0,
  };
};

/** Returns the rules of a service port. */
export const portRules = (port: ServicePort, endpoints: readonly Endpoint[], context: RuleContext): PortRules => {
  const subject = subjectOf(port, endpoints, context);
  const {reachable, own, hasInternal, hasExternal, hasFirewall} = subject;
  const {hasAny, cluster, local} = reachable;
  const hasExternalChain = hasAny && isExternallyAccessible(port);
  const hasClusterChain = cluster.length > 0 && usesClusterEndpoints(port);
  const hasLocalChain = local.length > 0 && usesLocalEndpoints(port);
  const ownChains = [
    ...(hasExternalChain ? [own.external] : []),
    ...(hasFirewall ? [own.firewall] : []),
    ...(hasClusterChain ? [own.cluster] : []),
    ...(hasLocalChain ? [own.local] : []),
    ...reachable.all.map(endpoint => endpointChain(port, endpoint)),
  ];
  return {
    filter: filterRules(subject),
    nat: hasAny ? captureRules(subject) : [],
    chains: ownChains,
    chainRules: [
      ...(hasInternal ? internalRules(subject) : []),
      ...(hasExternalChain ? externalRules(subject) : []),
      ...(hasFirewall ? firewallRules(subject) : []),
      ...(hasClusterChain ? choiceRules(subject, own.cluster, cluster) : []),
      ...(hasLocalChain ? choiceRules(subject, own.local, local) : []),
      ...reachable.all.flatMap(endpoint => endpointRules(subject, endpoint)),
    ],
    lacksLocal: {internal: hasAny && !hasInternal, external: hasAny && !hasExternal},
  };
};

/** What sends traffic to the chains of the service port. */
const captureRules = ({port, own, matchesProtocol, hasInternal, hasFirewall, countsLocalhost}: Subject): readonly string[] => {
  const {text, clusterIp, externalIps, loadBalancerIps, nodePort} = port;
  const capture = (what: string, ip: string, chain: string): string =>
    `-A ${chains.services} ${comment(`${text} ${what}`)} ${matchesProtocol} -d ${ip} --dport ${port.port} -j ${chain}`;
  const ofNode = (match: string): string =>
    `-A ${chains.nodePorts} -m comment --comment ${text} ${matchesProtocol}${match} -j ${own.external}`;
  return [
    ...(hasInternal ? [capture('cluster IP', clusterIp, port.internalPolicyLocal ? own.local : own.cluster)] : []),
    ...externalIps.map(ip => capture('external IP', ip, own.external)),
    ...loadBalancerIps.map(ip => capture('loadbalancer IP', ip, hasFirewall ? own.firewall : own.external)),
    ...(nodePort !== 0 && countsLocalhost ? [ofNode(` -d 127.0.0.0/8 --dport ${nodePort} ${countedBy(counterNames.localhost)}`)] : []),
    ...(nodePort === 0 ? [] : [ofNode(` --dport ${nodePort}`)]),
  ];
};

/** What refuses traffic that no endpoint takes: rejects it if there is none at all, drops it if others are elsewhere. */
const filterRules = ({port, reachable, own, matchesProtocol, hasInternal, hasExternal, hasFirewall}: Subject): readonly string[] => {
  const {text, clusterIp, externalIps, loadBalancerIps, nodePort, healthCheckNodePort} = port;
  const [why, target] = reachable.hasAny ? ['has no local endpoints', 'DROP'] : ['has no endpoints', 'REJECT'];
  const refuse = (chain: string, where: string): string => `-A ${chain} ${comment(`${text} ${why}`)} ${where} -j ${target}`;
  const to = (ip: string): string => `${matchesProtocol} -d ${ip} --dport ${port.port}`;
  const external = hasExternal ? [] : [...externalIps, ...loadBalancerIps].map(ip => refuse(chains.externalServices, to(ip)));
  return [
    ...(hasInternal ? [] : [refuse(chains.services, to(clusterIp))]),
    ...external,
    ...(hasFirewall
      ? loadBalancerIps.map(ip => `-A ${chains.firewall} ${comment(`${text} traffic not accepted by ${own.firewall}`)} ${to(ip)} -j DROP`)
      : []),
    ...(hasExternal || nodePort === 0
      ? []
      : [refuse(chains.externalServices, `-m addrtype --dst-type LOCAL ${matchesProtocol} --dport ${nodePort}`)]),
    ...(healthCheckNodePort === 0
      ? []
      : [`-A ${chains.nodePorts} ${comment(`${text} health check node port`)} -m tcp -p tcp --dport ${healthCheckNodePort} -j ACCEPT`]),
  ];
};

/** What masquerades traffic to the cluster IP that does not come from a pod of the node. */
const internalRules = ({port, own, matchesProtocol, masqueradeAll, localTraffic}: Subject): readonly string[] => {
  if (!masqueradeAll && !localTraffic) return [];
  const chain = port.internalPolicyLocal ? own.local : own.cluster;
  const source = masqueradeAll ? '' : ` ${localTraffic!.isNotLocal}`;
  const destination = `${matchesProtocol} -d ${port.clusterIp} --dport ${port.port}`;
  return [`-A ${chain} ${comment(`${port.text} cluster IP`)} ${destination}${source} -j ${chains.markMasquerade}`];
};

/**
 * Traffic from outside keeps its source if only endpoints of the node take it. Traffic of the node and its pods goes to
 * all endpoints, as if it had come back from a load balancer outside.
 */
const externalRules = ({port, own, localTraffic, hasExternal}: Subject): readonly string[] => {
  const rule = (what: string, match: string, target: string): string =>
    `-A ${own.external} ${comment(`${what} for ${port.text} external destinations`)}${match} -j ${target}`;
  const isNode = ' -m addrtype --src-type LOCAL';
  const first = !port.externalPolicyLocal
    ? [rule('masquerade traffic', '', chains.markMasquerade)]
    : [
        ...(localTraffic ? [rule('pod traffic', ` ${localTraffic.isLocal}`, own.cluster)] : []),
        rule('masquerade LOCAL traffic', isNode, chains.markMasquerade),
        rule('route LOCAL traffic', isNode, own.cluster),
      ];
  return hasExternal ? [...first, `-A ${own.external} -j ${port.externalPolicyLocal ? own.local : own.cluster}`] : first;
};

/** Lets only the source ranges on to the service. What falls through is dropped by the shared firewall chain. */
const firewallRules = ({port, own, nodeIp}: Subject): readonly string[] => {
  const {text, sourceRanges, loadBalancerIps} = port;
  const allow = (source: string): string => `-A ${own.firewall} ${comment(`${text} loadbalancer IP`)} -s ${source} -j ${own.external}`;
  const address = nodeIp === undefined ? undefined : parseLooseIp(nodeIp);
  // The node reaches a load balancer's address that is local to it with that address as its source.
  const allowsNode = address !== undefined && sourceRanges.some(text => rangeHolds(parseRange(text)!, address));
  return [
    ...sourceRanges.map(allow),
    ...(allowsNode ? loadBalancerIps.map(allow) : []),
    `-A ${own.firewall} ${comment(`other traffic to ${text} will be dropped by ${chains.firewall}`)}`,
  ];
};

/** The share of the traffic that one of `count` endpoints takes. */
const probability = (count: number): string => (1 / count).toFixed(10);

/** Sends clients to the endpoint that they had before, if they keep it, and others to any. */
const choiceRules = ({port, isLarge}: Subject, chain: string, endpoints: readonly Endpoint[]): readonly string[] => {
  const {text, affinitySeconds} = port;
  const rule = (endpoint: Endpoint, match: string): string => {
    const what = isLarge ? '' : ` ${comment(`${text} -> ${endpoint.address}`)}`;
    return `-A ${chain}${what}${match} -j ${endpointChain(port, endpoint)}`;
  };
  const returning = (endpoint: Endpoint): string =>
    rule(endpoint, ` -m recent --name ${endpointChain(port, endpoint)} --rcheck --seconds ${affinitySeconds} --reap`);
  const last = endpoints.length - 1;
  return [
    ...(affinitySeconds === undefined ? [] : endpoints.map(returning)),
    ...endpoints.map((endpoint, at) =>
      rule(endpoint, at === last ? '' : ` -m statistic --mode random --probability ${probability(endpoints.length - at)}`),
    ),
  ];
};

const endpointRules = ({port, isLarge, matchesProtocol}: Subject, endpoint: Endpoint): readonly string[] => {
  const chain = endpointChain(port, endpoint);
  const rule = `-A ${chain}${isLarge ? '' : ` -m comment --comment ${port.text}`}`;
  const remember = port.affinitySeconds === undefined ? '' : ` -m recent --name ${chain} --set`;
  return [
    // An endpoint that reaches itself by the service would see its own address.
    `${rule} -s ${endpoint.ip} -j ${chains.markMasquerade}`,
    `${rule}${remember} ${matchesProtocol} -j DNAT --to-destination ${endpoint.address}`,
  ];
};

/** The lines that create or empty the chains of a service port. */
export const chainLines = ({chains: own}: PortRules): readonly string[] => own.map(chainLine);
