import {portsText, slicesBy, type EndpointSlice, type SliceNames} from '#controllers/shared/endpoints/endpoint-slices.js';
import type {Service} from '#controllers/shared/endpoints/services.js';
import type {Efficiency} from '#controllers/shared/endpoints/slice-metrics.js';
import type {Frozen} from '#src/api/key.js';
import type {Steps} from '#src/base/steps.js';
import type {PortGroup} from './desired.js';
import type {SlicePlan} from './hints.js';
import {packSlices, type Packing} from './packing.js';
import {isLabelled, isOwnedBy, isPlaceholder} from './writes.js';

/** The changes to the slices of one address type, before hints are added. */
export interface PackedPlan extends SlicePlan {
  readonly deletes: readonly Frozen<EndpointSlice>[];
  /** How many endpoints are added and removed. */
  readonly counts: {readonly added: number; readonly removed: number};
  readonly parts: readonly Efficiency[];
}

interface PlanRules {
  readonly names: SliceNames;
  readonly maxEndpoints: number;
}

/**
 * Packs the endpoints of each group into slices. Slices of other ports and of other owners are deleted; without
 * endpoints one placeholder is left.
 */
export const planSlices = function* (
  service: Frozen<Service>,
  existing: readonly Frozen<EndpointSlice>[],
  groups: ReadonlyMap<string, PortGroup>,
  {names, maxEndpoints}: PlanRules,
): Steps<PackedPlan> {
  const own = existing.filter(slice => isOwnedBy(slice, service));
  const byPorts = yield* slicesBy(own, ({ports}) => portsText(ports));
  const parts: Efficiency[] = [];
  const packings: Packing[] = [];
  for (const [text, group] of groups) {
    const slices = byPorts.get(text) ?? [];
    const endpoints = group.wanted.size;
    const packing = packSlices(slices, group, {maxEndpoints, isLabelled: slice => isLabelled(slice, service, names)});
    packings.push(packing);
    parts.push({endpoints, slices: slices.length + packing.creates.length - packing.deletes.length});
  }
  const deletes = existing.filter(slice => !isOwnedBy(slice, service));
  for (const packing of packings) for (const slice of packing.deletes) deletes.push(slice);
  for (const [text, slices] of byPorts) if (!groups.has(text)) for (const slice of slices) deletes.push(slice);

  const creates = packings.flatMap(packing => packing.creates);
  if (existing.length === deletes.length && creates.length === 0) {
    if (deletes.length === 1 && isPlaceholder(deletes[0]!, service, names)) deletes.pop();
    else creates.push({existing: undefined, ports: [], endpoints: []});
    parts.push({endpoints: 0, slices: 1});
  }
  const sum = (of: (packing: Packing) => number) => packings.reduce((total, packing) => total + of(packing), 0);
  return {
    creates,
    updates: packings.flatMap(({updates}) => updates),
    unchanged: packings.flatMap(({unchanged}) => unchanged),
    deletes,
    counts: {added: sum(({added}) => added), removed: sum(({removed}) => removed)},
    parts,
  };
};
