import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Node} from '#src/api/types.js';
import type {NodeCondition} from './taints.js';

/** How a zone is: not looked at yet, well, half down, or all down. */
export type ZoneState = 'Initial' | 'Normal' | 'PartialDisruption' | 'FullDisruption';

/** When a zone counts as half down, and how many nodes a second are given up in either case. */
export interface ZoneRules {
  readonly unhealthyThreshold: number;
  readonly largeThreshold: number;
  readonly rate: number;
  readonly secondaryRate: number;
}

/** The region and zone of a node as one word; empty without either. */
export const zoneOf = (naming: Naming, {metadata}: Frozen<Node>): string => {
  const labels = metadata?.labels ?? {};
  const [region, zone] = ['region', 'zone'].map(name => labels[naming.subKey('topology', name)] || labels[naming.subKey('failure-domain.beta', name)] || '');
  return region || zone ? `${region}:\0:${zone}` : '';
};

/** Whether a node's failure says nothing of its zone. */
export const isExcluded = (naming: Naming, {metadata}: Frozen<Node>): boolean => metadata?.labels?.[naming.subKey('node', 'exclude-disruption')] !== undefined;

export interface ZoneHealth {
  readonly state: ZoneState;
  readonly size: number;
  readonly unhealthy: number;
}

/** A few nodes that are down make no disruption yet. */
const minUnhealthy = 2;

/** How a zone is by whether its nodes are ready; one that does not say is not. */
export const zoneHealth = (ready: readonly (NodeCondition | undefined)[], {unhealthyThreshold}: ZoneRules): ZoneHealth => {
  const size = ready.length;
  const unhealthy = ready.filter(condition => condition?.status !== 'True').length;
  const isPartial = unhealthy > minUnhealthy && unhealthy / size >= unhealthyThreshold;
  return {size, unhealthy, state: unhealthy > 0 && unhealthy === size ? 'FullDisruption' : isPartial ? 'PartialDisruption' : 'Normal'};
};

/** How many nodes a second are given up in a zone. In one that is half down few, or none if it is small: more likely the network is at fault. */
export const rateOf = (state: ZoneState, size: number, {rate, secondaryRate, largeThreshold}: ZoneRules): number => {
  if (state !== 'PartialDisruption') return rate;
  return size > largeThreshold ? secondaryRate : 0;
};
