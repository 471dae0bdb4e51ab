import {kinds} from '#src/api/kinds/index.js';
import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import type {KubeObject} from '#src/api/types.js';
import {isReady} from '#src/model/pod/state.js';
import type {KeyedContext} from '#src/runtime/controller.js';
import {watchChildren, type ChildEventsOptions} from '#controllers/shared/children/child-events.js';

export interface PodEventsOptions<P extends KubeObject> extends Omit<ChildEventsOptions<P, Pod>, 'children' | 'requeueAfterMs'> {
  /** How long a pod must be ready to be available; the parent is queued again a second later. */
  minReadySecondsOf?(parent: Frozen<P>): number | undefined;
}

/** As `watchChildren`, for pods; queues the parent once more when a ready pod becomes available. */
export const watchPods = <P extends KubeObject>(
  context: Pick<KeyedContext, 'listen' | 'lister' | 'enqueue' | 'naming'>,
  {minReadySecondsOf, ...options}: PodEventsOptions<P>,
): void =>
  watchChildren(context, {
    ...options,
    children: kinds.pods,
    requeueAfterMs(parent, pod, old) {
      const seconds = minReadySecondsOf?.(parent) ?? 0;
      // A second more, to tolerate clock skew.
      return seconds > 0 && isReady(pod) && !isReady(old) ? (seconds + 1) * 1000 : undefined;
    },
  });
