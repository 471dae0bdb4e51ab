import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {parseTime} from '#src/api/time.js';
import {isActive, isReady, readySince} from '#src/model/pod/state.js';

export interface DeletionOrder {
  /**
   * Ages up to this moment are compared by order of magnitude, so that not always the youngest pod is deleted. If not
   * set they are compared exactly.
   */
  readonly now?: number;
  /** The annotation with a pod's deletion cost; if not set all have the same cost. */
  readonly costAnnotation?: string | undefined;
  /** Returns the number of related pods on the same node; the higher, the sooner the pod is deleted. */
  rankOf?(pod: Frozen<Pod>): number;
}

const phases: Readonly<Record<string, number>> = {Pending: 0, Unknown: 1, Running: 2};

/** The sort keys of a pod, computed once. */
interface RankedPod {
  readonly pod: Frozen<Pod>;
  readonly assigned: number;
  readonly phase: number;
  readonly ready: number;
  readonly cost: number;
  readonly rank: number;
  readonly readyAt: number | undefined;
  readonly restarts: number;
  readonly sidecarRestarts: number;
  readonly createdAt: number | undefined;
}

const maxRestarts = (
  statuses: readonly {readonly name: string; readonly restartCount: number}[],
  counted: (name: string) => boolean,
): number => statuses.reduce((most, {name, restartCount}) => (counted(name) ? Math.max(most, restartCount) : most), 0);

/** Parses a 32-bit integer; an invalid annotation costs 0. */
const costOf = (pod: Frozen<Pod>, annotation: string | undefined): number => {
  const text = annotation === undefined ? undefined : pod.metadata?.annotations?.[annotation];
  if (text === undefined || !/^(0|-\d+|[1-9]\d*)$/.test(text)) return 0;
  const cost = Number(text);
  return cost >= -(2 ** 31) && cost < 2 ** 31 ? cost : 0;
};

const rankPod = (pod: Frozen<Pod>, {costAnnotation, rankOf}: DeletionOrder): RankedPod => {
  const {containerStatuses = [], initContainerStatuses = [], phase = ''} = pod.status ?? {};
  const sidecars = new Set(pod.spec?.initContainers?.filter(({restartPolicy}) => restartPolicy === 'Always').map(({name}) => name));
  return {
    pod,
    assigned: pod.spec?.nodeName ? 1 : 0,
    phase: phases[phase] ?? 0,
    ready: isReady(pod) ? 1 : 0,
    cost: costOf(pod, costAnnotation),
    rank: rankOf?.(pod) ?? 0,
    readyAt: readySince(pod),
    restarts: maxRestarts(containerStatuses, () => true),
    sidecarRestarts: maxRestarts(initContainerStatuses, name => sidecars.has(name)),
    createdAt: parseTime(pod.metadata?.creationTimestamp),
  };
};

/** Returns the order of magnitude of an age. */
const magnitude = (at: number, now: number): number => (now > at ? Math.floor(Math.log2((now - at) * 1e6)) : -1);

/** The younger first, pods without a time before all; of the same magnitude, the lower UID. */
const byAge = (a: RankedPod, b: RankedPod, at: number | undefined, other: number | undefined, now: number | undefined): number => {
  if (at === other) return 0;
  if (at === undefined) return -1;
  if (other === undefined) return 1;
  if (now === undefined) return other - at;
  return magnitude(at, now) - magnitude(other, now) || ((a.pod.metadata?.uid ?? '') < (b.pod.metadata?.uid ?? '') ? -1 : 1);
};

const comparePods = (a: RankedPod, b: RankedPod, now: number | undefined): number =>
  a.assigned - b.assigned ||
  a.phase - b.phase ||
  a.ready - b.ready ||
  a.cost - b.cost ||
  b.rank - a.rank ||
  (a.ready && b.ready ? byAge(a, b, a.readyAt, b.readyAt, now) : 0) ||
  b.restarts - a.restarts ||
  b.sidecarRestarts - a.sidecarRestarts ||
  byAge(a, b, a.createdAt, b.createdAt, now);

/** Returns the `count` pods that are to be deleted first; all of them in the given order if there are no more. */
export const podsToDelete = (pods: readonly Frozen<Pod>[], count: number, order: DeletionOrder): readonly Frozen<Pod>[] => {
  if (count >= pods.length) return pods;
  return pods
    .map(pod => rankPod(pod, order))
    .sort((a, b) => comparePods(a, b, order.now))
    .slice(0, count)
    .map(({pod}) => pod);
};

/** Returns a function that counts the active pods of `related` on a pod's node. */
export const ranksByNode = (related: readonly Frozen<Pod>[]): ((pod: Frozen<Pod>) => number) => {
  const onNode = new Map<string, number>();
  for (const pod of related) {
    const node = pod.spec?.nodeName ?? '';
    if (isActive(pod)) onNode.set(node, (onNode.get(node) ?? 0) + 1);
  }
  return pod => onNode.get(pod.spec?.nodeName ?? '') ?? 0;
};
