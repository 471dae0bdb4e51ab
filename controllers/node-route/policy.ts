import {parseIp, parseRange, rangeHolds, rangeSize, rangeStart, type IpRange} from '#src/base/ip-address.js';
import {sameJson} from '#src/api/equal.js';
import type {ControllerManagerOptions} from '#src/options/programs/controller-manager.js';
import type {CloudNode, Route} from '#src/runtime/cloud.js';

export type RouteOptions = Pick<
  ControllerManagerOptions,
  'routeReconciliationPeriod' | 'allocateNodeCidrs' | 'configureCloudRoutes' | 'clusterCidr' | 'clusterName'
>;

/** Whether a change of a node changes its routes. */
export const changesRoutes = (old: CloudNode, now: CloudNode): boolean =>
  !sameJson(old.spec?.podCIDRs ?? [], now.spec?.podCIDRs ?? []) || !sameJson(addressesOf(old), addressesOf(now));

/** What is to be done about the route of one CIDR of a node. */
export type RouteAction = 'keep' | 'update' | 'add';

type Addresses = NonNullable<Route['targetNodeAddresses']>;

const addressesOf = ({status}: CloudNode): Addresses => (status?.addresses ?? []).map(({type, address}) => ({type, address}));
const inOrder = (addresses: Addresses): string[] => addresses.map(({type, address}) => `${type} ${address}`).sort();

/** Whether an existing route still leads to the node. */
const isUpToDate = ({gatewayAddress, enableNodeAddresses, targetNodeAddresses = []}: Route, node: CloudNode): boolean => {
  const addresses = addressesOf(node);
  if (gatewayAddress) return addresses.some(({address}) => address === gatewayAddress);
  return !enableNodeAddresses || sameJson(inOrder(targetNodeAddresses), inOrder(addresses));
};

/** The actions of each node with CIDRs, by node and CIDR. */
export type RouteActions = ReadonlyMap<string, Map<string, RouteAction>>;

/** Returns what is to be done about the routes of all nodes. */
export const actionsFor = (nodes: readonly CloudNode[], routes: readonly Route[]): RouteActions => {
  const existing = new Map<string, Route>();
  for (const route of routes) existing.set(`${route.targetNode}\0${route.destinationCIDR}`, route);
  return new Map(
    nodes
      .filter(({spec}) => spec?.podCIDRs?.length)
      .map(node => {
        const name = node.metadata?.name ?? '';
        const actionOf = (cidr: string): RouteAction => {
          const route = existing.get(`${name}\0${cidr}`);
          if (!route) return 'add';
          return isUpToDate(route, node) ? 'keep' : 'update';
        };
        return [name, new Map((node.spec?.podCIDRs ?? []).map(cidr => [cidr, actionOf(cidr)]))];
      }),
  );
};

/** Whether a route lies in a cluster CIDR, by its first or its last address. */
export const isResponsibleFor = ({destinationCIDR}: Route, clusterCidrs: readonly IpRange[]): boolean => {
  const range = parseRange(destinationCIDR);
  if (!range) return false;
  const first = rangeStart(range);
  const last = {...first, value: first.value + rangeSize(range) - 1n};
  return clusterCidrs.some(each => rangeHolds(each, first) || rangeHolds(each, last));
};

/**
 * Returns the routes to delete: those to machines that are gone, those that no node has, and those to be created anew.
 */
export const routesToDelete = (routes: readonly Route[], actions: RouteActions, clusterCidrs: readonly IpRange[]): Route[] =>
  routes.filter(route => {
    if (!isResponsibleFor(route, clusterCidrs)) return false;
    const action = actions.get(route.targetNode)?.get(route.destinationCIDR);
    return route.blackhole || action === undefined || action === 'update';
  });

/** Parses the cluster CIDRs. Throws for a malformed one. */
export const clusterRanges = (cidrs: readonly string[]): IpRange[] =>
  cidrs.map(cidr => {
    const range = parseRange(cidr);
    if (!range || !parseIp(cidr.split('/')[0]!)) throw new Error(`--cluster-cidr: ${JSON.stringify(cidr)} is not a CIDR`);
    return range;
  });

/** The route of a node's CIDR, as it is to be created. */
export const routeOf = (node: CloudNode, destinationCIDR: string): Omit<Route, 'name'> => ({
  targetNode: node.metadata?.name ?? '',
  targetNodeAddresses: addressesOf(node),
  destinationCIDR,
});
