import {isResync, type Change} from '#informers/change.js';
import {keyOf, keyText, type Frozen} from '#src/api/key.js';
import {kinds, type Kind} from '#src/api/kinds.js';
import type {Pod} from '#src/api/pod.js';
import type {KubeObject} from '#src/api/types.js';
import {controllerOf, sameController} from '#src/model/owners.js';
import {isReady} from '#src/model/pod/state.js';
import {sameJson} from '#src/api/equal.js';
import type {KeyedContext} from '#src/runtime/controller.js';
import {controllingParent, type Selecting} from './parents.js';

export interface PodEventsOptions<T extends KubeObject> {
  readonly parents: Kind<T>;
  readonly selecting: Selecting<T>;
  /** Notes that a pod of the parent is there, before the parent's key is asked for. */
  created?(key: string, pod: Frozen<Pod>): void;
  /** Notes that a pod of the parent is gone, or marked to go; both are told. */
  deleted?(key: string, pod: Frozen<Pod>): void;
  /** How long a pod must be ready to be available; the parent is looked at again a second after. */
  minReadySecondsOf?(parent: Frozen<T>): number;
}

const sameLabels = (a: Frozen<Pod>, b: Frozen<Pod>): boolean => sameJson(a.metadata?.labels ?? {}, b.metadata?.labels ?? {});

/**
 * Asks for the keys of the parents that changes of pods concern: the controlling parent; for an orphan that is new or has other labels than before,
 * every parent that selects it. A pod with a mark of deletion counts as deleted.
 */
export const followPods = <T extends KubeObject>(context: Pick<KeyedContext, 'listen' | 'lister' | 'enqueue' | 'naming'>, options: PodEventsOptions<T>): void => {
  const {parents: kind, selecting, created, deleted, minReadySecondsOf} = options;
  const lister = context.lister(kind);
  const parentOf = (pod: Frozen<Pod>) => controllingParent(pod, kind, lister, context.naming);
  const ask = (parent: Frozen<T>, afterMs?: number) => context.enqueue(keyOf(parent), afterMs === undefined ? {} : {afterMs});
  const askSelecting = (pod: Frozen<Pod>) => {
    for (const parent of selecting.parentsOf(lister, pod)) ask(parent);
  };
  const noted = (note: PodEventsOptions<T>['created'], pod: Frozen<Pod>) => {
    const parent = parentOf(pod);
    if (!parent) return;
    note?.(keyText(keyOf(parent)), pod);
    ask(parent);
  };

  const added = (pod: Frozen<Pod>) => {
    // At the start a pod may turn up that is on its way out already.
    if (pod.metadata?.deletionTimestamp) noted(deleted, pod);
    else if (controllerOf(pod)) noted(created, pod);
    else askSelecting(pod);
  };

  const updated = (pod: Frozen<Pod>, old: Frozen<Pod>) => {
    if (pod.metadata?.deletionTimestamp) {
      noted(deleted, pod);
      if (!sameLabels(pod, old)) noted(deleted, old);
      return;
    }
    const isMoved = !sameController(pod, old);
    if (isMoved) {
      const former = parentOf(old);
      if (former) ask(former);
    }
    if (!controllerOf(pod)) {
      if (isMoved || !sameLabels(pod, old)) askSelecting(pod);
      return;
    }
    const parent = parentOf(pod);
    if (!parent) return;
    ask(parent);
    const minReadySeconds = minReadySecondsOf?.(parent) ?? 0;
    if (minReadySeconds > 0 && !isReady(old) && isReady(pod)) ask(parent, (minReadySeconds + 1) * 1000);
  };

  context.listen(kinds.pods, (change: Change<Pod>) => {
    if (isResync(change)) return;
    if (change.type === 'added') added(change.object);
    else if (change.type === 'updated') updated(change.object, change.old);
    else noted(deleted, change.object);
  });
};
