import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {parseTime} from '#src/api/time.js';
import type {Node} from '#src/api/types.js';
import {sortedByInSteps} from '#src/base/sort-steps.js';
import type {Steps} from '#src/base/steps.js';
import {isReadyNode} from '#src/model/node-readiness.js';

type CachedPod = Frozen<Pod>;

const isEvicted = ({status}: CachedPod): boolean => status?.phase === 'Failed' && status.reason === 'Evicted';

export const isTerminated = ({status}: CachedPod): boolean => !['Pending', 'Running', 'Unknown'].includes(status?.phase ?? '');

const createdAt = ({metadata}: CachedPod): number => parseTime(metadata?.creationTimestamp) ?? 0;

/** A terminated pod with its sort keys. */
interface TerminatedPod {
  readonly pod: CachedPod;
  readonly isEvicted: boolean;
  readonly createdAt: number;
}

const terminatedPodOf = (pod: CachedPod): TerminatedPod => ({pod, isEvicted: isEvicted(pod), createdAt: createdAt(pod)});

/** Evicted pods first, so that pods that controllers still read are kept longer; then the oldest. */
const byDeletionOrder = (a: TerminatedPod, b: TerminatedPod): number =>
  Number(b.isEvicted) - Number(a.isEvicted) ||
  a.createdAt - b.createdAt ||
  ((a.pod.metadata?.name ?? '') < (b.pod.metadata?.name ?? '') ? -1 : 1);

/** Returns the pods beyond the threshold, of those that are terminated. A threshold of zero or less disables it. */
export const terminatedBeyond = function* (terminated: readonly CachedPod[], threshold: number): Steps<readonly CachedPod[]> {
  if (threshold <= 0 || terminated.length <= threshold) return [];
  const keyed: TerminatedPod[] = [];
  for (const pod of terminated) {
    keyed.push(terminatedPodOf(pod));
    yield;
  }
  const sorted = yield* sortedByInSteps(keyed, byDeletionOrder);
  return sorted.slice(0, terminated.length - threshold).map(({pod}) => pod);
};

/** Whether a node has the out-of-service taint and is not ready. */
export const isOutOfService = (node: Frozen<Node>, taint: string): boolean =>
  !isReadyNode(node) && (node.spec?.taints?.some(({key}) => key === taint) ?? false);
