// Which endpoints of a service port the node uses: by hints for its own name or zone, by the traffic policies, and
// those that terminate where no others are left.

import type {Endpoint} from '#src/proxy/state/endpoint.js';
import {usesClusterEndpoints, usesLocalEndpoints, type ServicePort} from '#src/proxy/state/service-port.js';

/** The endpoints of a service port, by the policy of the traffic. */
export interface Reachable {
  /** Those for traffic with the policy Cluster; none if there never is such traffic. */
  readonly cluster: readonly Endpoint[];
  /** Those for traffic with the policy Local; none if there never is such traffic. */
  readonly local: readonly Endpoint[];
  /** All of these. */
  readonly all: readonly Endpoint[];
  /** Whether any node has an endpoint of the service port, reachable from this one or not. */
  readonly hasAny: boolean;
}

/** The node that traffic comes to. */
export interface NodeTopology {
  readonly nodeName: string;
  readonly zone: string | undefined;
}

type Preference = 'node' | 'zone' | undefined;

const nothing: Reachable = {cluster: [], local: [], all: [], hasAny: false};

const isReady = ({isReady: ready}: Endpoint): boolean => ready;
const isDraining = ({isServing, isTerminating}: Endpoint): boolean => isServing && isTerminating;
const isLocal = ({isLocal: local}: Endpoint): boolean => local;

/** Hints count if every ready endpoint has them and at least one names this node, or else its zone. */
const preferenceOf = (endpoints: readonly Endpoint[], {nodeName, zone = ''}: NodeTopology): Preference => {
  const ready = endpoints.filter(isReady);
  const all = (hints: 'nodeHints' | 'zoneHints') => ready.every(each => each[hints].length > 0);
  if (all('nodeHints') && ready.some(({nodeHints}) => nodeHints.includes(nodeName))) return 'node';
  if (all('zoneHints') && ready.some(({zoneHints}) => zoneHints.includes(zone))) return 'zone';
  return undefined;
};

const isPreferred = (endpoint: Endpoint, preference: Preference, {nodeName, zone = ''}: NodeTopology): boolean =>
  preference === undefined || (preference === 'node' ? endpoint.nodeHints.includes(nodeName) : endpoint.zoneHints.includes(zone));

/** The ready ones of some endpoints, or those that terminate and still serve. */
const usable = (endpoints: readonly Endpoint[]): readonly Endpoint[] => {
  const ready = endpoints.filter(isReady);
  return ready.length > 0 ? ready : endpoints.filter(isDraining);
};

const union = (cluster: readonly Endpoint[], local: readonly Endpoint[]): readonly Endpoint[] => {
  const known = new Set(cluster.map(({address}) => address));
  const added = local.filter(({address}) => !known.has(address));
  return added.length === 0 ? cluster : [...cluster, ...added];
};

/** Returns the endpoints of a service port that the node uses. */
export const reachableEndpoints = (endpoints: readonly Endpoint[], port: ServicePort, node: NodeTopology): Reachable => {
  if (endpoints.length === 0) return nothing;
  const usesCluster = usesClusterEndpoints(port);
  const usesLocal = usesLocalEndpoints(port);
  const preference = usesCluster ? preferenceOf(endpoints, node) : undefined;
  const cluster = usesCluster ? usable(endpoints).filter(each => !each.isReady || isPreferred(each, preference, node)) : [];
  const local = usesLocal ? usable(endpoints.filter(isLocal)) : [];
  return {
    cluster,
    local,
    all: usesCluster ? union(cluster, local) : local,
    hasAny: cluster.length > 0 || (usesLocal && usable(endpoints).length > 0),
  };
};
