import {isTolerated} from '#src/model/taints.js';
import type {Score} from '#src/scheduler/framework/plugin.js';
import {normalizeScores} from './normalize.js';

/** Prefers nodes with few untolerated `PreferNoSchedule` taints. */
export const taintTolerationScore: Score = {
  plugin: 'TaintToleration',
  weight: 3,
  prepare({pod}, nodes) {
    const tolerations = (pod.spec?.tolerations ?? []).filter(({effect}) => !effect || effect === 'PreferNoSchedule');
    const hasPreferNoSchedule = nodes.some(({taints}) => taints.some(({effect}) => effect === 'PreferNoSchedule'));
    if (!hasPreferNoSchedule) return undefined;
    return {
      score: ({taints}) => taints.filter(taint => taint.effect === 'PreferNoSchedule' && !isTolerated(taint, tolerations)).length,
      normalize: scores => normalizeScores(scores, {reversed: true}),
    };
  },
};
