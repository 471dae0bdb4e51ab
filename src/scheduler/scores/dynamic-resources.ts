import {signsClaims} from '#src/scheduler/signatures/plugin-signatures.js';
import type {Score} from '#src/scheduler/framework/plugin.js';
import {normalizeScores} from './normalize.js';

/** The most alternatives that a request may have. */
const maxAlternatives = 8;

/** Prefers nodes with devices for earlier alternatives of prioritized lists (KEP-4816). */
export const dynamicResourcesScore: Score = {
  plugin: 'DynamicResources',
  sign: signsClaims,
  weight: 1,
  prepare(pod, _, {devices}) {
    const found = devices.found.get(pod);
    if (!found) return undefined;
    return {
      score({name}) {
        const allocation = found.get(name);
        if (!allocation || typeof allocation === 'string') return 0;
        let score = 0;
        for (const {claim, allocation: granted} of allocation.granted) {
          const chosen = new Set((granted.devices?.results ?? []).map(({request}) => request));
          for (const {name: request, firstAvailable = []} of claim.spec.devices?.requests ?? [])
            for (const [index, alternative] of firstAvailable.entries())
              if (chosen.has(`${request}/${alternative.name}`)) score += maxAlternatives - index;
        }
        return score;
      },
      normalize: scores => normalizeScores(scores),
    };
  },
};
