// Pools of devices: the slices of the newest generation that can be reached from a node, and whether all of them are
// there (KEP-4381).

import type {Index, Lister} from '#informers/lister.js';
import type {NodeSelector} from '#src/api/pod.js';
import type {Frozen} from '#src/api/key.js';
import type {kinds, ObjectOf} from '#src/api/kinds/index.js';
import type {Node} from '#src/api/types.js';
import {mostOf} from '#src/base/extremes.js';
import type {Steps} from '#src/base/steps.js';
import {matchesNodeSelector} from '#src/model/node-affinity.js';
import type {CounterSet, Device, Features, Slice} from './types.js';

export interface Pool {
  /** `driver/pool`. */
  readonly id: string;
  readonly driver: string;
  readonly pool: string;
  /** A slice is missing: nothing is allocated. */
  readonly isIncomplete: boolean;
  /** The slices contradict each other: nothing is allocated. */
  readonly isInvalid: boolean;
  /** Slices with devices that may be reached from the node. */
  readonly slices: readonly Slice[];
  /** The other slices, whose devices may consume the same counters. */
  readonly others: readonly Slice[];
  readonly counterSets: ReadonlyMap<string, CounterSet>;
}

type SliceObject = ObjectOf<typeof kinds.resourceSlices>;

/** Slices by the node they belong to; empty for those of several nodes. */
const byNode: Index<SliceObject> = {name: 'node', values: ({spec}) => [spec.nodeName ?? '']};
const poolIdOf = ({spec}: Slice): string => `${spec.driver}/${spec.pool.name}`;
/** Slices by their pool. */
const byPool: Index<SliceObject> = {name: 'pool', values: slice => [poolIdOf(slice)]};

interface Placement {
  readonly nodeName?: string | undefined;
  readonly allNodes?: boolean | undefined;
  readonly nodeSelector?: Frozen<NodeSelector> | undefined;
}

/** Whether a slice or a device can be reached from a node. */
export const isReachable = ({nodeName, allNodes, nodeSelector}: Placement, node: Frozen<Node>): boolean => {
  if (nodeName) return node.metadata?.name === nodeName;
  if (allNodes) return true;
  return nodeSelector !== undefined && matchesNodeSelector(nodeSelector, node);
};

const hasCounters = ({spec}: Slice): boolean => (spec.sharedCounters?.length ?? 0) > 0;
const devicesOf = ({spec}: Slice): readonly Device[] => spec.devices ?? [];

const isRelevant = (slice: Slice, node: Frozen<Node>): boolean => {
  const {spec} = slice;
  // Counters are needed from every node.
  if (hasCounters(slice)) return true;
  if (spec.perDeviceNodeSelection) return devicesOf(slice).some(device => isReachable(device, node));
  return isReachable(spec, node);
};

const hasBindingConditions = (slice: Slice): boolean => devicesOf(slice).some(({bindingConditions}) => bindingConditions !== undefined);

const byName = (a: Slice, b: Slice): number => ((a.metadata?.name ?? '') < (b.metadata?.name ?? '') ? -1 : 1);

/** Keeps the slices of the newest generation. */
const newest = (slices: readonly Slice[]): readonly Slice[] => {
  const generation = mostOf(slices.map(({spec}) => spec.pool.generation));
  return slices.filter(({spec}) => spec.pool.generation === generation);
};

const hasUniqueNames = (slices: readonly Slice[]): boolean => {
  const names = slices.flatMap(slice => devicesOf(slice).map(({name}) => name));
  return new Set(names).size === names.length;
};

/** Returns the counter sets by name; undefined if two have the same name. */
const counterSetsOf = (slices: readonly Slice[]): Map<string, CounterSet> | undefined => {
  const sets = slices.flatMap(({spec}) => spec.sharedCounters ?? []);
  const byKey = new Map(sets.map(set => [set.name, set]));
  return byKey.size === sets.length ? byKey : undefined;
};

const consumesKnownCounters = (slices: readonly Slice[], sets: ReadonlyMap<string, CounterSet>): boolean =>
  slices.every(slice =>
    devicesOf(slice).every(({consumesCounters = []}) =>
      consumesCounters.every(({counterSet, counters}) => {
        const set = sets.get(counterSet);
        return set !== undefined && Object.keys(counters).every(name => Object.hasOwn(set.counters, name));
      }),
    ),
  );

/** Builds a pool from its slices for the node, and all of its generation. */
const poolOf = (id: string, reachable: readonly Slice[], all: readonly Slice[], {partitionableDevices}: Features): Pool => {
  const {driver, pool} = reachable[0]!.spec;
  const base = {id, driver, pool: pool.name, isIncomplete: false, isInvalid: false, slices: [], others: [], counterSets: new Map()};
  if (all.length !== pool.resourceSliceCount) return {...base, isIncomplete: true};
  const slices = partitionableDevices ? reachable.filter(slice => !hasCounters(slice)) : reachable;
  if (!hasUniqueNames(slices)) return {...base, isInvalid: true};
  if (!partitionableDevices) return {...base, slices};
  const counterSets = counterSetsOf(reachable.filter(hasCounters));
  const near = new Set(reachable);
  const others = all.filter(slice => !near.has(slice));
  if (!counterSets || !consumesKnownCounters([...slices, ...others], counterSets)) return {...base, isInvalid: true};
  return {...base, slices, others, counterSets};
};

/** Returns the pools with devices for a node. Those with devices that are bound under conditions are last. */
export const gatherPools = function* (lister: Lister<SliceObject>, node: Frozen<Node>, features: Features): Steps<Pool[]> {
  const isSupported = ({spec}: Slice) =>
    features.partitionableDevices || (spec.perDeviceNodeSelection === undefined && (spec.sharedCounters?.length ?? 0) === 0);
  const found = new Map<string, Slice[]>();
  for (const slice of [...lister.by(byNode, node.metadata?.name ?? ''), ...lister.by(byNode, '')]) {
    yield;
    if (!isSupported(slice) || !isRelevant(slice, node)) continue;
    const id = poolIdOf(slice);
    const known = found.get(id);
    if (known) known.push(slice);
    else found.set(id, [slice]);
  }
  const pools: Pool[] = [];
  for (const [id, slices] of [...found].sort(([a], [b]) => (a < b ? -1 : 1))) {
    yield;
    const reachable = [...newest(slices)].sort((a, b) => Number(hasBindingConditions(a)) - Number(hasBindingConditions(b)) || byName(a, b));
    const {generation} = reachable[0]!.spec.pool;
    const all = newest(lister.by(byPool, id));
    // A newer generation has no device for the node, or not yet.
    if (all[0]!.spec.pool.generation > generation) continue;
    pools.push(poolOf(id, reachable, all, features));
  }
  const isLast = (pool: Pool) => pool.slices.some(hasBindingConditions);
  return [...pools.filter(pool => !isLast(pool)), ...pools.filter(isLast)];
};
