// The requests of a claim, checked and with their classes: how many devices each asks for, and which, where it asks for
// all.

import type {Steps} from '#src/base/steps.js';
import type {Pool} from './pools.js';
import {AllocationError, maxResults, type Candidate, type Claim, type DeviceClass, type ExactRequest, type Features} from './types.js';

/** A request, or an alternative of a prioritized list. */
export interface RequestData {
  /** `request`, or `request/alternative`. */
  readonly fullName: string;
  /** The name of the request in the claim. */
  readonly base: string;
  readonly isAlternative: boolean;
  readonly request: ExactRequest;
  readonly class: DeviceClass;
  readonly count: number;
  /** The devices, if all are requested. */
  readonly all: readonly Candidate[] | undefined;
}

/** A request of a claim: its alternatives in order of preference, or itself as the only one. */
export interface RequestOptions {
  readonly options: readonly RequestData[];
  readonly isList: boolean;
}

export interface RequestContext {
  readonly features: Features;
  readonly pools: readonly Pool[];
  classOf(name: string): DeviceClass | undefined;
  /** Whether a device matches the selectors of a request, in steps. */
  isSelectable(claim: Claim, data: Pick<RequestData, 'request' | 'class'>, candidate: Candidate): Steps<boolean>;
  /** Whether enough of the device's capacity is left. */
  hasCapacity(request: ExactRequest, candidate: Candidate): boolean;
  /** The group of device classes on the wire. */
  readonly group: string;
}

/** Returns the devices of a pool. */
export function* candidatesOf({driver, pool, slices}: Pool): Iterable<Candidate> {
  for (const slice of slices) for (const device of slice.spec.devices ?? []) yield {id: {driver, pool, device: device.name}, device, slice};
}

export const claimText = ({metadata}: Claim): string => `${metadata?.namespace}/${metadata?.name}`;

const allOf = function* (
  claim: Claim,
  data: Pick<RequestData, 'request' | 'class'>,
  at: string,
  {pools, isSelectable, hasCapacity}: RequestContext,
): Steps<Candidate[]> {
  const found: Candidate[] = [];
  for (const pool of pools) {
    if (pool.isIncomplete)
      throw new AllocationError(`${at}: asks for all devices, but resource pool ${pool.id} is currently being updated`);
    if (pool.isInvalid) throw new AllocationError(`${at}: asks for all devices, but resource pool ${pool.id} is currently invalid`);
    for (const candidate of candidatesOf(pool)) {
      if ((yield* isSelectable(claim, data, candidate)) && hasCapacity(data.request, candidate)) found.push(candidate);
      yield;
    }
  }
  return found;
};

const dataOf = function* (
  claim: Claim,
  request: ExactRequest,
  names: {readonly name: string; readonly base: string; readonly isAlternative: boolean},
  context: RequestContext,
): Steps<RequestData> {
  const {features, classOf, group} = context;
  const {name, base, isAlternative} = names;
  const at = `claim ${claimText(claim)}, request ${name}`;
  for (const [index, {cel}] of (request.selectors ?? []).entries())
    if (!cel) throw new AllocationError(`${at}, selector #${index}: CEL expression empty (unsupported selector type?)`);
  if (!features.adminAccess && request.adminAccess !== undefined)
    throw new AllocationError(`${at}: admin access is requested, but the feature is disabled`);
  const {deviceClassName, allocationMode = 'ExactCount', count = 1} = request;
  if (!deviceClassName) throw new AllocationError(`${at}: missing device class name (unsupported request type?)`);
  const found = classOf(deviceClassName);
  if (!found) {
    const missing = `deviceclass.${group} ${JSON.stringify(deviceClassName)} not found`;
    throw new AllocationError(`${at}: could not retrieve device class ${deviceClassName}: ${missing}`);
  }
  const fullName = isAlternative ? `${base}/${name}` : name;
  const data = {fullName, base, isAlternative, request, class: found};
  switch (allocationMode) {
    case 'ExactCount':
      return {...data, count, all: undefined};
    case 'All': {
      const all = yield* allOf(claim, data, at, context);
      return {...data, count: all.length, all};
    }
    default:
      throw new AllocationError(`${at}: unsupported count mode ${allocationMode}`);
  }
};

/** Returns the requests of a claim. Throws an `AllocationError` for requests that cannot be met on any node. */
export const requestsOf = function* (claim: Claim, context: RequestContext): Steps<RequestOptions[]> {
  const {features} = context;
  const found: RequestOptions[] = [];
  let least = 0;
  for (const {name, exactly, firstAvailable = []} of claim.spec.devices?.requests ?? []) {
    const isList = firstAvailable.length > 0;
    if (isList && !features.prioritizedList)
      throw new AllocationError(
        `claim ${claimText(claim)}, request ${name}: has subrequests, but the DRAPrioritizedList feature is disabled`,
      );
    const given = isList ? firstAvailable.map(each => ({name: each.name, request: each as ExactRequest})) : [{name, request: exactly!}];
    const options: RequestData[] = [];
    for (const each of given) {
      if (each.request.capacity && !features.consumableCapacity) {
        const what = isList ? 'subrequest' : 'request';
        throw new AllocationError(
          `claim ${claimText(claim)}, ${what} ${each.name}: has capacity requests, but the DRAConsumableCapacity feature is disabled`,
        );
      }
      options.push(yield* dataOf(claim, each.request, {name: each.name, base: name, isAlternative: isList}, context));
    }
    found.push({options, isList});
    least += Math.min(...options.map(({count}) => count));
  }
  if (least > maxResults)
    throw new AllocationError(`claim ${claimText(claim)}: number of requested devices ${least} exceeds the claim limit of ${maxResults}`);
  return found;
};
