// Which routes lead from a node to the pods of the others: the ranges of a Node are behind its address.

import type {Frozen} from '#src/api/key.js';
import type {Node} from '#src/api/types.js';
import {hostIpsOf} from '#src/proxy/node/node-ips.js';
import {familyOfIp, familyOfRange, type IpFamily} from '#src/proxy/state/ip-family.js';

/** The pods of another node, and the address that leads there. */
export interface PodRoute {
  readonly range: string;
  readonly via: string;
}

/** What a node needs for a family of addresses: routes, and the ranges of its own pods, in a fixed order. */
export interface WantedRoutes {
  readonly own: readonly string[];
  readonly routes: readonly PodRoute[];
}

const rangesOf = (node: Frozen<Node> | undefined, family: IpFamily): readonly string[] =>
  (node?.spec?.podCIDRs ?? []).filter(range => familyOfRange(range) === family);

/** Returns the routes from a node. Nodes without an address or a range of the family have none. */
export const wantedRoutes = (nodes: readonly Frozen<Node>[], nodeName: string, family: IpFamily): WantedRoutes => {
  const own = nodes.find(({metadata}) => metadata?.name === nodeName);
  const ownIps = new Set(hostIpsOf(own));
  const routes = nodes.flatMap(node => {
    const via = node === own ? undefined : hostIpsOf(node).find(ip => familyOfIp(ip) === family && !ownIps.has(ip));
    return via === undefined ? [] : rangesOf(node, family).map(range => ({range, via}));
  });
  return {own: rangesOf(own, family), routes: routes.sort((a, b) => (a.range < b.range ? -1 : 1))};
};
