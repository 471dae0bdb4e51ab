import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';
import {leastOf} from '#src/base/extremes.js';
import type {Steps} from '#src/base/steps.js';
import type {NodeInfo} from '#src/scheduler/cache/node-info.js';
import type {PodInfo} from '#src/scheduler/cache/pod-info.js';
import {rejected, ruledOut, type Check, type Cluster, type Filter} from '#src/scheduler/plugin.js';
import {counting, defaultConstraints, isPlace, ownConstraints, type Constraint, type DefaultConstraint} from '#src/scheduler/topology/constraints.js';

/** How many pods like this one there are in each place that a constraint speaks of. */
class Spread {
  readonly constraint: Constraint;
  /** Whether pods on a node count. */
  readonly includes: (node: NodeInfo) => boolean;
  readonly #byPlace = new Map<string, number>();
  #least: number | undefined;

  constructor(constraint: Constraint, pod: PodInfo) {
    this.constraint = constraint;
    this.includes = counting(constraint, pod);
  }

  add(place: string, by: number): void {
    this.#byPlace.set(place, this.in(place) + by);
    this.#least = undefined;
  }

  in(place: string): number {
    return this.#byPlace.get(place) ?? 0;
  }

  /** In the emptiest place. Nothing, while there are fewer places than the constraint wants. */
  get least(): number {
    if (this.#byPlace.size < this.constraint.minDomains) return 0;
    return (this.#least ??= leastOf(this.#byPlace.values()));
  }
}

const spreads = function* (pod: PodInfo, constraints: readonly Constraint[], cluster: Cluster): Steps<Spread[]> {
  const all = constraints.map(constraint => ({spread: new Spread(constraint, pod), countOn: cluster.counts.counter(pod.namespace, constraint.selector)}));
  for (const node of cluster.nodes) {
    yield;
    if (!isPlace(node.labels, constraints)) continue;
    for (const {spread, countOn} of all) if (spread.includes(node)) spread.add(node.labels[spread.constraint.topologyKey]!, countOn(node));
  }
  return all.map(({spread}) => spread);
};

type Defaults = readonly DefaultConstraint[];

/** What a pod demands itself, or what is demanded of those who state nothing. */
const demanded = (pod: PodInfo, cluster: Cluster, defaults: Defaults): readonly Constraint[] =>
  pod.pod.spec?.topologySpreadConstraints?.length ? ownConstraints(pod, 'DoNotSchedule', cluster) : defaultConstraints(pod, defaults, 'DoNotSchedule', cluster);

const prepare = function* (pod: PodInfo, cluster: Cluster, defaults: Defaults): Steps<Check | undefined> {
  const constraints = demanded(pod, cluster, defaults);
  if (constraints.length === 0) return undefined;
  const all = yield* spreads(pod, constraints, cluster);
  const count = (other: PodInfo, node: NodeInfo, by: 1 | -1) => {
    if (other.namespace !== pod.namespace || other.pod.metadata?.deletionTimestamp || !isPlace(node.labels, constraints)) return;
    for (const spread of all) {
      const {selector, topologyKey} = spread.constraint;
      if (selector.matches(other.labels) && spread.includes(node)) spread.add(node.labels[topologyKey]!, by);
    }
  };
  return {
    judge({labels}) {
      for (const spread of all) {
        const {topologyKey, selector, maxSkew} = spread.constraint;
        const place = labels[topologyKey];
        if (place === undefined) return ruledOut("node(s) didn't match pod topology spread constraints (missing required label)");
        const skew = spread.in(place) + (selector.matches(pod.labels) ? 1 : 0) - spread.least;
        if (skew > maxSkew) return rejected("node(s) didn't match pod topology spread constraints");
      }
      return undefined;
    },
    add: (other, node) => count(other, node, 1),
    remove: (other, node) => count(other, node, -1),
  };
};

const matters = (pod: PodInfo, other: Frozen<Pod> | undefined, constraints: readonly Constraint[]): boolean =>
  other?.metadata?.namespace === pod.namespace && constraints.some(({selector}) => selector.matches(other.metadata?.labels));

/** Whether a pod came, went or changed that counts for a constraint. */
const podHelps = (pod: PodInfo, old: Frozen<Pod> | undefined, now: Frozen<Pod> | undefined, constraints: readonly Constraint[]): boolean => {
  if (now?.metadata?.uid === pod.uid) return true;
  if (!old || !now) return matters(pod, old ?? now, constraints);
  return constraints.some(constraint => matters(pod, old, [constraint]) !== matters(pod, now, [constraint]));
};

/** Whether a place came, went, or a node moved between places. */
const nodeHelps = (old: Frozen<Node> | undefined, now: Frozen<Node> | undefined, constraints: readonly Constraint[]): boolean => {
  const places = (node: Frozen<Node> | undefined) => constraints.map(({topologyKey}) => node?.metadata?.labels?.[topologyKey]);
  const [before, after] = [places(old), places(now)];
  const [was, is] = [before, after].map(each => !each.includes(undefined));
  return was !== is || (is === true && before.some((place, at) => place !== after[at]));
};

/** Keeps pods that are alike spread evenly over places, as the pod demands, or as the defaults do of pods that state nothing. */
export const podTopologySpreadWith = (defaults: Defaults): Filter => ({
  plugin: 'PodTopologySpread',
  prepare: (pod, cluster) => prepare(pod, cluster, defaults),
  hints: [
    {
      on: ['AssignedPodAdd', 'AssignedPodUpdatePodLabel', 'AssignedPodDelete', 'UnschedulablePodUpdatePodLabel'],
      helps: (pod, old: Frozen<Pod> | undefined, now: Frozen<Pod> | undefined, cluster) => podHelps(pod, old, now, demanded(pod, cluster, defaults)),
    },
    {
      on: ['NodeAdd', 'NodeDelete', 'NodeUpdateNodeLabel'],
      helps: (pod, old: Frozen<Node> | undefined, now: Frozen<Node> | undefined, cluster) => nodeHelps(old, now, demanded(pod, cluster, defaults)),
    },
    // A taint, or a toleration of it, may take a node out of the count, or into it.
    {on: ['NodeUpdateNodeTaint'], helps: (pod, _, now, cluster) => isPlace(now?.metadata?.labels ?? {}, demanded(pod, cluster, defaults))},
    {
      on: ['UnschedulablePodUpdatePodToleration'],
      helps: (pod, _, now, cluster) => now?.metadata?.uid === pod.uid && demanded(pod, cluster, defaults).some(({honoursTaints}) => honoursTaints),
    },
  ],
});

export const podTopologySpread = podTopologySpreadWith([]);
