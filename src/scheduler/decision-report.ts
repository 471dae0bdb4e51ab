import type {SchedulingReport} from '#src/observe/flight-recorder.js';
import type {PodInfo} from './cache/pod-info.js';
import type {Decision} from './decider.js';
import type {Rejection} from '#src/scheduler/framework/plugin.js';

/** The most nodes that are listed with their scores, reasons of rejections, and examples of nodes with one. */
const [maxScores, maxReasons, maxExamples] = [10, 20, 3];

/** Returns a decision on a pod as the flight recorder gets it. `failure` is the reason where there is no decision. */
export const schedulingReport = (
  {pod}: PodInfo,
  decided: {readonly decision: Decision} | {readonly failure: string},
  durationMs: number,
): SchedulingReport => {
  const {namespace, name, uid} = pod.metadata ?? {};
  const common = {
    object: {group: '', resource: 'pods', ...(namespace ? {namespace} : {}), ...(name ? {name} : {}), ...(uid ? {uid} : {})},
    scheduler: pod.spec?.schedulerName ?? '',
    durationMs: Math.round(durationMs * 1000) / 1000,
  };
  if ('failure' in decided) return {...common, decision: 'none', reason: decided.failure};
  const {decision} = decided;
  const rejected = rejectionsOf(decision.filterResult.diagnosis.byNode);
  const rejections = rejected.length > 0 ? {rejected} : {};
  switch (decision.type) {
    case 'node':
      return {...common, ...rejections, decision: 'node', node: decision.node.name, scores: scoresOf(decision)};
    case 'preempt':
      return {...common, ...rejections, decision: 'preempt', node: decision.candidate.node, reason: decision.text};
    case 'none':
      return {...common, ...rejections, decision: 'none', reason: decision.text};
  }
};

/** Returns the nodes with the highest scores, the highest first, and of equal ones those that come first. */
const scoresOf = ({
  filterResult: {feasible},
  totals,
}: Extract<Decision, {readonly type: 'node'}>): NonNullable<SchedulingReport['scores']> => {
  if (!totals) return feasible.slice(0, maxScores).map(({name}) => ({node: name}));
  const best: {readonly at: number; readonly score: number}[] = [];
  for (let at = 0; at < feasible.length; at++) {
    const score = totals[at]!;
    if (best.length === maxScores && best.at(-1)!.score >= score) continue;
    if (best.length === maxScores) best.pop();
    let place = best.length;
    while (place > 0 && best[place - 1]!.score < score) place--;
    best.splice(place, 0, {at, score});
  }
  return best.map(({at, score}) => ({node: feasible[at]!.name, score}));
};

const rejectionsOf = (byNode: ReadonlyMap<string, Rejection>): NonNullable<SchedulingReport['rejected']> => {
  const counts = new Map<string, {nodes: number; readonly examples: string[]}>();
  for (const [node, {reasons}] of byNode) {
    const reason = reasons.join(', ');
    const known = counts.get(reason);
    if (!known && counts.size >= maxReasons) continue;
    const count = known ?? {nodes: 0, examples: []};
    counts.set(reason, count);
    count.nodes++;
    if (count.examples.length < maxExamples) count.examples.push(node);
  }
  return [...counts].map(([reason, count]) => ({reason, ...count}));
};
