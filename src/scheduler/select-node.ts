import type {Random} from '#src/base/random.js';
import {StepCount, stepsOf, type Steps} from '#src/base/steps.js';
import type {NodeInfo} from './cache/node-info.js';
import type {PodInfo} from './cache/pod-info.js';
import {scoresPerStep, type Cluster, type Score} from '#src/scheduler/framework/plugin.js';

/** Returns the weighted sum of all scores for each node, in the order of `nodes`. */
export const totalScores = function* (
  pod: PodInfo,
  nodes: readonly NodeInfo[],
  scores: readonly Score[],
  cluster: Cluster,
): Steps<number[]> {
  const totals = nodes.map(() => 0);
  const steps = new StepCount(scoresPerStep);
  for (const {plugin, weight, prepare} of scores) {
    const scorer = yield* stepsOf(prepare(pod, nodes, cluster));
    if (!scorer) continue;
    const known = scorer.signature === undefined ? undefined : cluster.memo.column(`score ${plugin} ${scorer.signature}`);
    const score = (node: NodeInfo) => scorer.score(node);
    const own = [...totals];
    for (let at = 0; at < nodes.length; at++) {
      own[at] = known ? known.of(nodes[at]!, score) : score(nodes[at]!);
      if (steps.add(1)) yield;
    }
    scorer.normalize?.(own, nodes);
    for (let at = 0; at < own.length; at++) totals[at]! += weight * own[at]!;
  }
  return totals;
};

/** Returns a node with the highest score, a random one of several. */
export const selectNode = (nodes: readonly NodeInfo[], totals: readonly number[], random: Random): NodeInfo => {
  let bestTotal = -Infinity;
  let best: number[] = [];
  for (let at = 0; at < nodes.length; at++) {
    const total = totals[at]!;
    if (total < bestTotal) continue;
    if (total > bestTotal) best = [];
    bestTotal = total;
    best.push(at);
  }
  return nodes[best.length === 1 ? best[0]! : best[Math.floor(random.float() * best.length)]!]!;
};
