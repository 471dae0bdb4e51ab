import {slicePrefix, slicesBy, type EndpointSlice, type SliceNames} from '#controllers/shared/endpoints/endpoint-slices.js';
import {sameContent} from '#src/api/equal.js';
import {keyOf, type Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Steps} from '#src/base/steps.js';
import type {Naming} from '#src/api/naming.js';
import {controllerRefTo} from '#src/model/owners.js';
import {differences, groupText, type Endpoints, type MirroredGroup} from './desired.js';

/** What mirrored slices depend on besides the Endpoints. */
export interface MirrorRules {
  readonly naming: Naming;
  readonly names: SliceNames;
  readonly maxEndpoints: number;
}

/** The changes that mirror the Endpoints of a service. */
export interface Changes {
  /** Existing slices have a name, new ones have none. */
  readonly writes: readonly EndpointSlice[];
  readonly deletes: readonly Frozen<EndpointSlice>[];
  /** How many endpoints are added, updated and removed in slices that are kept or created. */
  readonly counts: {readonly added: number; readonly updated: number; readonly removed: number};
}

/** Returns the slices of each family as an iterator. */
const byFamily = (slices: readonly Frozen<EndpointSlice>[]): ReadonlyMap<string, Iterator<Frozen<EndpointSlice>, undefined>> => {
  const families = new Set(slices.map(({addressType}) => addressType));
  return new Map([...families].map(family => [family, slices.filter(({addressType}) => addressType === family).values()]));
};

/** Returns the name of an existing slice and the version that is replaced. */
const identityOf = ({metadata}: Frozen<EndpointSlice>) => ({
  name: metadata?.name ?? '',
  ...(metadata?.resourceVersion ? {resourceVersion: metadata.resourceVersion} : {}),
});

const annotationsFor = ({metadata}: Frozen<Endpoints>, {naming, names}: MirrorRules): Record<string, string> => {
  const {[names.triggerTime]: _, [naming.annotations.lastApplied]: __, ...rest} = metadata?.annotations ?? {};
  return rest;
};

const sliceFor = (
  object: Frozen<Endpoints>,
  {family, ports, wanted}: MirroredGroup,
  existing: Frozen<EndpointSlice> | undefined,
  rules: MirrorRules,
): EndpointSlice => {
  const {naming, names, maxEndpoints} = rules;
  const {namespace, name} = keyOf(object);
  return {
    metadata: {
      namespace,
      ...(existing ? identityOf(existing) : {generateName: slicePrefix(name)}),
      labels: {...object.metadata?.labels, [names.service]: name, [names.managedBy]: names.mirroringControllerName},
      annotations: annotationsFor(object, rules),
      ownerReferences: [controllerRefTo(object, kinds.endpoints, naming)],
    },
    addressType: family,
    endpoints: [...wanted.values()].slice(0, maxEndpoints),
    ports: [...ports],
  };
};

const isUpToDate = (
  slice: Frozen<EndpointSlice>,
  object: Frozen<Endpoints>,
  changes: ReturnType<typeof differences>,
  rules: MirrorRules,
): boolean => {
  const {names} = rules;
  const {[names.service]: _, [names.managedBy]: __, ...labels} = slice.metadata?.labels ?? {};
  const {[names.service]: ___, [names.managedBy]: ____, ...desired} = object.metadata?.labels ?? {};
  return (
    changes.added + changes.updated + changes.removed === 0 &&
    sameContent(labels, desired) &&
    sameContent(slice.metadata?.annotations, annotationsFor(object, rules))
  );
};

/** Returns the changes that leave one slice for each group: the first existing one is kept. */
export const changesFor = function* (
  object: Frozen<Endpoints>,
  existing: readonly Frozen<EndpointSlice>[],
  groups: ReadonlyMap<string, MirroredGroup>,
  rules: MirrorRules,
): Steps<Changes> {
  const existingByGroup = yield* slicesBy(existing, groupText);
  const writes: EndpointSlice[] = [];
  const unwanted: Frozen<EndpointSlice>[] = [];
  const [counts, newGroups] = [{added: 0, updated: 0, removed: 0}, [] as MirroredGroup[]];
  for (const [text, group] of groups) {
    const [first, ...others] = existingByGroup.get(text) ?? [];
    existingByGroup.delete(text);
    for (const other of others) unwanted.push(other);
    if (!first) {
      newGroups.push(group);
      counts.added += group.wanted.size;
      continue;
    }
    const changes = differences(first, group.wanted);
    for (const what of ['added', 'updated', 'removed'] as const) counts[what] += changes[what];
    if (!isUpToDate(first, object, changes, rules)) writes.push(sliceFor(object, group, first, rules));
  }
  for (const slices of existingByGroup.values()) for (const slice of slices) unwanted.push(slice);
  // New groups reuse slices that would be deleted, to reduce events for watchers.
  const spare = byFamily(unwanted);
  const reused = new Set<Frozen<EndpointSlice>>();
  for (const group of newGroups) {
    const slice = spare.get(group.family)?.next().value;
    if (slice) reused.add(slice);
    writes.push(sliceFor(object, group, slice, rules));
  }
  return {writes, deletes: unwanted.filter(slice => !reused.has(slice)), counts};
};
