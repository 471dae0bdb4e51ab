import type * as upstream from '@kubernetes/client-node';
import {kind} from '#src/api/kind.js';
import type {KubeObject, Wire} from '#src/api/types.js';

/** A set of pods to be scheduled together (scheduling v1alpha1). */
export interface Workload extends KubeObject {
  spec: {
    controllerRef?: {apiGroup?: string; kind: string; name: string};
    podGroups: {name: string; policy: {basic?: Record<string, never>; gang?: {minCount: number}}}[];
  };
}

/** The kinds of the group; a version that is not the best one is named with its version. */
export const schedulingKinds = {
  priorityClasses: kind<Wire<upstream.V1PriorityClass>>('scheduling', 'v1', 'PriorityClass', 'priorityclasses', false),
  workloads: kind<Workload>('scheduling', 'v1alpha1', 'Workload', 'workloads', true),
} as const;
