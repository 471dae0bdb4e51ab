import {podsByNode} from '#controllers/shared/pods/pods-by-node.js';
import {withPodCondition} from '#controllers/shared/pods/pod-condition.js';
import {aggregate} from '#controllers/shared/aggregate.js';
import {unlessMissing} from '#src/client/missing.js';
import type {Lister} from '#informers/lister.js';
import {copyOf, type Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod, PodCondition} from '#src/api/pod.js';
import {withClockHeld, type Clock} from '#src/base/clock.js';
import type {ControllerContext} from '#src/runtime/controller.js';

/** The pods of a node, and the way to mark them as not ready. */
export interface NodePods {
  /** Rejects when one of them could not be updated, after all have been tried. */
  markNotReady(pods: readonly Frozen<Pod>[]): Promise<void>;
  of(node: string): readonly Frozen<Pod>[];
}

const notReady = (pod: Frozen<Pod>, now: number): PodCondition[] | undefined => {
  const ready = pod.status?.conditions?.find(({type}) => type === 'Ready');
  if (!ready || ready.status === 'False') return undefined;
  const observed = pod.metadata?.generation;
  return withPodCondition(pod, {...ready, status: 'False', ...(observed === undefined ? {} : {observedGeneration: observed})}, now) as
    | PodCondition[]
    | undefined;
};

export const nodePods = (
  lister: Lister<Pod>,
  {writer, events, clock}: Pick<ControllerContext, 'writer' | 'events'> & {readonly clock: Clock},
): NodePods => {
  const pods = writer(kinds.pods);
  const mark = async (pod: Frozen<Pod>): Promise<void> => {
    const conditions = notReady(pod, clock.now());
    if (!conditions) return;
    const next = copyOf<Pod>(pod);
    if (!(await unlessMissing(withClockHeld(clock, () => pods.updateStatus({...next, status: {...next.status, conditions}}))))) return;
    events.warning(pod, 'NodeNotReady', 'Node is not ready');
  };
  return {
    of: node => lister.by(podsByNode, node),
    async markNotReady(all) {
      const failures: unknown[] = [];
      for (const pod of all) await mark(pod).catch((error: unknown) => failures.push(error));
      const error = aggregate(failures);
      if (error) throw error;
    },
  };
};
