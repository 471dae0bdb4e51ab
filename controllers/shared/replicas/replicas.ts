import type {Selecting} from '#informers/selecting.js';
import {sameJson} from '#src/api/equal.js';
import {keyOf, keyText, type Frozen} from '#src/api/key.js';
import {kinds, type Kind} from '#src/api/kinds/index.js';
import type {LabelSelector} from '#src/api/selectors/label-selector.js';
import {isTerminating, nextAvailability} from '#src/model/pod/state.js';
import {requeueAfter, settled, type KeyedContext, type Reconcile, type Result} from '#src/runtime/controller.js';
import {indexingChildren} from '#controllers/shared/children/children.js';
import {claimer} from '#controllers/shared/children/claiming.js';
import {countsWriter} from '#controllers/shared/counts-writer.js';
import {trackingExpectations, type TrackingExpectations} from '#controllers/shared/children/expectations.js';
import {watchPods} from '#controllers/shared/pods/pod-events.js';
import {activePodsOf} from './active-pods.js';
import {groupPods, podGroupsOf, type PodGroup} from './pod-groups.js';
import {replicaManager} from './replica-manager.js';
import {countOfAll, nextReplicaStatus, type Replicated, type ReplicaStatus} from './replica-status.js';
import type {WaitingPodsOptions} from '#controllers/shared/pods/waiting-pods.js';

/** A kind whose objects have a number of pods. */
export interface ReplicatedKind<T extends Replicated> {
  readonly kind: Kind<T>;
  readonly selecting: Selecting<T>;
  /** Whether the status reports the number of terminating pods. */
  readonly reportsTerminating: boolean;
}

const isTerminatingOf =
  (selector: LabelSelector) =>
  ({representative}: PodGroup): boolean =>
    isTerminating(representative) && selector.matches(representative.metadata?.labels);

/** How long until another pod counts as available, if some are ready and do not yet. */
const availabilityWait = (
  {minReadySeconds = 0}: {readonly minReadySeconds?: number},
  status: Frozen<ReplicaStatus>,
  {active, now}: {readonly active: readonly PodGroup[]; readonly now: number},
): Result => {
  if (minReadySeconds <= 0 || (status.readyReplicas ?? 0) === (status.availableReplicas ?? 0)) return settled;
  const pods = active.flatMap(each => each.pods());
  return requeueAfter(nextAvailability(pods, minReadySeconds, now) ?? minReadySeconds * 1000);
};

/** Lowers what is expected by what the cache shows. */
const noteChildren = <T extends Replicated>(
  {kind, selecting}: ReplicatedKind<T>,
  context: KeyedContext<WaitingPodsOptions>,
  expected: TrackingExpectations,
): void => {
  context.listen(kind, ({type, object}) => {
    // A new object of the same name starts clean.
    if (type === 'deleted') expected.forget(keyText(keyOf(object)));
  });
  watchPods(context, {
    parents: kind,
    selecting,
    created: (key, pod) => expected.created(key, keyText(keyOf(pod))),
    deleted: (key, pod) => expected.deleted(key, keyText(keyOf(pod))),
    minReadySecondsOf: ({spec}) => spec?.minReadySeconds,
  });
};

/** Reconciles the number of active pods of each parent, and reports it in the parent's status. */
export const replicaReconciler = <T extends Replicated>(
  replicated: ReplicatedKind<T>,
  context: KeyedContext<WaitingPodsOptions>,
): Reconcile => {
  const {kind, selecting, reportsTerminating} = replicated;
  const {lister, client, clock} = context;
  const parents = lister(kind);
  const pods = indexingChildren(lister(kinds.pods));
  groupPods(pods);
  const activePods = activePodsOf<T>(pods, claimer({client, parents: kind, children: kinds.pods}));
  const expected = trackingExpectations(clock);
  const manage = replicaManager(kind, context, {parents, pods, expected});
  const writeStatus = countsWriter(context, kind);
  noteChildren(replicated, context, expected);

  return async (key, {log}) => {
    const parent = parents.get(key);
    if (!parent) {
      expected.forget(keyText(key));
      return settled;
    }
    const mayManage = expected.satisfied(keyText(key));
    const selector = selecting.selectorOf(parent);
    if (!selector) {
      log.error({kind: kind.kind}, 'the selector cannot be read');
      return settled;
    }
    const own = podGroupsOf(pods, parent);
    const terminating = reportsTerminating ? countOfAll(own.filter(isTerminatingOf(selector))) : undefined;
    const active = await activePods(parent, selector, own);

    const failure = mayManage && !parent.metadata?.deletionTimestamp ? await manage(parent, active) : undefined;
    const now = clock.now();
    const status = nextReplicaStatus(parent, {active, terminating, failure, now});
    const isUrgent = failure !== undefined;
    const waitMs = sameJson(parent.status, status) ? 0 : await writeStatus(parent, () => status, {isUrgent});
    if (isUrgent) throw failure;
    if (waitMs > 0) return requeueAfter(waitMs);
    return availabilityWait(parent.spec ?? {}, status, {active, now});
  };
};
