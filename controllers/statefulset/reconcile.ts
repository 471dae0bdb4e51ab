import {aggregate} from '#controllers/shared/aggregate.js';
import {indexingChildren, possibleChildren} from '#controllers/shared/children/children.js';
import {claimer} from '#controllers/shared/children/claiming.js';
import type {Selecting} from '#informers/selecting.js';
import {revisionsOf, surplusRevisions, type ControllerRevision} from '#controllers/shared/children/revisions.js';
import {sameJson} from '#src/api/equal.js';
import {keyOf, type Frozen} from '#src/api/key.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {isConflict} from '#src/api/status.js';
import {controllerOf} from '#src/model/owners.js';
import {nextAvailability} from '#src/model/pod/state.js';
import type {WaitingPodsOptions} from '#controllers/shared/pods/waiting-pods.js';
import {requeueAfter, settled, type KeyedContext, type Reconcile, type Result} from '#src/runtime/controller.js';
import {revisionOfPod, type StatefulSet, type StatefulSetStatus} from './kinds.js';
import {podSlotsOf, setNameOf, sizeOf} from './ordinals.js';
import {podWrites} from './pod-writes.js';
import {revisionPairOf, type RevisionPair} from './revisions.js';
import {updateStatefulSet, type StatefulSetSync} from './sync.js';
import {completed, statusOf, written} from './status.js';
import {storage} from './storage.js';

type Made = ObjectOf<typeof kinds.statefulSets>;
type Revision = Frozen<ControllerRevision>;

/** The attempts to write a status on conflicts. */
const maxAttempts = 4;

/** Reconciles stateful sets. */
export const statefulSetReconciler = (context: KeyedContext<WaitingPodsOptions>, selecting: Selecting<Made>): Reconcile => {
  const {lister, writer, client, clock, naming, gates} = context;
  const sets = lister(kinds.statefulSets);
  const pods = indexingChildren(lister(kinds.pods));
  const revisions = lister(kinds.controllerRevisions);
  const resource = client.resource(kinds.statefulSets);
  const claimPods = claimer({client, parents: kinds.statefulSets, children: kinds.pods});
  const claimRevisions = claimer({client, parents: kinds.statefulSets, children: kinds.controllerRevisions});
  const claims = storage(context);
  const podWriter = podWrites(context, claims);
  const allowsMaxUnavailable = gates.enabled('MaxUnavailableStatefulSet');
  const semanticComparison = gates.enabled('StatefulSetSemanticRevisionComparison');

  const writeStatus = async (set: StatefulSet, next: StatefulSetStatus): Promise<void> => {
    const counts = written(completed(set, next));
    let latest = set;
    for (let attempt = 1; ; attempt++) {
      // Conditions of other clients are kept.
      const {conditions} = latest.status ?? {};
      const status = {...counts, ...(conditions ? {conditions} : {})};
      if (sameJson(latest.status, status)) return;
      try {
        await writer(kinds.statefulSets).updateStatus({...latest, status} as Made);
        return;
      } catch (error) {
        if (!isConflict(error) || attempt >= maxAttempts) throw error;
      }
      const {namespace, name} = keyOf(set);
      latest = (await resource.get(name, {namespace})) as StatefulSet;
      if (latest.metadata?.uid !== set.metadata?.uid) return;
    }
  };

  const truncateHistory = async (
    set: StatefulSet,
    kept: readonly Revision[],
    own: readonly Frozen<Pod>[],
    revisionPair: RevisionPair | undefined,
  ): Promise<void> => {
    const limit = set.spec?.revisionHistoryLimit ?? 10;
    if (limit < 0) return;
    const {currentRevision, updateRevision} = set.status ?? {};
    const live = new Set([
      revisionPair?.current.metadata?.name ?? currentRevision,
      revisionPair?.update.metadata?.name ?? updateRevision,
      ...own.map(revisionOfPod),
    ]);
    for (const revision of surplusRevisions(kept, limit, ({metadata}) => live.has(metadata?.name ?? '')))
      await writer(kinds.controllerRevisions).delete(revision, {onlyIf: 'same'});
  };

  /** Syncs a set whose pods and revisions are known. Returns the written status. */
  const syncPods = async (set: StatefulSet, own: readonly Frozen<Pod>[], revisionPair: RevisionPair): Promise<StatefulSetStatus> => {
    const now = clock.now();
    const slots = podSlotsOf(set, own, now);
    const isBeingDeleted = Boolean(set.metadata?.deletionTimestamp);
    const counted = isBeingDeleted ? own : [...slots.replicas, ...slots.condemned].flatMap(({pod}) => (pod ? [pod] : []));
    const status = statusOf(set, counted, revisionPair, now);
    const sync: StatefulSetSync = {set, slots, revisions: revisionPair, status, pods: podWriter, claims, naming, allowsMaxUnavailable, now};
    const outcomes = await Promise.allSettled([isBeingDeleted ? undefined : updateStatefulSet(sync)]);
    outcomes.push(...(await Promise.allSettled([writeStatus(set, status)])));
    const failure = outcomes.find(({status: how}) => how === 'rejected');
    if (failure?.status === 'rejected') throw failure.reason;
    return status;
  };

  const nextSync = (set: StatefulSet, own: readonly Frozen<Pod>[], {availableReplicas}: StatefulSetStatus): Result => {
    const {minReadySeconds = 0} = set.spec ?? {};
    if (minReadySeconds === 0 || availableReplicas === sizeOf(set)) return settled;
    return requeueAfter(nextAvailability(own, minReadySeconds, clock.now()) ?? minReadySeconds * 1000);
  };

  return async (key, {log}) => {
    const set = sets.get(key);
    if (!set) return settled;
    const selector = selecting.selectorOf(set);
    if (!selector) {
      log.error({kind: kinds.statefulSets.kind}, 'the selector cannot be read');
      return settled;
    }
    const kept = revisionsOf(revisions, set, selector);
    await claimRevisions(
      set,
      kept.filter(revision => !controllerOf(revision)),
      {selector},
    );
    const own = await claimPods(set, possibleChildren(pods, set, selector), {
      selector,
      also: ({metadata}) => setNameOf(metadata?.name ?? '') === set.metadata?.name,
    });

    const errors: unknown[] = [];
    const collectError = <T>(work: Promise<T>): Promise<T | undefined> => work.catch((error: unknown) => void errors.push(error));
    const revisionPair = await collectError(revisionPairOf(set, {client, revisions: kept, semanticComparison}));
    const status = revisionPair && (await collectError(syncPods(set, own, revisionPair)));
    // Runs even after a failure: the history of a failing set must not grow without bound.
    await collectError(truncateHistory(set, kept, own, revisionPair));
    const failure = aggregate(errors);
    if (failure) throw failure;
    return status ? nextSync(set, own, status) : settled;
  };
};
