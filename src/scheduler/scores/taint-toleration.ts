import {isTolerated} from '#src/model/taints.js';
import type {Score} from '#src/scheduler/plugin.js';
import {toTop} from './normalize.js';

/** Prefers nodes with few taints that would rather not have the pod. */
export const taintTolerationScore: Score = {
  plugin: 'TaintToleration',
  weight: 3,
  prepare({pod}, nodes) {
    const tolerations = (pod.spec?.tolerations ?? []).filter(({effect}) => !effect || effect === 'PreferNoSchedule');
    const isMinded = nodes.some(({node}) => node?.spec?.taints?.some(({effect}) => effect === 'PreferNoSchedule'));
    if (!isMinded) return undefined;
    return {
      score: ({node}) => (node?.spec?.taints ?? []).filter(taint => taint.effect === 'PreferNoSchedule' && !isTolerated(taint, tolerations)).length,
      normalize: scores => toTop(scores, {reversed: true}),
    };
  },
};
