// Merges the hints of resource managers into the best one. Pure.

import type {NumaNode} from '#src/platlet/topology/read.js';
import type {ResourceHints, TopologyHint} from './hints.js';
import {countOf, isNarrower, maskOf, nodesOf, type NumaMask} from './mask.js';
import type {TopologyOptions} from './options.js';

export type TopologyPolicy = 'none' | 'best-effort' | 'restricted' | 'single-numa-node';

/** The NUMA nodes of a machine, and how they are compared. */
export interface NumaOrder {
  readonly nodes: readonly Pick<NumaNode, 'id' | 'distances'>[];
  readonly options: TopologyOptions;
}

export interface MergedHint {
  readonly hint: TopologyHint;
  readonly isAdmitted: boolean;
}

/** A hint with an affinity. */
interface Affine extends TopologyHint {
  readonly affinity: NumaMask;
}

const allNodes = ({nodes}: NumaOrder): NumaMask => maskOf(nodes.map(({id}) => id));

/** Returns the lists of hints, one a resource. A manager without hints has no preference. */
const hintLists = (hints: readonly (ResourceHints | undefined)[]): readonly (readonly TopologyHint[])[] =>
  hints.flatMap(ofProvider => {
    const resources = Object.values(ofProvider ?? {});
    if (resources.length === 0) return [[{affinity: undefined, isPreferred: true}]];
    return resources.map(list => (list.length > 0 ? list : [{affinity: undefined, isPreferred: false}]));
  });

/** Returns the hints that a single NUMA node, or any, satisfies. */
const singleNodeHints = (list: readonly TopologyHint[]): readonly TopologyHint[] =>
  list.filter(({affinity, isPreferred}) => isPreferred && (affinity === undefined || countOf(affinity) === 1));

const permutations = function* (lists: readonly (readonly TopologyHint[])[]): Generator<readonly TopologyHint[]> {
  const [first, ...rest] = lists;
  if (!first) {
    yield [];
    return;
  }
  for (const hint of first) for (const others of permutations(rest)) yield [hint, ...others];
};

/** Merges one hint of each resource: the nodes that all of them have. Preferred only if all are, and are equal. */
const mergeOne = (all: NumaMask, hints: readonly TopologyHint[]): Affine => {
  const affinities = hints.flatMap(({affinity}) => affinity ?? []);
  return {
    affinity: affinities.reduce((merged, each) => merged & each, all),
    isPreferred: hints.every(({isPreferred}) => isPreferred) && affinities.every(each => each === affinities[0]),
  };
};

/** Returns the number of nodes that the most demanding resource needs at least. */
const leastNodes = (lists: readonly (readonly TopologyHint[])[]): number =>
  Math.max(
    0,
    ...lists.map(list => {
      const counts = list.flatMap(({affinity}) => (affinity === undefined ? [] : [countOf(affinity)]));
      return counts.length > 0 ? Math.min(...counts) : 0;
    }),
  );

const averageDistance = ({nodes}: NumaOrder, mask: NumaMask): number => {
  const chosen = nodesOf(mask);
  const distances = new Map(nodes.map(({id, distances: of = []}) => [id, of]));
  const sum = chosen.reduce((total, one) => total + chosen.reduce((part, other) => part + (distances.get(one)?.[other] ?? 0), 0), 0);
  return chosen.length === 0 ? 0 : sum / chosen.length ** 2;
};

/** Returns the mask that fits better: the narrower one, or of as many nodes the closer ones. */
const fitter = (order: NumaOrder, closest: boolean, a: NumaMask, b: NumaMask): NumaMask => {
  if (!closest || countOf(a) !== countOf(b)) return isNarrower(a, b) ? a : b;
  const [left, right] = [averageDistance(order, a), averageDistance(order, b)];
  return left === right ? (a < b ? a : b) : left < right ? a : b;
};

/** Returns the better of two hints. `wanted`: the number of nodes that hints which are not preferred should have. */
const better = (
  current: Affine | undefined,
  candidate: Affine,
  wanted: number,
  fit: (a: NumaMask, b: NumaMask) => NumaMask,
): Affine | undefined => {
  if (candidate.affinity === 0n) return current;
  if (!current) return candidate;
  if (current.isPreferred !== candidate.isPreferred) return current.isPreferred ? current : candidate;
  const [now, then] = [countOf(current.affinity), countOf(candidate.affinity)];
  const byFit = (): Affine =>
    candidate.affinity === current.affinity || fit(current.affinity, candidate.affinity) === current.affinity ? current : candidate;
  if (current.isPreferred || now > wanted) return byFit();
  if (now === wanted) return then === wanted ? byFit() : current;
  if (then > wanted) return current;
  if (then === wanted || then > now) return candidate;
  return then < now ? current : byFit();
};

/** Merges the hints of all resource managers, and decides by the policy whether the allocation is admitted. */
export const mergeHints = (
  policy: Exclude<TopologyPolicy, 'none'>,
  order: NumaOrder,
  hints: readonly (ResourceHints | undefined)[],
): MergedHint => {
  const isSingle = policy === 'single-numa-node';
  const lists = isSingle ? hintLists(hints).map(singleNodeHints) : hintLists(hints);
  const all = allNodes(order);
  const wanted = leastNodes(lists);
  const fit = (a: NumaMask, b: NumaMask): NumaMask => fitter(order, order.options.prefersClosest && !isSingle, a, b);
  let best: Affine | undefined;
  for (const permutation of permutations(lists)) best = better(best, mergeOne(all, permutation), wanted, fit);
  const hint: TopologyHint = best ?? {affinity: all, isPreferred: false};
  return {
    hint: isSingle && hint.affinity === all ? {affinity: undefined, isPreferred: hint.isPreferred} : hint,
    isAdmitted: policy === 'best-effort' || hint.isPreferred,
  };
};
