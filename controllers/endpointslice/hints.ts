// The hints of the endpoints in planned slices: adds or removes them, and turns slices with outdated hints into
// updates.

import type {Endpoint, EndpointSlice} from '#controllers/shared/endpoints/endpoint-slices.js';
import type {Service} from '#controllers/shared/endpoints/services.js';
import {sameJson} from '#src/api/equal.js';
import type {Frozen} from '#src/api/key.js';
import type {Draft} from './packing.js';

export type Hints = NonNullable<Endpoint['hints']>;

/** The planned slices of one address type. */
export interface SlicePlan {
  readonly creates: readonly Draft[];
  readonly updates: readonly Draft[];
  readonly unchanged: readonly Frozen<EndpointSlice>[];
}

export const isReadyEndpoint = ({conditions}: Frozen<Endpoint>): boolean => conditions?.ready === true;

/** Returns the endpoint with its hints replaced. */
export const withHints = (endpoint: Endpoint, hints: Hints | undefined): Endpoint => {
  const {hints: _, ...rest} = endpoint;
  return hints ? {...rest, hints} : rest;
};

/** Returns a draft with the content of an existing slice. */
export const draftFrom = (slice: Frozen<EndpointSlice>): Draft => ({
  existing: slice,
  ports: (slice.ports ?? []) as Draft['ports'],
  endpoints: [...((slice.endpoints ?? []) as Endpoint[])],
});

/** Changes the hints of all endpoints in drafts, and turns unchanged slices with outdated hints into drafts. */
const withChangedHints = (
  {creates, updates, unchanged}: SlicePlan,
  isUpToDate: (endpoint: Frozen<Endpoint>) => boolean,
  change: (endpoint: Endpoint) => Endpoint,
): SlicePlan => {
  const isOutdated = (slice: Frozen<EndpointSlice>) => (slice.endpoints ?? []).some(endpoint => !isUpToDate(endpoint));
  const all = [...updates, ...unchanged.filter(isOutdated).map(draftFrom)];
  for (const draft of [...creates, ...all]) draft.endpoints = draft.endpoints.map(change);
  return {creates, updates: all, unchanged: unchanged.filter(slice => !isOutdated(slice))};
};

/** Returns the plan without hints. */
export const withoutHints = (plan: SlicePlan): SlicePlan =>
  withChangedHints(
    plan,
    ({hints}) => !hints,
    endpoint => withHints(endpoint, undefined),
  );

/** Returns the service's traffic distribution, if it is a known one. */
export const distributionOf = ({spec}: Frozen<Service>): string | undefined => {
  const desired = (spec as {readonly trafficDistribution?: string} | undefined)?.trafficDistribution;
  return desired === 'PreferClose' || desired === 'PreferSameZone' || desired === 'PreferSameNode' ? desired : undefined;
};

/** Returns the plan with each ready endpoint hinted to its own zone, and to its own node if requested. */
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
