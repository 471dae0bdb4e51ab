// In which order pods are evicted. Those without measurements come first.

import type {Frozen} from '#src/api/key.js';
import type {PodStats} from '#src/api/node/stats.js';
import type {Pod} from '#src/api/pod.js';
import {compareQuantities, subtractQuantities, type Quantity} from '#src/api/quantity.js';
import {measuredParts, type DiskLayout} from './disk-layout.js';
import {diskUsage, memoryUsage, requestOf, type StatsOf} from './pod-usage.js';
import {signals, type Signal} from './signals.js';

type Compare = (a: Frozen<Pod>, b: Frozen<Pod>) => number;

/** What ranks are computed from. */
export interface RankInputs {
  readonly statsOf: StatsOf;
  readonly layout: DiskLayout;
  /** Whether resources of pods count instead of those of their containers. */
  readonly withPodLevel: boolean;
}

const trueFirst = (a: boolean, b: boolean): number => Number(b) - Number(a);

const byPriority: Compare = (a, b) => (a.spec?.priority ?? 0) - (b.spec?.priority ?? 0);

/** Compares pods by their measurements. */
const measured =
  (statsOf: StatsOf, compare: (a: readonly [Frozen<Pod>, PodStats], b: readonly [Frozen<Pod>, PodStats]) => number): Compare =>
  (a, b) => {
    const [first, second] = [statsOf(a), statsOf(b)];
    return first && second ? compare([a, first], [b, second]) : trueFirst(!first, !second);
  };

interface Amounts {
  usage(pod: Frozen<Pod>, stats: PodStats): Quantity;
  /** What usage must exceed for a pod to come first. */
  bound(pod: Frozen<Pod>): Quantity;
  /** What is taken from the usage of those that are compared by it. */
  request(pod: Frozen<Pod>): Quantity;
}

/**
 * Those that use more than they have requested first, then those of low priority, then those that use most beyond it.
 */
const byExcess = (statsOf: StatsOf, {usage, bound, request}: Amounts): readonly Compare[] => [
  measured(statsOf, ([a, ofA], [b, ofB]) =>
    trueFirst(compareQuantities(usage(a, ofA), bound(a)) > 0, compareQuantities(usage(b, ofB), bound(b)) > 0),
  ),
  byPriority,
  measured(statsOf, ([a, ofA], [b, ofB]) =>
    compareQuantities(subtractQuantities(usage(b, ofB), request(b)), subtractQuantities(usage(a, ofA), request(a))),
  ),
];

const comparisons = (signal: Signal, {statsOf, layout, withPodLevel}: RankInputs): readonly Compare[] => {
  const {resource} = signals[signal];
  switch (resource) {
    case 'memory': {
      const request = (pod: Frozen<Pod>): Quantity => requestOf(pod, 'memory', withPodLevel);
      return byExcess(statsOf, {usage: (_, stats) => memoryUsage(stats), bound: request, request});
    }
    case 'pids':
      return [byPriority, measured(statsOf, ([, a], [, b]) => (b.processes ?? 0) - (a.processes ?? 0))];
    case 'ephemeral-storage':
    case 'inodes': {
      const parts = measuredParts(layout, signal) ?? [];
      return byExcess(statsOf, {
        usage: (pod, stats) => diskUsage(pod, stats, parts, resource),
        bound: pod => requestOf(pod, resource, withPodLevel),
        // As in the original, also where inodes are counted.
        request: pod => requestOf(pod, 'ephemeral-storage', withPodLevel),
      });
    }
  }
};

/** Returns pods in the order in which they are evicted for a signal. */
export const ranked = (pods: readonly Frozen<Pod>[], signal: Signal, inputs: RankInputs): readonly Frozen<Pod>[] => {
  const compares = comparisons(signal, inputs);
  return [...pods].sort((a, b) => compares.map(compare => compare(a, b)).find(result => result !== 0) ?? 0);
};
