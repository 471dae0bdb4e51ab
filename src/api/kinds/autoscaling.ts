import type * as upstream from '@kubernetes/client-node';
import {kind} from '#src/api/kind.js';
import type {Wire} from '#src/api/types.js';

/** The kinds of the group; a version that is not the best one is named with its version. */
export const autoscalingKinds = {
  horizontalPodAutoscalers: kind<Wire<upstream.V2HorizontalPodAutoscaler>>(
    'autoscaling',
    'v2',
    'HorizontalPodAutoscaler',
    'horizontalpodautoscalers',
    true,
  ),
  horizontalPodAutoscalersV1: kind<Wire<upstream.V1HorizontalPodAutoscaler>>(
    'autoscaling',
    'v1',
    'HorizontalPodAutoscaler',
    'horizontalpodautoscalers',
    true,
  ),
  /** Not a resource of its own: how workloads show their size at their `scale`. */
  scales: kind<Wire<upstream.V1Scale>>('autoscaling', 'v1', 'Scale', 'scales', true),
} as const;
