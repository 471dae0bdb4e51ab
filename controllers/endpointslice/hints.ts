import type {Endpoint, EndpointSlice} from '#controllers/shared/endpoint-slices.js';
import type {Service} from '#controllers/shared/services.js';
import {sameJson} from '#src/api/equal.js';
import type {Frozen} from '#src/api/key.js';
import type {Draft} from './packing.js';

export type Hints = NonNullable<Endpoint['hints']>;

/** The slices of one address type as they are to be. */
export interface SlicePlan {
  readonly creates: readonly Draft[];
  readonly updates: readonly Draft[];
  readonly unchanged: readonly Frozen<EndpointSlice>[];
}

export const isReadyEndpoint = ({conditions}: Frozen<Endpoint>): boolean => conditions?.ready === true;

/** The endpoint with these hints in place of its own. */
export const withHints = (endpoint: Endpoint, hints: Hints | undefined): Endpoint => {
  const {hints: _, ...rest} = endpoint;
  return hints ? {...rest, hints} : rest;
};

/** The content of an unchanged slice, to be changed. */
export const draftFrom = (slice: Frozen<EndpointSlice>): Draft => ({
  existing: slice,
  ports: (slice.ports ?? []) as Draft['ports'],
  endpoints: [...((slice.endpoints ?? []) as Endpoint[])],
});

/** Gives each endpoint of the slices to be written the hints that `hintsFor` tells, and reopens slices in which one has others. */
const withChangedHints = ({creates, updates, unchanged}: SlicePlan, isUpToDate: (endpoint: Frozen<Endpoint>) => boolean, change: (endpoint: Endpoint) => Endpoint): SlicePlan => {
  const isOutdated = (slice: Frozen<EndpointSlice>) => (slice.endpoints ?? []).some(endpoint => !isUpToDate(endpoint));
  const all = [...updates, ...unchanged.filter(isOutdated).map(draftFrom)];
  for (const draft of [...creates, ...all]) draft.endpoints = draft.endpoints.map(change);
  return {creates, updates: all, unchanged: unchanged.filter(slice => !isOutdated(slice))};
};

/** The slices without a word of who should use which endpoint. */
export const withoutHints = (plan: SlicePlan): SlicePlan =>
  withChangedHints(
    plan,
    ({hints}) => !hints,
    endpoint => withHints(endpoint, undefined),
  );

/** How the service wants its traffic spread, if that is a way that is known here. */
export const distributionOf = ({spec}: Frozen<Service>): string | undefined => {
  const wanted = (spec as {readonly trafficDistribution?: string} | undefined)?.trafficDistribution;
  return wanted === 'PreferClose' || wanted === 'PreferSameZone' || wanted === 'PreferSameNode' ? wanted : undefined;
};

/** The slices with each ready endpoint meant for callers in its own zone, and first of all on its own node if that is wanted. */
export const withSameZoneHints = (plan: SlicePlan, distribution: string): SlicePlan => {
  const hintsFor = ({zone, nodeName}: Frozen<Endpoint>): Hints | undefined => {
    const forZones = zone === undefined ? {} : {forZones: [{name: zone}]};
    const forNodes = nodeName === undefined || distribution !== 'PreferSameNode' ? {} : {forNodes: [{name: nodeName}]};
    const hints = {...forZones, ...forNodes};
    return Object.keys(hints).length > 0 ? hints : undefined;
  };
  return withChangedHints(
    plan,
    endpoint => !isReadyEndpoint(endpoint) || sameJson(endpoint.hints, hintsFor(endpoint)),
    endpoint => (isReadyEndpoint(endpoint) ? withHints(endpoint, hintsFor(endpoint)) : endpoint),
  );
};
