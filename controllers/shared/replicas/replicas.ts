import type {Selecting} from '#informers/selecting.js';
import {sameJson} from '#src/api/equal.js';
import {keyOf, keyText, type Frozen} from '#src/api/key.js';
import {kinds, type Kind} from '#src/api/kinds/index.js';
import type {LabelSelector} from '#src/api/selectors/label-selector.js';
import {isActive, isTerminating, nextAvailability} from '#src/model/pod/state.js';
import {requeueAfter, settled, type KeyedContext, type Reconcile} from '#src/runtime/controller.js';
import {indexingChildren} from '#controllers/shared/children/children.js';
import {claimer} from '#controllers/shared/children/claiming.js';
import {countsWriter} from '#controllers/shared/counts-writer.js';
import {trackingExpectations} from '#controllers/shared/children/expectations.js';
import {watchPods} from '#controllers/shared/pods/pod-events.js';
import {singlePodGroups, groupPods, podGroupsOf, type PodGroup} from './pod-groups.js';
import {replicaManager} from './replica-manager.js';
import {countOfAll, nextReplicaStatus, type Replicated} from './replica-status.js';
import {selectedOrphans} from '#controllers/shared/children/selected.js';
import type {WaitingPodsOptions} from '#controllers/shared/pods/waiting-pods.js';

/** A kind whose objects have a number of pods. */
export interface ReplicatedKind<T extends Replicated> {
  readonly kind: Kind<T>;
  readonly selecting: Selecting<T>;
  /** Whether the status reports the number of terminating pods. */
  readonly reportsTerminating: boolean;
}

/** Reconciles the number of active pods of each parent, and reports it in the parent's status. */
export const replicaReconciler = <T extends Replicated>(
  {kind, selecting, reportsTerminating}: ReplicatedKind<T>,
  context: KeyedContext<WaitingPodsOptions>,
): Reconcile => {
  const {lister, client, clock} = context;
  const parents = lister(kind);
  const pods = indexingChildren(lister(kinds.pods));
  groupPods(pods);
  const claim = claimer({client, parents: kind, children: kinds.pods});
  const expected = trackingExpectations(clock);
  const manage = replicaManager(kind, context, {parents, pods, expected});
  const writeStatus = countsWriter(context, kind);

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

  /**
   * Returns the parent's active pods, including those adopted now. Where counting groups is enough, pods are not
   * visited one by one: a change of one pod must not cost a visit of all.
   */
  const activePods = async (parent: Frozen<T>, selector: LabelSelector, own: readonly PodGroup[]): Promise<readonly PodGroup[]> => {
    const isSelected = ({representative}: PodGroup) => selector.matches(representative.metadata?.labels);
    const active = own.filter(({representative}) => isActive(representative));
    const orphans = selectedOrphans(pods, parent.metadata?.namespace ?? '', selector).filter(isActive);
    const open = [...active.filter(each => !isSelected(each)).flatMap(each => each.pods()), ...orphans];
    const kept = active.filter(isSelected);
    const {replicas = 0, minReadySeconds = 0} = parent.spec ?? {};
    if (open.length === 0 && minReadySeconds === 0 && countOfAll(kept) <= replicas) return kept;
    const listed = singlePodGroups(kept.flatMap(each => each.pods()));
    return open.length === 0 ? listed : [...listed, ...singlePodGroups(await claim(parent, open, {selector}))];
  };

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
    const terminatingPods = own.filter(
      ({representative}) => isTerminating(representative) && selector.matches(representative.metadata?.labels),
    );
    const terminating = reportsTerminating ? countOfAll(terminatingPods) : undefined;
    const active = await activePods(parent, selector, own);

    const failure = mayManage && !parent.metadata?.deletionTimestamp ? await manage(parent, active) : undefined;
    const now = clock.now();
    const status = nextReplicaStatus(parent, {active, terminating, failure, now});
    const isUrgent = failure !== undefined;
    const waitMs = sameJson(parent.status, status) ? 0 : await writeStatus(parent, () => status, {isUrgent});
    if (isUrgent) throw failure;
    if (waitMs > 0) return requeueAfter(waitMs);
    const {minReadySeconds = 0} = parent.spec ?? {};
    if (minReadySeconds > 0 && (status.readyReplicas ?? 0) !== (status.availableReplicas ?? 0)) {
      return requeueAfter(
        nextAvailability(
          active.flatMap(each => each.pods()),
          minReadySeconds,
          now,
        ) ?? minReadySeconds * 1000,
      );
    }
    return settled;
  };
};
