import {podsToDelete} from '#controllers/shared/replicas/deletion-order.js';
import {isIndexed, validIndexOf, type CachedJob, type CachedPod, type JobNames} from './kinds.js';

/** Returns all but the most advanced pod of each index, and all pods without a valid index. */
const withoutValidIndex = (job: CachedJob, active: readonly CachedPod[], marks: JobNames): CachedPod[] => {
  const byIndex = new Map<number | undefined, CachedPod[]>();
  for (const pod of active) {
    const index = validIndexOf(pod, job, marks);
    const same = byIndex.get(index);
    if (same) same.push(pod);
    else byIndex.set(index, [pod]);
  }
  const ascending = [...byIndex].sort(([a = -1], [b = -1]) => a - b);
  return ascending.flatMap(([index, pods]) =>
    index === undefined ? pods : pods.length === 1 ? [] : podsToDelete(pods, pods.length - 1, {}),
  );
};

/**
 * Returns at least `least` active pods to delete: first those without a valid index, then by deletion cost; of equal
 * pods the youngest.
 */
export const surplusPods = (job: CachedJob, active: readonly CachedPod[], least: number, marks: JobNames): readonly CachedPod[] => {
  const first = isIndexed(job) ? withoutValidIndex(job, active, marks) : [];
  if (first.length >= least) return first;
  const selected = new Set(first);
  return [
    ...first,
    ...podsToDelete(
      active.filter(pod => !selected.has(pod)),
      least - first.length,
      {},
    ),
  ];
};
