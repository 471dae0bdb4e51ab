import type * as upstream from '@kubernetes/client-node';
import {kind} from '#src/api/kind.js';
import type * as types from '#src/api/types.js';
import type {Wire} from '#src/api/types.js';

/** The kinds of the group; a version that is not the best one is named with its version. */
export const schedulingKinds = {
  priorityClasses: kind<Wire<upstream.V1PriorityClass>>('scheduling', 'v1', 'PriorityClass', 'priorityclasses', false),
  workloads: kind<types.Workload>('scheduling', 'v1alpha1', 'Workload', 'workloads', true),
} as const;
