import {indexing} from '#informers/lister.js';
import {isResync, type Change} from '#informers/change.js';
import {sameJson} from '#src/api/equal.js';
import {keyOf, keyText, type Frozen} from '#src/api/key.js';
import type {Kind} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import {controllerOf, sameController} from '#src/model/owners.js';
import type {KeyedContext} from '#src/runtime/controller.js';
import {controllingParent} from './parents.js';
import type {Selecting} from '#informers/selecting.js';

export interface ChildEventsOptions<P extends KubeObject, C extends KubeObject> {
  readonly parents: Kind<P>;
  readonly children: Kind<C>;
  readonly selecting: Selecting<P>;
  /** Called when a child of the parent is observed, before the parent's key is queued. */
  created?(key: string, child: Frozen<C>): void;
  /** Called when a child of the parent is deleted, or marked for deletion. */
  deleted?(key: string, child: Frozen<C>): void;
  /** The delay before a parent is queued, so that one sync handles several changes. Default 0. */
  readonly batchMs?: number;
  /** Returns in how many ms the parent is to be queued once more after this change. */
  requeueAfterMs?(parent: Frozen<P>, child: Frozen<C>, old: Frozen<C>): number | undefined;
}

const sameLabels = (a: Frozen<KubeObject>, b: Frozen<KubeObject>): boolean => sameJson(a.metadata?.labels ?? {}, b.metadata?.labels ?? {});

/**
 * Queues the parents that changes of children concern: the controlling parent; for an orphan that is new or relabelled,
 * every parent that selects it. A child with a deletion timestamp counts as deleted.
 */
export const watchChildren = <P extends KubeObject, C extends KubeObject>(
  context: Pick<KeyedContext, 'listen' | 'lister' | 'enqueue' | 'naming'>,
  options: ChildEventsOptions<P, C>,
): void => {
  const {parents: kind, children, selecting, created, deleted, batchMs = 0, requeueAfterMs} = options;
  const lister = indexing(context.lister(kind), selecting.index);
  const parentOf = (child: Frozen<C>) => controllingParent(child, kind, lister, context.naming);
  const enqueueParent = (parent: Frozen<P>, afterMs = batchMs) => context.enqueue(keyOf(parent), afterMs > 0 ? {afterMs} : {});
  const enqueueSelecting = (child: Frozen<C>) => {
    for (const parent of selecting.parentsOf(lister, child)) enqueueParent(parent);
  };
  const notifyAndEnqueue = (callback: ChildEventsOptions<P, C>['created'], child: Frozen<C>) => {
    const parent = parentOf(child);
    if (!parent) return;
    callback?.(keyText(keyOf(parent)), child);
    enqueueParent(parent);
  };

  const added = (child: Frozen<C>) => {
    // At the start a child may be terminating already.
    if (child.metadata?.deletionTimestamp) notifyAndEnqueue(deleted, child);
    else if (controllerOf(child)) notifyAndEnqueue(created, child);
    else enqueueSelecting(child);
  };

  const updated = (child: Frozen<C>, old: Frozen<C>) => {
    if (child.metadata?.deletionTimestamp) {
      notifyAndEnqueue(deleted, child);
      if (!sameLabels(child, old)) notifyAndEnqueue(deleted, old);
      return;
    }
    const hasNewController = !sameController(child, old);
    if (hasNewController) {
      const former = parentOf(old);
      if (former) enqueueParent(former);
    }
    if (!controllerOf(child)) {
      if (hasNewController || !sameLabels(child, old)) enqueueSelecting(child);
      return;
    }
    const parent = parentOf(child);
    if (!parent) return;
    enqueueParent(parent);
    const afterMs = requeueAfterMs?.(parent, child, old);
    if (afterMs !== undefined) enqueueParent(parent, afterMs);
  };

  context.listen(children, (change: Change<C>) => {
    if (isResync(change)) return;
    if (change.type === 'added') added(change.object);
    else if (change.type === 'updated') updated(change.object, change.old);
    else notifyAndEnqueue(deleted, change.object);
  });
};
