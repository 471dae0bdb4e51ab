import {signsNodeAffinity} from '#src/scheduler/signatures/plugin-signatures.js';
import {matchesTerm} from '#src/model/node-affinity.js';
import type {Score} from '#src/scheduler/framework/plugin.js';
import {normalizeScores} from './normalize.js';

/** Prefers nodes that match the pod's preferred node affinity. */
export const nodeAffinityScore: Score = {
  plugin: 'NodeAffinity',
  sign: signsNodeAffinity,
  weight: 2,
  prepare({pod}) {
    const terms = pod.spec?.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
    if (terms.length === 0) return undefined;
    return {
      signature: JSON.stringify(terms),
      score: ({node}) => terms.reduce((sum, {weight, preference}) => sum + (matchesTerm(preference, node!) ? weight : 0), 0),
      normalize: scores => normalizeScores(scores),
    };
  },
};
