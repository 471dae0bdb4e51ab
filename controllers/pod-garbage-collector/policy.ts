import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {parseTime} from '#src/api/time.js';
import type {Node} from '#src/api/types.js';

type CachedPod = Frozen<Pod>;

const isEvicted = ({status}: CachedPod): boolean => status?.phase === 'Failed' && status.reason === 'Evicted';

const hasEnded = ({status}: CachedPod): boolean => !['Pending', 'Running', 'Unknown'].includes(status?.phase ?? '');

const createdAt = ({metadata}: CachedPod): number => parseTime(metadata?.creationTimestamp) ?? 0;

/** What a pod that has ended is compared by. */
interface Ended {
  readonly pod: CachedPod;
  readonly isEvicted: boolean;
  readonly createdAt: number;
}

const asEnded = (pod: CachedPod): Ended => ({pod, isEvicted: isEvicted(pod), createdAt: createdAt(pod)});

/** Evicted ones first: they make room for those that controllers still want to look at. Then the oldest. */
const byWorth = (a: Ended, b: Ended): number =>
  Number(b.isEvicted) - Number(a.isEvicted) || a.createdAt - b.createdAt || ((a.pod.metadata?.name ?? '') < (b.pod.metadata?.name ?? '') ? -1 : 1);

/** The pods beyond the threshold, of those that have ended. A threshold of zero or less is none. */
export const endedBeyond = (pods: readonly CachedPod[], threshold: number): readonly CachedPod[] => {
  if (threshold <= 0) return [];
  const ended = pods.filter(hasEnded);
  if (ended.length <= threshold) return [];
  return ended
    .map(asEnded)
    .sort(byWorth)
    .slice(0, ended.length - threshold)
    .map(({pod}) => pod);
};

/** Whether an administrator has said that the node will not come back, and it has not. */
export const isOutOfService = ({spec, status}: Frozen<Node>, taint: string): boolean =>
  !status?.conditions?.some(({type, status: said}) => type === 'Ready' && said === 'True') && (spec?.taints?.some(({key}) => key === taint) ?? false);
