import type * as upstream from '@kubernetes/client-node';
import {kind} from '#src/api/kind.js';
import type {Wire} from '#src/api/types.js';

/** The kinds of the group; a version that is not the best one is named with its version. */
export const policyKinds = {
  podDisruptionBudgets: kind<Wire<upstream.V1PodDisruptionBudget>>('policy', 'v1', 'PodDisruptionBudget', 'poddisruptionbudgets', true),
  evictions: kind<Wire<upstream.V1Eviction>>('policy', 'v1', 'Eviction', 'evictions', true),
} as const;
