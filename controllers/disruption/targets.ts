import {unlessMissing} from '#src/client/missing.js';
import type {Lister} from '#informers/lister.js';
import {copyOf, type Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {parseTime, wireTime} from '#src/api/time.js';
import {isActive} from '#src/model/pod/state.js';
import {requeueAfter, settled, type KeyedContext, type Reconcile} from '#src/runtime/controller.js';

/** How long a pod may have the DisruptionTarget condition before it is stale. */
const staleAfterMs = 120_000;

/** Conditions set by nodes are not stale: nodes terminate these pods. */
const isSetByNode = (reason: string | undefined): boolean => /^TerminationBy(Platlet|Kubelet)$/.test(reason ?? '');

/**
 * Returns when the DisruptionTarget condition of a pod becomes stale, in ms since the epoch; undefined if it has none
 * or is being deleted.
 */
export const expiryOf = (pod: Frozen<Pod>): number | undefined => {
  if (!isActive(pod)) return undefined;
  const mark = pod.status?.conditions?.find(({type}) => type === 'DisruptionTarget');
  if (mark?.status !== 'True' || isSetByNode(mark.reason)) return undefined;
  return (parseTime(mark.lastTransitionTime) ?? 0) + staleAfterMs;
};

/** Removes stale DisruptionTarget conditions of pods. */
export const staleTargetReconciler = ({writer, clock}: Pick<KeyedContext, 'writer' | 'clock'>, pods: Lister<Pod>): Reconcile => {
  const writes = writer(kinds.pods);
  return async key => {
    const pod = pods.get(key);
    const expiry = pod && expiryOf(pod);
    if (!pod || expiry === undefined) return settled;
    const now = clock.now();
    if (expiry > now) return requeueAfter(expiry - now);
    const copy = copyOf<Pod>(pod);
    const generation = pod.metadata?.generation;
    const cleared = {
      type: 'DisruptionTarget',
      status: 'False',
      lastTransitionTime: wireTime(now),
      ...(generation === undefined ? {} : {observedGeneration: generation}),
    };
    const conditions = (copy.status?.conditions ?? []).map(condition => (condition.type === 'DisruptionTarget' ? cleared : condition));
    await unlessMissing(writes.updateStatus({...copy, status: {...copy.status, conditions}}));
    return settled;
  };
};
