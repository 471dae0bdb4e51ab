import {controlledBy} from '#controllers/shared/children/children.js';
import type {TrackingExpectations} from '#controllers/shared/children/expectations.js';
import {createExpected, deleteExpected} from '#controllers/shared/pods/expected-changes.js';
import {podControl} from '#controllers/shared/pods/pod-control.js';
import {podNames} from '#controllers/shared/pods/pod-names.js';
import {waitingPodsLimit, type WaitingPodsOptions} from '#controllers/shared/pods/waiting-pods.js';
import type {Lister} from '#informers/lister.js';
import {keyOf, keyText, type Frozen} from '#src/api/key.js';
import type {Kind} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {controllerOf} from '#src/model/owners.js';
import type {KeyedContext} from '#src/runtime/controller.js';
import {podsToDelete, ranksByNode} from './deletion-order.js';
import type {PodGroup} from './pod-groups.js';
import {countOfAll, type Replicated} from './replica-status.js';

/** The most pods created or deleted in one sync. */
const burst = 500;

interface ManagerParts<T extends Replicated> {
  readonly parents: Lister<T>;
  readonly pods: Lister<Pod>;
  readonly expected: TrackingExpectations;
}

/** Creates or deletes pods to reach the requested number, given the active ones. Resolves to the failure. */
type ReplicaManager<T extends Replicated> = (parent: Frozen<T>, active: readonly PodGroup[]) => Promise<unknown>;

export const replicaManager = <T extends Replicated>(
  kind: Kind<T>,
  context: KeyedContext<WaitingPodsOptions>,
  {parents, pods, expected}: ManagerParts<T>,
): ReplicaManager<T> => {
  const {clock, naming, gates, random} = context;
  const control = podControl(kind, context, waitingPodsLimit(context));
  const names = podNames(pods, clock, random);
  const costAnnotation = gates.enabled('PodDeletionCost') ? naming.subKey('controller', 'pod-deletion-cost') : undefined;

  const createPods = async (parent: Frozen<T>, missing: number): Promise<unknown> => {
    const key = keyText(keyOf(parent));
    const count = Math.min(missing, burst);
    const planned = names.plan(
      parent,
      Array.from({length: count}, () => ({})),
    );
    expected.expectCreations(
      key,
      planned.map(pod => pod.key),
    );
    const {error} = await createExpected(planned, pod => control.create(parent, parent.spec!.template!, pod), {
      parent,
      key,
      expected,
      names,
    });
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
    expected.expectDeletions(
      key,
      chosen.map(pod => keyText(keyOf(pod))),
    );
    const [first] = await deleteExpected(chosen, pod => control.delete(parent, pod), {key, expected});
    return first;
  };

  return async (parent, active) => {
    const surplus = countOfAll(active) - (parent.spec?.replicas ?? 0);
    if (surplus < 0) return createPods(parent, -surplus);
    return surplus > 0
      ? deletePods(
          parent,
          active.flatMap(each => each.pods()),
          surplus,
        )
      : undefined;
  };
};
