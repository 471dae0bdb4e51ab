import {indexingChildren, possibleChildren} from '#controllers/shared/children/children.js';
import {claimer} from '#controllers/shared/children/claiming.js';
import type {TrackingExpectations} from '#controllers/shared/children/expectations.js';
import type {Selecting} from '#informers/selecting.js';
import {keyText, keyOf} from '#src/api/key.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {LabelSelector} from '#src/api/selectors/label-selector.js';
import {settled, type KeyedContext, type Reconcile, type Result} from '#src/runtime/controller.js';
import {messageOf} from '#src/base/message.js';
import {Histories} from './history.js';
import type {DaemonSet} from './kinds.js';
import {placementOf} from './placement.js';
import type {NodePlacement, DaemonSetSync} from './sync.js';
import {DaemonSetWrites} from './writes.js';

type Made = ObjectOf<typeof kinds.daemonSets>;

/** Reconciles daemon sets. `expected` is lowered by the pod event handlers. */
export const daemonSetReconciler = (context: KeyedContext, selecting: Selecting<Made>, expected: TrackingExpectations): Reconcile => {
  const {lister, client, clock, naming, events} = context;
  const sets = lister(kinds.daemonSets);
  const nodes = lister(kinds.nodes);
  const pods = indexingChildren(lister(kinds.pods));
  const claim = claimer({client, parents: kinds.daemonSets, children: kinds.pods});
  const history = new Histories(context);
  const writes = new DaemonSetWrites({context, expected, history});

  const sync = async (set: DaemonSet, selector: LabelSelector): Promise<Result> => {
    const own = () => claim(set, possibleChildren(pods, set, selector), {selector});
    const {hash, old} = await history.of(set, selector, own).catch((error: unknown) => {
      throw new Error(`failed to construct revisions of DaemonSet: ${messageOf(error)}`, {cause: error});
    });
    const placementFor = placementOf(set, naming);
    const placements = nodes.list().map((node): NodePlacement => ({node, name: node.metadata?.name ?? '', ...placementFor(node)}));
    const state: DaemonSetSync = {set, hash, placements, now: clock.now()};
    // Earlier changes are not in the cache yet: no further ones are made, and the generation is not reported as
    // observed.
    if (!expected.satisfied(keyText(keyOf(set)))) return writes.updateStatus(state, await own(), false);
    const [done] = await Promise.allSettled([writes.update(state, own, old)]);
    const [status] = await Promise.allSettled([own().then(all => writes.updateStatus(state, all, true))]);
    if (done.status === 'rejected') throw done.reason;
    if (status.status === 'rejected') throw status.reason;
    return status.value;
  };

  return async key => {
    const set = sets.get(key);
    if (!set) {
      expected.forget(keyText(key));
      return settled;
    }
    const {matchLabels = {}, matchExpressions = []} = set.spec?.selector ?? {};
    if (Object.keys(matchLabels).length + matchExpressions.length === 0) {
      events.warning(set, 'SelectingAll', 'This daemon set is selecting all pods. A non-empty selector is required.');
      return settled;
    }
    const selector = selecting.selectorOf(set);
    if (!selector) throw new Error('the selector cannot be read');
    // The revisions may be deleted already: a status would be incorrect.
    return set.metadata?.deletionTimestamp ? settled : sync(set, selector);
  };
};
