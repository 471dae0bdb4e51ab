import {signsTolerations} from '#src/scheduler/signatures/plugin-signatures.js';
import {isTolerated} from '#src/model/taints.js';
import type {NodeInfo} from '#src/scheduler/cache/node-info.js';
import type {Score} from '#src/scheduler/framework/plugin.js';
import {normalizeScores} from './normalize.js';

const isAvoided = ({taints}: NodeInfo): boolean => {
  // Most nodes have no taints: no function is made for each.
  for (const {effect} of taints) if (effect === 'PreferNoSchedule') return true;
  return false;
};

/** Prefers nodes with few untolerated `PreferNoSchedule` taints. */
export const taintTolerationScore: Score = {
  plugin: 'TaintToleration',
  sign: signsTolerations,
  weight: 3,
  prepare({pod}, nodes) {
    const tolerations = (pod.spec?.tolerations ?? []).filter(({effect}) => !effect || effect === 'PreferNoSchedule');
    if (!nodes.some(isAvoided)) return undefined;
    return {
      score: ({taints}) => taints.filter(taint => taint.effect === 'PreferNoSchedule' && !isTolerated(taint, tolerations)).length,
      normalize: scores => normalizeScores(scores, {reversed: true}),
    };
  },
};
