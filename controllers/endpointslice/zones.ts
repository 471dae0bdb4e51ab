import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import {parseQuantity, quantityMilliValue} from '#src/api/quantity.js';
import type {Node} from '#src/api/types.js';
import {isReadyNode} from '#src/model/node-readiness.js';

/** The share of CPU of each zone; the sum is 1. */
export type ZoneShares = ReadonlyMap<string, number>;

/** The number of endpoints allocated to a zone. */
export interface Allocation {
  readonly minimum: number;
  readonly maximum: number;
  readonly desired: number;
}

/** The tolerated overload of an endpoint. */
const overload = 0.2;
const minimumShare = 1 / (1 + overload);

export const zoneOf = ({metadata}: Frozen<Node>, naming: Naming): string => metadata?.labels?.[naming.subKey('topology', 'zone')] ?? '';

/**
 * Returns the zones by CPU of their ready nodes, without control plane nodes. Undefined where a node has no
 * zone or CPU, and where there are fewer than two zones.
 */
export const zoneShares = (nodes: Iterable<Frozen<Node>>, naming: Naming): ZoneShares | undefined => {
  const zones = new Map<string, number>();
  let total = 0;
  for (const node of nodes) {
    const labels = node.metadata?.labels ?? {};
    if (['control-plane', 'master'].some(role => labels[naming.subKey('node-role', role)] !== undefined) || !isReadyNode(node)) continue;
    const zone = zoneOf(node, naming);
    const cpu = Number(quantityMilliValue(parseQuantity(node.status?.allocatable?.cpu ?? '0')));
    if (!zone || cpu === 0) return undefined;
    zones.set(zone, (zones.get(zone) ?? 0) + cpu);
    total += cpu;
  }
  if (zones.size < 2) return undefined;
  return new Map([...zones].sort(([a], [b]) => (a < b ? -1 : 1)).map(([zone, cpu]) => [zone, cpu / total]));
};

/** Returns the allocation of `count` endpoints to zones, or why it is not possible. */
export const allocations = (shares: ZoneShares | undefined, count: number): ReadonlyMap<string, Allocation> | string => {
  if (!shares) return 'Insufficient Node information: allocatable CPU or zone not specified on one or more nodes';
  if (shares.size > count) return `Insufficient number of endpoints (${count} endpoints, ${shares.size} zones)`;
  const wanted = [...shares].map(([zone, share]) => {
    const minimum = Math.ceil(share * count * minimumShare);
    return {zone, minimum, desired: Math.max(share * count, minimum)};
  });
  const spare = count - wanted.reduce((sum, {minimum}) => sum + minimum, 0);
  if (spare < 0)
    return `Unable to allocate minimum required endpoints to each zone without exceeding overload threshold (${count} endpoints, ${shares.size} zones)`;
  return new Map(wanted.map(({zone, minimum, desired}) => [zone, {minimum, desired, maximum: minimum + spare}]));
};

/** Whether a zone's endpoints are overloaded, or a zone has none. */
export const isOverloaded = (hints: ReadonlyMap<string, number>, shares: ZoneShares | undefined): boolean => {
  if (hints.size === 0) return false;
  if (!shares) return true;
  const total = [...hints.values()].reduce((sum, count) => sum + count, 0);
  return [...shares].some(([zone, share]) => (hints.get(zone) ?? -1) < Math.ceil(total * share * minimumShare));
};
