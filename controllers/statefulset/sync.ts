import {slowStart} from '#controllers/shared/pods/slow-start.js';
import type {Frozen} from '#src/api/key.js';
import type {kinds, ObjectOf} from '#src/api/kinds/index.js';
import {hasCause, isNotFound} from '#src/api/status.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import {isTerminal} from '#src/model/pod/state.js';
import {withRevision, type ControllerRevision} from '#controllers/shared/children/revisions.js';
import {podAt} from './identity.js';
import {isTerminating, isParallel, isUnavailable, type StatefulSet, type StatefulSetStatus} from './kinds.js';
import {firstOrdinal, type PodSlots, type Slot, type OccupiedSlot} from './ordinals.js';
import type {PodWrites} from './pod-writes.js';
import type {RevisionPair} from './revisions.js';
import {nextToReplace, partitionOf, podsToReplace} from './rollout.js';
import type {Storage} from './storage.js';

/** The most concurrent operations with parallel pod management. */
const maxBatch = 500;

/** The state of one sync: the set's slots and revisions, and the means to change them. */
export interface StatefulSetSync {
  readonly set: StatefulSet;
  readonly slots: PodSlots;
  readonly revisions: RevisionPair;
  /** The status to write; deletions of the rollout decrement it. */
  readonly status: StatefulSetStatus;
  readonly pods: PodWrites;
  readonly claims: Storage;
  readonly naming: Naming;
  /** Whether maxUnavailable may exceed 1. */
  readonly allowsMaxUnavailable: boolean;
  readonly now: number;
}

/** Whether to continue with the next slot. */
type Continuation = 'go on' | 'stop';

/** Visits slots in order until one stops; all of them concurrently with parallel pod management. */
const forEach = async <S extends Slot>(
  {set}: StatefulSetSync,
  slots: readonly S[],
  visit: (slot: S) => Promise<Continuation>,
): Promise<Continuation> => {
  if (isParallel(set)) {
    const {successes, error} = await slowStart(slots.length, index => visit(slots[index]!), {mostAtOnce: maxBatch});
    if (successes < slots.length) throw error;
    return 'go on';
  }
  for (const slot of slots) if ((await visit(slot)) === 'stop') return 'stop';
  return 'go on';
};

const newPod = ({set, revisions, naming}: StatefulSetSync, ordinal: number): Pod => {
  const {type, rollingUpdate} = set.spec?.updateStrategy ?? {};
  const kept = rollingUpdate ? partitionOf(set) : type === 'RollingUpdate' ? (set.status?.currentReplicas ?? 0) : 0;
  const revision: Frozen<ControllerRevision> = ordinal < firstOrdinal(set) + kept ? revisions.current : revisions.update;
  return podAt(withRevision<ObjectOf<typeof kinds.statefulSets>>(set, revision), ordinal, revision.metadata?.name ?? '', naming);
};

const createAt = async (sync: StatefulSetSync, ordinal: number): Promise<Continuation> => {
  const {set, pods, claims} = sync;
  const pod = newPod(sync, ordinal);
  if (claims.isStale(set, pod)) return 'stop';
  try {
    await pods.create(set, pod);
  } catch (error) {
    // Nothing can be created in a terminating namespace.
    if (!hasCause(error, 'NamespaceTerminating')) throw error;
  }
  return isParallel(set) ? 'go on' : 'stop';
};

/** Syncs one slot: creates, replaces or repairs its pod. */
const syncSlot = async (sync: StatefulSetSync, {ordinal, pod}: Slot): Promise<Continuation> => {
  const {set, pods, claims, now} = sync;
  if (!pod) return createAt(sync, ordinal);
  if (isTerminal(pod)) {
    // A new pod of the name is created once it is gone.
    if (!isTerminating(pod)) await pods.delete(set, pod);
    return 'stop';
  }
  if (pod.status?.phase === 'Pending') {
    await claims.create(set, pod);
    await claims.setOwners(set, pod);
  }
  if (!isParallel(set) && isUnavailable(pod, set, now)) return 'stop';
  if (!pods.isUpToDate(set, pod)) await pods.repair(set, pod);
  return 'go on';
};

/** Deletes one condemned pod. In order, an available pod may be deleted only after the unavailable ones. */
const condemnSlot = async ({set, slots, pods, now}: StatefulSetSync, {pod}: OccupiedSlot): Promise<Continuation> => {
  const inOrder = !isParallel(set);
  if (isTerminating(pod)) return inOrder ? 'stop' : 'go on';
  if (inOrder && pod !== slots.firstUnavailable && isUnavailable(pod, set, now)) return 'stop';
  await pods.delete(set, pod);
  return 'stop';
};

const replaceOld = async (sync: StatefulSetSync): Promise<void> => {
  const {set, slots, revisions, pods, status, allowsMaxUnavailable, now} = sync;
  const rollout = {set, replicas: slots.replicas, revision: revisions.update.metadata?.name ?? '', now};
  for (const pod of allowsMaxUnavailable ? podsToReplace(rollout) : nextToReplace(rollout)) {
    try {
      await pods.delete(set, pod);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    status.currentReplicas = (status.currentReplicas ?? 0) - 1;
  }
};

/** Syncs the replicas, deletes condemned pods, and replaces pods of older revisions, in that order. */
export const updateStatefulSet = async (sync: StatefulSetSync): Promise<void> => {
  const {set, slots, claims} = sync;
  if ((await forEach(sync, slots.replicas, slot => syncSlot(sync, slot))) === 'stop') return;
  await forEach(sync, slots.condemned, async ({pod}) => {
    if (!claims.hasRightOwners(set, pod)) await claims.setOwners(set, pod);
    return 'go on';
  });
  if ((await forEach(sync, slots.condemned, taken => condemnSlot(sync, taken))) === 'stop') return;
  if (set.spec?.updateStrategy?.type !== 'OnDelete') await replaceOld(sync);
};
