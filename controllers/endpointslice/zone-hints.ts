import type {EndpointSlice} from '#controllers/shared/endpoints/endpoint-slices.js';
import type {Frozen} from '#src/api/key.js';
import {withHints, isReadyEndpoint, draftFrom, withoutHints, type SlicePlan} from './hints.js';
import type {Draft} from './packing.js';
import {allocations, type Allocation, type ZoneShares} from './zones.js';

type Counts = Map<string, number>;
type Allocations = ReadonlyMap<string, Allocation>;

const add = (counts: Counts, zone: string, count: number): void => void counts.set(zone, (counts.get(zone) ?? 0) + count);

/** Returns the zone with the highest count, the first by name among equals. */
const mostOf = (counts: Counts): readonly [zone: string, count: number] | undefined => {
  let most: readonly [string, number] | undefined;
  for (const [zone, count] of counts) if (count > 0 && (!most || count > most[1])) most = [zone, count];
  return most;
};

/**
 * Returns the zone hints of a slice; undefined if one is missing or of an unknown zone, or a zone would get too many.
 */
const hintsOf = ({endpoints}: Frozen<EndpointSlice>, hints: Counts, zones: Allocations): Counts | undefined => {
  const found: Counts = new Map();
  for (const endpoint of endpoints ?? []) {
    if (!isReadyEndpoint(endpoint)) continue;
    const {forZones = []} = endpoint.hints ?? {};
    if (forZones.length === 0 || forZones.some(({name}) => !zones.has(name))) return undefined;
    for (const {name} of forZones) add(found, name, 1);
  }
  for (const [zone, count] of found) if (count + (hints.get(zone) ?? 0) > zones.get(zone)!.maximum) return undefined;
  return found;
};

/** Returns how many endpoints each zone donates and receives, so that all are close to their desired number. */
const exchange = (zones: Allocations, hints: ReadonlyMap<string, number>): {readonly donated: Counts; readonly received: Counts} => {
  const [surplus, lack, donated, received]: [Counts, Counts, Counts, Counts] = [new Map(), new Map(), new Map(), new Map()];
  for (const [zone, {desired}] of zones) {
    const difference = (hints.get(zone) ?? 0) - desired;
    if (difference > 0) surplus.set(zone, difference);
    else if (difference < 0) lack.set(zone, -difference);
  }
  for (;;) {
    const [from, to] = [mostOf(surplus), mostOf(lack)];
    if (!from || !to || (from[1] < 1 && to[1] < 1) || from[1] < 0.5 || to[1] < 0.5) return {donated, received};
    add(donated, from[0], 1);
    add(surplus, from[0], -1);
    add(received, to[0], 1);
    add(lack, to[0], -1);
  }
};

/** Hints each ready endpoint to its own zone. Returns whether all of them have one. */
const hintOwnZones = (drafts: readonly Draft[], hints: Counts): boolean => {
  for (const draft of drafts) {
    if (draft.endpoints.some(endpoint => isReadyEndpoint(endpoint) && !endpoint.zone)) return false;
    draft.endpoints = draft.endpoints.map(endpoint => {
      if (!isReadyEndpoint(endpoint)) return withHints(endpoint, undefined);
      add(hints, endpoint.zone!, 1);
      return withHints(endpoint, {forZones: [{name: endpoint.zone!}]});
    });
  }
  return true;
};

/** Hints endpoints of zones with a surplus to other zones. */
const redistribute = (drafts: readonly Draft[], hints: Counts, zones: Allocations): void => {
  const {donated, received} = exchange(zones, hints);
  for (const draft of drafts) {
    draft.endpoints = draft.endpoints.map(endpoint => {
      const from = endpoint.zone ?? '';
      const to = isReadyEndpoint(endpoint) && (donated.get(from) ?? 0) > 0 ? mostOf(received)?.[0] : undefined;
      if (to === undefined) return endpoint;
      add(donated, from, -1);
      add(received, to, -1);
      add(hints, from, -1);
      add(hints, to, 1);
      return withHints(endpoint, {forZones: [{name: to}]});
    });
  }
};

export interface ZoneHintResult {
  readonly plan: SlicePlan;
  /** The number of endpoints hinted to each zone; undefined without hints, for the reason given. */
  readonly hints: ReadonlyMap<string, number> | undefined;
  readonly problem?: string;
}

/**
 * Returns the plan with each ready endpoint hinted to a zone, so that zones have endpoints in proportion to their CPU:
 * most from their own, the rest from others. Slices with valid hints are unchanged. If that is not possible, there are
 * no hints at all.
 */
export const withZoneHints = (plan: SlicePlan, shares: ZoneShares | undefined): ZoneHintResult => {
  const ready = (endpoints: Frozen<EndpointSlice>['endpoints'] | Draft['endpoints']) => (endpoints ?? []).filter(isReadyEndpoint).length;
  const total = [...plan.creates, ...plan.updates, ...plan.unchanged].reduce((sum, {endpoints}) => sum + ready(endpoints), 0);
  const zones = allocations(shares, total);
  if (typeof zones === 'string') return {plan: withoutHints(plan), hints: undefined, problem: zones};

  const hints: Counts = new Map();
  const unchanged: Frozen<EndpointSlice>[] = [];
  const updates = [...plan.updates];
  for (const slice of plan.unchanged) {
    const own = hintsOf(slice, hints, zones);
    if (!own) updates.push(draftFrom(slice));
    else {
      unchanged.push(slice);
      for (const [zone, count] of own) add(hints, zone, count);
    }
  }
  const drafts = [...plan.creates, ...updates];
  if (!hintOwnZones(drafts, hints))
    return {
      plan: withoutHints({...plan, updates, unchanged}),
      hints: undefined,
      problem: 'One or more endpoints do not have a zone specified',
    };
  redistribute(drafts, hints, zones);
  return {plan: {creates: plan.creates, updates, unchanged}, hints};
};
