import {slowStart} from '#controllers/shared/slow-start.js';
import type {Frozen} from '#src/api/key.js';
import type {kinds, ObjectOf} from '#src/api/kinds.js';
import {hasCause, isNotFound} from '#src/api/status.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import {isTerminal} from '#src/model/pod/state.js';
import {withRevision, type ControllerRevision} from '#controllers/shared/revisions.js';
import {podAt} from './identity.js';
import {isLeaving, isParallel, isUnavailable, type StatefulSet, type StatefulSetStatus} from './kinds.js';
import {firstOrdinal, type Row, type Slot, type Taken} from './ordinals.js';
import type {PodWrites} from './pod-writes.js';
import type {Between} from './revisions.js';
import {nextToReplace, partitionOf, podsToReplace} from './rollout.js';
import type {Storage} from './storage.js';

/** So many pods are worked on at once where their order does not matter. */
const mostAtOnce = 500;

/** One look at a set: what is there, and by what means it is changed. */
export interface Round {
  readonly set: StatefulSet;
  readonly row: Row;
  readonly between: Between;
  /** What will be told; deletions for a rollout lower it. */
  readonly status: StatefulSetStatus;
  readonly pods: PodWrites;
  readonly claims: Storage;
  readonly naming: Naming;
  /** Whether more than one pod may be replaced at once. */
  readonly replacesSeveral: boolean;
  readonly now: number;
}

/** Whether the row may be followed further after a place. */
type Verdict = 'go on' | 'stop';

/** Place after place until one says stop; all of them, whatever they say, where their order does not matter. */
const forEach = async <S extends Slot>({set}: Round, places: readonly S[], visit: (place: S) => Promise<Verdict>): Promise<Verdict> => {
  if (isParallel(set)) {
    const {successes, error} = await slowStart(places.length, index => visit(places[index]!), {mostAtOnce});
    if (successes < places.length) throw error;
    return 'go on';
  }
  for (const place of places) if ((await visit(place)) === 'stop') return 'stop';
  return 'go on';
};

const newPod = ({set, between, naming}: Round, ordinal: number): Pod => {
  const {type, rollingUpdate} = set.spec?.updateStrategy ?? {};
  const kept = rollingUpdate ? partitionOf(set) : type === 'RollingUpdate' ? (set.status?.currentReplicas ?? 0) : 0;
  const revision: Frozen<ControllerRevision> = ordinal < firstOrdinal(set) + kept ? between.current : between.update;
  return podAt(withRevision<ObjectOf<typeof kinds.statefulSets>>(set, revision), ordinal, revision.metadata?.name ?? '', naming);
};

const createAt = async (round: Round, ordinal: number): Promise<Verdict> => {
  const {set, pods, claims} = round;
  const pod = newPod(round, ordinal);
  if (claims.isStale(set, pod)) return 'stop';
  try {
    await pods.create(set, pod);
  } catch (error) {
    // Nothing can be made there any more, and nothing has to be.
    if (!hasCause(error, 'NamespaceTerminating')) throw error;
  }
  return isParallel(set) ? 'go on' : 'stop';
};

/** Brings one place nearer to a pod that works and is as it should be. */
const tend = async (round: Round, {ordinal, pod}: Slot): Promise<Verdict> => {
  const {set, pods, claims, now} = round;
  if (!pod) return createAt(round, ordinal);
  if (isTerminal(pod)) {
    // A new one of its name is made once it is gone.
    if (!isLeaving(pod)) await pods.delete(set, pod);
    return 'stop';
  }
  if (pod.status?.phase === 'Pending') {
    await claims.create(set, pod);
    await claims.hold(set, pod);
  }
  if (!isParallel(set) && isUnavailable(pod, set, now)) return 'stop';
  if (!pods.isRight(set, pod)) await pods.repair(set, pod);
  return 'go on';
};

/** Takes away one place beyond the row. In order, only a pod that works may go before the one that does not. */
const dismiss = async ({set, row, pods, now}: Round, {pod}: Taken): Promise<Verdict> => {
  const inOrder = !isParallel(set);
  if (isLeaving(pod)) return inOrder ? 'stop' : 'go on';
  if (inOrder && pod !== row.firstUnavailable && isUnavailable(pod, set, now)) return 'stop';
  await pods.delete(set, pod);
  return 'stop';
};

const replaceOld = async (round: Round): Promise<void> => {
  const {set, row, between, pods, status, replacesSeveral, now} = round;
  const rollout = {set, replicas: row.replicas, revision: between.update.metadata?.name ?? '', now};
  for (const pod of replacesSeveral ? podsToReplace(rollout) : nextToReplace(rollout)) {
    try {
      await pods.delete(set, pod);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    status.currentReplicas = (status.currentReplicas ?? 0) - 1;
  }
};

/** Does what can be done now: fills the row, shortens it, and replaces pods of an older template, in that order. */
export const step = async (round: Round): Promise<void> => {
  const {set, row, claims} = round;
  if ((await forEach(round, row.replicas, slot => tend(round, slot))) === 'stop') return;
  await forEach(round, row.condemned, async ({pod}) => {
    if (!claims.isHeldRightly(set, pod)) await claims.hold(set, pod);
    return 'go on';
  });
  if ((await forEach(round, row.condemned, taken => dismiss(round, taken))) === 'stop') return;
  if (set.spec?.updateStrategy?.type !== 'OnDelete') await replaceOld(round);
};
