// What the slices that mirror an Endpoints object should contain: addresses grouped by family and ports. Existing
// slices are compared in changes.ts.

import {
  endpointText,
  portsText,
  sameEndpoint,
  type Endpoint,
  type EndpointSlice,
  type SlicePort,
} from '#controllers/shared/endpoints/endpoint-slices.js';
import {readAddress, type AddressFamily} from '#controllers/shared/endpoints/pod-endpoints.js';
import type {Frozen} from '#src/api/key.js';
import {mapInSteps, type Steps} from '#src/base/steps.js';
import type {kinds, ObjectOf} from '#src/api/kinds/index.js';
import type {ObjectReference} from '#src/api/types.js';

export type Endpoints = ObjectOf<typeof kinds.endpoints>;
type Subset = NonNullable<Endpoints['subsets']>[number];
type Address = NonNullable<Subset['addresses']>[number];

/** The content of one mirrored slice: the endpoints of one family and one set of ports. */
export interface MirroredGroup {
  readonly family: AddressFamily;
  readonly ports: readonly SlicePort[];
  readonly wanted: Map<string, Endpoint>;
}

export interface Desired {
  readonly groups: ReadonlyMap<string, MirroredGroup>;
  /** Invalid addresses. */
  readonly invalid: number;
  /** Addresses left out, including invalid ones. */
  readonly skipped: number;
}

/** Returns the key for the slices of one family and set of ports. */
const groupTextOf = (family: string, text: string): string => `${family} ${text}`;

/** Returns the key of an existing slice. */
export const groupText = function* ({addressType, ports}: Frozen<EndpointSlice>): Steps<string> {
  return groupTextOf(addressType, yield* portsText(ports));
};

const portsOf = ({ports = []}: Frozen<Subset>): Steps<SlicePort[]> =>
  mapInSteps(ports, ({name = '', port, protocol = 'TCP', appProtocol}) => ({
    name,
    port,
    protocol,
    ...(appProtocol === undefined ? {} : {appProtocol}),
  }));

const endpointOf = ({hostname, nodeName, targetRef}: Frozen<Address>, text: string, ready: boolean): Endpoint => ({
  addresses: [text],
  conditions: {ready},
  ...(hostname ? {hostname} : {}),
  ...(nodeName === undefined ? {} : {nodeName}),
  ...(targetRef ? {targetRef: targetRef as ObjectReference} : {}),
});

/** Returns the endpoints to mirror: at most `maxEndpoints` addresses of each subset, ready ones first. */
export const desiredOf = function* ({subsets = []}: Frozen<Endpoints>, maxEndpoints: number): Steps<Desired> {
  const groups = new Map<string, MirroredGroup>();
  let [invalid, skipped] = [0, 0];
  for (const subset of subsets) {
    const ports = yield* portsOf(subset);
    const text = yield* portsText(ports);
    const groupFor = (family: AddressFamily): MirroredGroup => {
      const key = groupTextOf(family, text);
      let group = groups.get(key);
      if (!group) groups.set(key, (group = {family, ports, wanted: new Map()}));
      return group;
    };
    const all = [
      ...(subset.addresses ?? []).map(address => [address, true] as const),
      ...(subset.notReadyAddresses ?? []).map(address => [address, false] as const),
    ];
    let added = 0;
    for (const [address, ready] of all) {
      if (added >= maxEndpoints) break;
      yield;
      const read = readAddress(address.ip);
      if (!read) {
        invalid++;
        continue;
      }
      const endpoint = endpointOf(address, read.text, ready);
      groupFor(read.family).wanted.set(endpointText(endpoint), endpoint);
      added++;
    }
    skipped += all.length - added;
  }
  return {groups, invalid, skipped};
};

/** Returns the number of endpoints to add, update and remove in a slice. */
export const differences = ({endpoints}: Frozen<EndpointSlice>, desired: ReadonlyMap<string, Endpoint>) => {
  let [matching, updated] = [0, 0];
  const existing = endpoints ?? [];
  for (const old of existing) {
    const endpoint = desired.get(endpointText(old));
    if (!endpoint) continue;
    matching++;
    if (!sameEndpoint(old, endpoint)) updated++;
  }
  return {added: desired.size - matching, updated, removed: existing.length - matching};
};
