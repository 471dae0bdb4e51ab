import type {Selecting} from '#informers/selecting.js';
import {sameJson} from '#src/api/equal.js';
import {keyOf, keyText, type Frozen} from '#src/api/key.js';
import {kinds, type Kind} from '#src/api/kinds.js';
import type {Pod} from '#src/api/pod.js';
import type {LabelSelector} from '#src/api/selectors/label-selector.js';
import {hasCause, isNotFound} from '#src/api/status.js';
import {controllerOf} from '#src/model/owners.js';
import {isActive, isTerminating, nextAvailability} from '#src/model/pod/state.js';
import {requeueAfter, settled, type KeyedContext, type Reconcile} from '#src/runtime/controller.js';
import {controlledBy, indexingChildren} from '#controllers/shared/children/children.js';
import {claimer} from '#controllers/shared/children/claiming.js';
import {podsToDelete, ranksByNode} from './deletion-order.js';
import {trackingExpectations} from '#controllers/shared/children/expectations.js';
import {podControl} from '#controllers/shared/pods/pod-control.js';
import {watchPods} from '#controllers/shared/pods/pod-events.js';
import {singlePodGroups, groupPods, podGroupsOf, type PodGroup} from './pod-groups.js';
import {countOfAll, nextReplicaStatus, type Replicated, type ReplicaStatus} from './replica-status.js';
import {selectedOrphans} from '#controllers/shared/children/selected.js';
import {slowStart} from '#controllers/shared/pods/slow-start.js';
import {waitingPodsLimit, type WaitingPodsOptions} from '#controllers/shared/pods/waiting-pods.js';

/** A kind whose objects have a number of pods. */
export interface ReplicatedKind<T extends Replicated> {
  readonly kind: Kind<T>;
  readonly selecting: Selecting<T>;
  /** Whether the status reports the number of terminating pods. */
  readonly reportsTerminating: boolean;
}

/** The most pods created or deleted in one sync. */
const burst = 500;

/** Reconciles the number of active pods of each parent, and reports it in the parent's status. */
export const replicaReconciler = <T extends Replicated>({kind, selecting, reportsTerminating}: ReplicatedKind<T>, context: KeyedContext<WaitingPodsOptions>): Reconcile => {
  const {lister, client, writer, clock, naming, gates} = context;
  const parents = lister(kind);
  const pods = indexingChildren(lister(kinds.pods));
  groupPods(pods);
  const resource = client.resource(kind);
  const claim = claimer({client, parents: kind, children: kinds.pods});
  const control = podControl(kind, context, waitingPodsLimit(context));
  const expected = trackingExpectations(clock);
  const costAnnotation = gates.enabled('PodDeletionCost') ? naming.subKey('controller', 'pod-deletion-cost') : undefined;

  context.listen(kind, ({type, object}) => {
    // A new object of the same name starts clean.
    if (type === 'deleted') expected.forget(keyText(keyOf(object)));
  });
  watchPods(context, {
    parents: kind,
    selecting,
    created: key => expected.created(key),
    deleted: (key, pod) => expected.deleted(key, keyText(keyOf(pod))),
    minReadySecondsOf: ({spec}) => spec?.minReadySeconds,
  });

  const createPods = async (parent: Frozen<T>, missing: number): Promise<unknown> => {
    const key = keyText(keyOf(parent));
    const count = Math.min(missing, burst);
    expected.expectCreations(key, count);
    const {successes, error} = await slowStart(count, async () => {
      try {
        await control.create(parent, parent.spec!.template!);
      } catch (failure) {
        // Nothing can be created in a terminating namespace.
        if (!hasCause(failure, 'NamespaceTerminating')) throw failure;
      }
    });
    expected.created(key, count - successes);
    return error;
  };

  /** Returns the pods of all sets with the same controller as this one. */
  const relatedPods = (parent: Frozen<T>): readonly Frozen<Pod>[] => {
    const uid = controllerOf(parent)?.uid;
    return uid === undefined ? [] : controlledBy(parents, {metadata: {uid}}).flatMap(set => controlledBy(pods, set));
  };

  const deletePods = async (parent: Frozen<T>, active: readonly Frozen<Pod>[], surplus: number): Promise<unknown> => {
    const key = keyText(keyOf(parent));
    const rankOf = ranksByNode(relatedPods(parent));
    const chosen = podsToDelete(active, Math.min(surplus, burst), {now: clock.now(), costAnnotation, rankOf});
    expected.expectDeletions(key, chosen.map(pod => keyText(keyOf(pod))));
    let first: unknown;
    await Promise.all(
      chosen.map(async pod => {
        try {
          await control.delete(parent, pod);
        } catch (error) {
          expected.deleted(key, keyText(keyOf(pod)));
          if (!isNotFound(error)) first ??= error;
        }
      }),
    );
    return first;
  };

  /** Creates or deletes pods to reach the requested number. Returns the failure. */
  const manage = async (parent: Frozen<T>, active: readonly PodGroup[]): Promise<unknown> => {
    const surplus = countOfAll(active) - (parent.spec?.replicas ?? 0);
    if (surplus < 0) return createPods(parent, -surplus);
    return surplus > 0 ? deletePods(parent, active.flatMap(each => each.pods()), surplus) : undefined;
  };

  /**
   * Returns the parent's active pods, including those adopted now. Where counting groups is enough, pods are not visited one by one: a change
   * of one pod must not cost a visit of all.
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

  /** Retries once on the latest version: the counts are valid for it too. */
  const writeStatus = async (parent: Frozen<T>, status: Frozen<ReplicaStatus>): Promise<void> => {
    if (sameJson(parent.status, status)) return;
    const write = (latest: Frozen<T>) => writer(kind).updateStatus({...latest, status} as unknown as T);
    try {
      await write(parent);
    } catch {
      const {namespace, name} = keyOf(parent);
      await write((await resource.get(name, {namespace})) as Frozen<T>);
    }
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
    const terminatingPods = own.filter(({representative}) => isTerminating(representative) && selector.matches(representative.metadata?.labels));
    const terminating = reportsTerminating ? countOfAll(terminatingPods) : undefined;
    const active = await activePods(parent, selector, own);

    const failure = mayManage && !parent.metadata?.deletionTimestamp ? await manage(parent, active) : undefined;
    const now = clock.now();
    const status = nextReplicaStatus(parent, {active, terminating, failure, now});
    await writeStatus(parent, status);
    if (failure !== undefined) throw failure;
    const {minReadySeconds = 0} = parent.spec ?? {};
    if (minReadySeconds > 0 && (status.readyReplicas ?? 0) !== (status.availableReplicas ?? 0)) {
      return requeueAfter(nextAvailability(active.flatMap(each => each.pods()), minReadySeconds, now) ?? minReadySeconds * 1000);
    }
    return settled;
  };
};
