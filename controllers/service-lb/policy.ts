import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import {sameJson} from '#src/api/equal.js';
import type {CloudNode, CloudService, LoadBalancerStatus} from '#src/runtime/cloud.js';

/** The finalizer of services whose load balancer is to be deleted first. */
export const cleanupFinalizer = (naming: Naming): string => naming.subKey('service', 'load-balancer-cleanup');

/** Whether a service is to have a load balancer of this cloud; one with a class is left to others. */
export const wantsLoadBalancer = ({spec}: CloudService): boolean => spec?.type === 'LoadBalancer' && !spec.loadBalancerClass;

export const hasFinalizer = ({metadata}: CloudService, naming: Naming): boolean =>
  metadata?.finalizers?.includes(cleanupFinalizer(naming)) ?? false;

/** Whether the load balancer of a service is to be deleted. */
export const needsCleanup = (service: CloudService, naming: Naming): boolean =>
  hasFinalizer(service, naming) && (service.metadata?.deletionTimestamp !== undefined || service.spec?.type !== 'LoadBalancer');

/** A change that the load balancer must follow, as an Event reports it; some have no Event. */
export interface ServiceChange {
  readonly reason?: string;
  readonly message?: string;
}

const goText = (list: readonly string[] | undefined): string => `[${(list ?? []).join(' ')}]`;

/** Returns the first change of a service that its load balancer must follow; undefined if there is none. */
export const relevantChange = (old: CloudService, now: CloudService): ServiceChange | undefined => {
  if (!wantsLoadBalancer(old) && !wantsLoadBalancer(now)) return undefined;
  const [from, to] = [old.spec ?? {}, now.spec ?? {}];
  const change = (reason: string, before: unknown, after: unknown): ServiceChange => ({
    reason,
    message: `${String(before)} -> ${String(after)}`,
  });
  if (wantsLoadBalancer(old) !== wantsLoadBalancer(now)) return change('Type', from.type, to.type);
  if (!sameJson(from.loadBalancerSourceRanges ?? [], to.loadBalancerSourceRanges ?? []))
    return change('LoadBalancerSourceRanges', goText(from.loadBalancerSourceRanges), goText(to.loadBalancerSourceRanges));
  if (!sameJson(portsOf(old), portsOf(now))) return {};
  if (from.sessionAffinity !== to.sessionAffinity || !sameJson(from.sessionAffinityConfig, to.sessionAffinityConfig)) return {};
  if ((from.loadBalancerIP ?? '') !== (to.loadBalancerIP ?? ''))
    return change('LoadbalancerIP', from.loadBalancerIP ?? '', to.loadBalancerIP ?? '');
  const [fromIps, toIps] = [from.externalIPs ?? [], to.externalIPs ?? []];
  if (fromIps.length !== toIps.length) return {reason: 'ExternalIP', message: `Count: ${fromIps.length} -> ${toIps.length}`};
  const added = toIps.find((ip, i) => ip !== fromIps[i]);
  if (added !== undefined) return {reason: 'ExternalIP', message: `Added: ${added}`};
  if (!sameJson(old.metadata?.annotations ?? {}, now.metadata?.annotations ?? {})) return {};
  if (old.metadata?.uid !== now.metadata?.uid) return change('UID', old.metadata?.uid, now.metadata?.uid);
  if (from.externalTrafficPolicy !== to.externalTrafficPolicy)
    return change('ExternalTrafficPolicy', from.externalTrafficPolicy ?? '', to.externalTrafficPolicy ?? '');
  if ((from.healthCheckNodePort ?? 0) !== (to.healthCheckNodePort ?? 0))
    return change('HealthCheckNodePort', from.healthCheckNodePort ?? 0, to.healthCheckNodePort ?? 0);
  return (from.ipFamilies ?? []).length === (to.ipFamilies ?? []).length ? undefined : {};
};

const portsOf = ({spec}: CloudService) =>
  (spec?.ports ?? []).map(({name = '', protocol = 'TCP', port, nodePort = 0, targetPort, appProtocol}) => [
    name,
    protocol,
    port,
    nodePort,
    targetPort,
    appProtocol,
  ]);

const truthful = new Set(['1', 't', 'T', 'TRUE', 'true', 'True']);
const untruthful = new Set(['0', 'f', 'F', 'FALSE', 'false', 'False']);
const autoscalerTaint = 'ToBeDeletedByClusterAutoscaler';

/** Whether load balancers leave a node out by its label. A value that is neither true nor false counts as true. */
export const isExcluded = ({metadata}: CloudNode, naming: Naming): boolean => {
  const value = metadata?.labels?.[naming.subKey('node', 'exclude-from-external-load-balancers')];
  return value !== undefined && (truthful.has(value) || !untruthful.has(value));
};

/** Whether load balancers send to a node. Its readiness does not matter: their own health checks find that out. */
export const isEligible = (node: CloudNode, naming: Naming): boolean =>
  !node.metadata?.deletionTimestamp && !isExcluded(node, naming) && !node.spec?.taints?.some(({key}) => key === autoscalerTaint);

/** Whether a change of a node may change the nodes of load balancers. */
export const isNodeChange = (old: CloudNode, now: CloudNode, naming: Naming): boolean =>
  isExcluded(old, naming) !== isExcluded(now, naming) || (old.spec?.providerID ?? '') !== (now.spec?.providerID ?? '');

const identities = (nodes: readonly CloudNode[]): string[] =>
  nodes.map(({metadata, spec}) => `${metadata?.name}\0${spec?.providerID ?? ''}`).sort();

/** Whether two lists hold the same nodes, by name and provider ID. */
export const sameNodes = (one: readonly CloudNode[], other: readonly CloudNode[]): boolean => sameJson(identities(one), identities(other));

const normalized = ({ingress = []}: Frozen<LoadBalancerStatus>) =>
  ingress.map(({ip = '', hostname = '', ipMode = '', ports = []}) => ({
    ip,
    hostname,
    ipMode,
    ports: ports.map(({port, protocol, error = ''}) => `${protocol} ${port} ${error}`).sort(),
  }));

/** Whether two statuses are equal; the order of ports does not matter. */
export const sameStatus = (one: Frozen<LoadBalancerStatus> = {}, other: Frozen<LoadBalancerStatus> = {}): boolean =>
  sameJson(normalized(one), normalized(other));

const mostNames = 20;

/** Returns the names of nodes for a message, at most 20 of them. */
export const nodeNames = (nodes: readonly CloudNode[]): string => {
  const names = nodes.map(({metadata}) => metadata?.name ?? '');
  return names.length <= mostNames ? names.join(',') : `${names.slice(0, mostNames).join(',')},... (total ${names.length})`;
};
