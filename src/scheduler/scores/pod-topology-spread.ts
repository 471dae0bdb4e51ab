import type {NodeInfo} from '#src/scheduler/cache/node-info.js';
import {leastOf, mostOf} from '#src/base/extremes.js';
import type {Steps} from '#src/base/steps.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import type {Cluster, Gauge, Score} from '#src/scheduler/plugin.js';
import {counting, defaultConstraints, isPlace, ownConstraints, systemConstraints, type Constraint, type DefaultConstraint} from '#src/scheduler/topology/constraints.js';
import {topScore} from './normalize.js';

/** How much pods count that are in a place, by one constraint. */
interface Weighing {
  readonly constraint: Constraint;
  /** Grows with the number of places, since there are fewer pods in each. */
  readonly weight: number;
  in(node: NodeInfo): number;
}

interface Candidates {
  readonly pod: PodInfo;
  /** Nodes that the pod fits on, and those whose pods count. */
  readonly fitting: readonly NodeInfo[];
  readonly counted: readonly NodeInfo[];
  readonly cluster: Cluster;
}

const weighing = function* (constraint: Constraint, {pod, fitting, counted, cluster}: Candidates): Steps<Weighing> {
  const {topologyKey, selector} = constraint;
  const countOn = cluster.counts.counter(pod.namespace, selector);
  if (topologyKey === cluster.naming.labels.hostname) return {constraint, weight: Math.log(fitting.length + 2), in: countOn};
  const byPlace = new Map<string, number>();
  for (const {labels} of fitting) {
    const place = labels[topologyKey];
    if (place !== undefined) byPlace.set(place, 0);
  }
  const includes = counting(constraint, pod);
  for (const node of byPlace.size > 0 ? counted : []) {
    yield;
    const place = node.labels[topologyKey];
    const before = place === undefined ? undefined : byPlace.get(place);
    if (before !== undefined && includes(node)) byPlace.set(place!, before + countOn(node));
  }
  return {constraint, weight: Math.log(byPlace.size + 2), in: ({labels}) => byPlace.get(labels[topologyKey] ?? '') ?? 0};
};

const prepare = function* (pod: PodInfo, nodes: readonly NodeInfo[], cluster: Cluster, defaults: readonly DefaultConstraint[] | undefined): Steps<Gauge | undefined> {
  const isStated = (pod.pod.spec?.topologySpreadConstraints ?? []).length > 0;
  // Places that somebody asked for must all be there; those that nobody did make do with what there is.
  const isOwn = isStated || defaults !== undefined;
  const constraints = isStated ? ownConstraints(pod, 'ScheduleAnyway', cluster) : defaultConstraints(pod, defaults ?? systemConstraints(cluster.naming), 'ScheduleAnyway', cluster);
  if (constraints.length === 0) return undefined;
  const isCounted = ({labels}: NodeInfo): boolean => !isOwn || isPlace(labels, constraints);
  const fitting = isOwn ? nodes.filter(isCounted) : nodes;
  const counted = isOwn ? cluster.nodes.filter(isCounted) : cluster.nodes;
  const weighings: Weighing[] = [];
  for (const each of constraints) weighings.push(yield* weighing(each, {pod, fitting, counted, cluster}));
  return {
    score(node) {
      if (!isCounted(node)) return 0;
      let sum = 0;
      for (const {constraint, weight, in: countIn} of weighings) {
        if (node.labels[constraint.topologyKey] !== undefined) sum += countIn(node) * weight + (constraint.maxSkew - 1);
      }
      return Math.round(sum);
    },
    normalize(scores, all) {
      const valid = isOwn ? scores.filter((_, at) => isCounted(all[at]!)) : scores;
      const [least, most] = [leastOf(valid), mostOf(valid)];
      for (let at = 0; at < scores.length; at++) {
        if (!isCounted(all[at]!)) scores[at] = 0;
        else scores[at] = most === 0 ? topScore : Math.floor((topScore * (most + least - scores[at]!)) / most);
      }
    },
  };
};

/** Prefers places with few pods like this one. Pods that state no constraints have these, or those of the system. */
export const podTopologySpreadBy = (defaults?: readonly DefaultConstraint[]): Score => ({
  plugin: 'PodTopologySpread',
  weight: 2,
  prepare: (pod, nodes, cluster) => prepare(pod, nodes, cluster, defaults),
});

export const podTopologySpreadScore = podTopologySpreadBy();
