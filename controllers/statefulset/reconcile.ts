import {aggregate} from '#controllers/shared/aggregate.js';
import {indexingChildren, possibleChildren} from '#controllers/shared/children/children.js';
import {claimer} from '#controllers/shared/children/claiming.js';
import type {Selecting} from '#informers/selecting.js';
import {revisionsOf, surplusRevisions, type ControllerRevision} from '#controllers/shared/children/revisions.js';
import {sameJson} from '#src/api/equal.js';
import {keyOf, type Frozen} from '#src/api/key.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import type {LabelSelector} from '#src/api/selectors/label-selector.js';
import {isConflict} from '#src/api/status.js';
import {Yielder} from '#src/base/turn.js';
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
import {Storage} from './storage.js';

type Made = ObjectOf<typeof kinds.statefulSets>;
type Revision = Frozen<ControllerRevision>;

/** The attempts to write a status on conflicts. */
const maxAttempts = 4;

/** Returns the names of the revisions that a set or its pods still use. */
const usedRevisions = (
  set: StatefulSet,
  own: readonly Frozen<Pod>[],
  revisionPair: RevisionPair | undefined,
): ReadonlySet<string | undefined> => {
  const {currentRevision, updateRevision} = set.status ?? {};
  return new Set([
    revisionPair?.current.metadata?.name ?? currentRevision,
    revisionPair?.update.metadata?.name ?? updateRevision,
    ...own.map(revisionOfPod),
  ]);
};

/** Returns when to sync again, if pods of the set become available with time. */
const nextSync = (set: StatefulSet, own: readonly Frozen<Pod>[], {availableReplicas}: StatefulSetStatus, now: number): Result => {
  const {minReadySeconds = 0} = set.spec ?? {};
  if (minReadySeconds === 0 || availableReplicas === sizeOf(set)) return settled;
  return requeueAfter(nextAvailability(own, minReadySeconds, now) ?? minReadySeconds * 1000);
};

type Context = KeyedContext<WaitingPodsOptions>;

/** Syncs single stateful sets: their pods, their status and their history. */
class StatefulSetSyncer {
  readonly #context: Context;
  readonly #pods;
  readonly #revisions;
  readonly #claimPods;
  readonly #claimRevisions;
  readonly #claims;
  readonly #podWriter;
  readonly #pieces: Yielder;
  readonly #allowsMaxUnavailable: boolean;
  readonly #semanticComparison: boolean;

  constructor(context: Context) {
    const {lister, client, clock, gates} = context;
    this.#context = context;
    this.#pods = indexingChildren(lister(kinds.pods));
    this.#revisions = lister(kinds.controllerRevisions);
    this.#claimPods = claimer({client, parents: kinds.statefulSets, children: kinds.pods});
    this.#claimRevisions = claimer({client, parents: kinds.statefulSets, children: kinds.controllerRevisions});
    this.#claims = new Storage(context);
    this.#podWriter = podWrites(context, this.#claims);
    this.#pieces = new Yielder(clock);
    this.#allowsMaxUnavailable = gates.enabled('MaxUnavailableStatefulSet');
    this.#semanticComparison = gates.enabled('StatefulSetSemanticRevisionComparison');
  }

  async sync(set: StatefulSet, selector: LabelSelector): Promise<Result> {
    const {client, clock} = this.#context;
    const kept = revisionsOf(this.#revisions, set, selector);
    await this.#claimRevisions(
      set,
      kept.filter(revision => !controllerOf(revision)),
      {selector},
    );
    const own = await this.#claimPods(set, possibleChildren(this.#pods, set, selector), {
      selector,
      also: ({metadata}) => setNameOf(metadata?.name ?? '') === set.metadata?.name,
    });

    const errors: unknown[] = [];
    const collectError = <T>(work: Promise<T>): Promise<T | undefined> => work.catch((error: unknown) => void errors.push(error));
    const semanticComparison = this.#semanticComparison;
    const revisionPair = await collectError(revisionPairOf(set, {client, pieces: this.#pieces, revisions: kept, semanticComparison}));
    const status = revisionPair && (await collectError(this.#syncPods(set, own, revisionPair)));
    // Runs even after a failure: the history of a failing set must not grow without bound.
    await collectError(this.#truncateHistory(set, kept, usedRevisions(set, own, revisionPair)));
    const failure = aggregate(errors);
    if (failure) throw failure;
    return status ? nextSync(set, own, status, clock.now()) : settled;
  }

  /** Syncs a set whose pods and revisions are known. Returns the written status. */
  async #syncPods(set: StatefulSet, own: readonly Frozen<Pod>[], revisions: RevisionPair): Promise<StatefulSetStatus> {
    const {clock, naming} = this.#context;
    const now = clock.now();
    const slots = podSlotsOf(set, own, now);
    const isBeingDeleted = Boolean(set.metadata?.deletionTimestamp);
    const counted = isBeingDeleted ? own : [...slots.replicas, ...slots.condemned].flatMap(({pod}) => (pod ? [pod] : []));
    const status = statusOf(set, counted, revisions, now);
    const [pods, claims, allowsMaxUnavailable] = [this.#podWriter, this.#claims, this.#allowsMaxUnavailable];
    const sync: StatefulSetSync = {set, slots, revisions, status, pods, claims, naming, allowsMaxUnavailable, now};
    const outcomes = await Promise.allSettled([isBeingDeleted ? undefined : updateStatefulSet(sync)]);
    outcomes.push(...(await Promise.allSettled([this.#writeStatus(set, status)])));
    const failure = outcomes.find(({status: how}) => how === 'rejected');
    if (failure?.status === 'rejected') throw failure.reason;
    return status;
  }

  async #writeStatus(set: StatefulSet, next: StatefulSetStatus): Promise<void> {
    const {client, writer} = this.#context;
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
      latest = (await client.resource(kinds.statefulSets).get(name, {namespace})) as StatefulSet;
      if (latest.metadata?.uid !== set.metadata?.uid) return;
    }
  }

  async #truncateHistory(set: StatefulSet, kept: readonly Revision[], used: ReadonlySet<string | undefined>): Promise<void> {
    const limit = set.spec?.revisionHistoryLimit ?? 10;
    if (limit < 0) return;
    for (const revision of surplusRevisions(kept, limit, ({metadata}) => used.has(metadata?.name ?? '')))
      await this.#context.writer(kinds.controllerRevisions).delete(revision, {onlyIf: 'same'});
  }
}

/** Reconciles stateful sets. */
export const statefulSetReconciler = (context: Context, selecting: Selecting<Made>): Reconcile => {
  const sets = context.lister(kinds.statefulSets);
  const syncer = new StatefulSetSyncer(context);
  return async (key, {log}) => {
    const set = sets.get(key);
    if (!set) return settled;
    const selector = selecting.selectorOf(set);
    if (selector) return syncer.sync(set, selector);
    log.error({kind: kinds.statefulSets.kind}, 'the selector cannot be read');
    return settled;
  };
};
