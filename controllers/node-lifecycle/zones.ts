import type {Frozen} from '#src/api/key.js';
import type {Naming} from '#src/api/naming.js';
import type {Node} from '#src/api/types.js';
import type {NodeCondition} from './taints.js';

/** The state of a zone. */
export type ZoneState = 'Initial' | 'Normal' | 'PartialDisruption' | 'FullDisruption';

/** The thresholds for a partial disruption, and the eviction rates. */
export interface ZoneRules {
  readonly unhealthyThreshold: number;
  readonly largeThreshold: number;
  readonly rate: number;
  readonly secondaryRate: number;
}

/** Returns a key for a node's region and zone; empty without either. */
export const zoneOf = (naming: Naming, {metadata}: Frozen<Node>): string => {
  const labels = metadata?.labels ?? {};
  const [region, zone] = ['region', 'zone'].map(
    name => labels[naming.subKey('topology', name)] || labels[naming.subKey('failure-domain.beta', name)] || '',
  );
  return region || zone ? `${region}:\0:${zone}` : '';
};

/** Whether the node is excluded from disruption detection. */
export const isExcluded = (naming: Naming, {metadata}: Frozen<Node>): boolean =>
  metadata?.labels?.[naming.subKey('node', 'exclude-disruption')] !== undefined;

export interface ZoneHealth {
  readonly state: ZoneState;
  readonly size: number;
  readonly unhealthy: number;
}

/** More unhealthy nodes than this are needed for a partial disruption. */
const minUnhealthy = 2;

/** Returns the state of a zone from its nodes' Ready conditions; a missing one counts as not ready. */
export const zoneHealth = (ready: readonly (NodeCondition | undefined)[], {unhealthyThreshold}: ZoneRules): ZoneHealth => {
  const size = ready.length;
  const unhealthy = ready.filter(condition => condition?.status !== 'True').length;
  const isPartial = unhealthy > minUnhealthy && unhealthy / size >= unhealthyThreshold;
  return {size, unhealthy, state: unhealthy > 0 && unhealthy === size ? 'FullDisruption' : isPartial ? 'PartialDisruption' : 'Normal'};
};

/**
 * Returns the eviction rate of a zone. With a partial disruption it is low, or 0 if the zone is small, as the network
 * is probably at fault.
 */
export const rateOf = (state: ZoneState, size: number, {rate, secondaryRate, largeThreshold}: ZoneRules): number => {
  if (state !== 'PartialDisruption') return rate;
  return size > largeThreshold ? secondaryRate : 0;
};
