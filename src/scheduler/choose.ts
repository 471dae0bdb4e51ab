import type {Random} from '#src/base/random.js';
import {stepping, type Steps} from '#src/base/steps.js';
import type {NodeInfo} from './cache/node-info.js';
import type {PodInfo} from './cache/pod-info.js';
import type {Cluster, Score} from './plugin.js';

/** The weighted sum of what every score gives to each of the nodes, in their order. */
export const totalScores = function* (pod: PodInfo, nodes: readonly NodeInfo[], scores: readonly Score[], cluster: Cluster): Steps<number[]> {
  const totals = nodes.map(() => 0);
  for (const {weight, prepare} of scores) {
    const gauge = yield* stepping(prepare(pod, nodes, cluster));
    if (!gauge) continue;
    const own: number[] = [];
    for (const node of nodes) {
      own.push(gauge.score(node));
      yield;
    }
    gauge.normalize?.(own, nodes);
    for (let at = 0; at < own.length; at++) totals[at]! += weight * own[at]!;
  }
  return totals;
};

/** One of the nodes with the highest score, by chance where there are several. */
export const choose = (nodes: readonly NodeInfo[], totals: readonly number[], random: Random): NodeInfo => {
  let best = nodes[0]!;
  let most = -Infinity;
  let equals = 0;
  for (let at = 0; at < nodes.length; at++) {
    const total = totals[at]!;
    if (total < most) continue;
    equals = total > most ? 1 : equals + 1;
    most = total;
    if (equals === 1 || random.float() * equals < 1) best = nodes[at]!;
  }
  return best;
};
