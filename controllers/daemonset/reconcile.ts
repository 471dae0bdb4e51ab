import {indexingChildren, possibleChildren} from '#controllers/shared/children/children.js';
import {claimer} from '#controllers/shared/children/claiming.js';
import type {TrackingExpectations} from '#controllers/shared/children/expectations.js';
import {countsWriter} from '#controllers/shared/counts-writer.js';
import type {Selecting} from '#informers/selecting.js';
import {sameJson} from '#src/api/equal.js';
import {keyText, keyOf, type Frozen} from '#src/api/key.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import type {LabelSelector} from '#src/api/selectors/label-selector.js';
import {nextAvailability} from '#src/model/pod/state.js';
import {requeueAfter, settled, type KeyedContext, type Reconcile, type Result} from '#src/runtime/controller.js';
import {messageOf} from '#src/base/message.js';
import {Histories, type History} from './history.js';
import type {DaemonSet, DaemonSetStatus} from './kinds.js';
import {podChangesFor} from './manage.js';
import {placementOf} from './placement.js';
import {podWriter} from './pod-writer.js';
import {rollingUpdate} from './rolling-update.js';
import {podsByNode, type NodePlacement, type DaemonSetSync} from './sync.js';
import {statusOf} from './status.js';
import {terminalPods} from './terminal-pods.js';

type Made = ObjectOf<typeof kinds.daemonSets>;

/** Reconciles daemon sets. `expected` is lowered by the pod event handlers. */
export const daemonSetReconciler = (context: KeyedContext, selecting: Selecting<Made>, expected: TrackingExpectations): Reconcile => {
  const {lister, client, clock, naming, events} = context;
  const sets = lister(kinds.daemonSets);
  const nodes = lister(kinds.nodes);
  const pods = indexingChildren(lister(kinds.pods));
  const claim = claimer({client, parents: kinds.daemonSets, children: kinds.pods});
  const history = new Histories(context);
  const applyChanges = podWriter(context, expected);
  const onTerminalFor = terminalPods(context);
  const writeStatus = countsWriter(context, kinds.daemonSets);

  const update = async (state: DaemonSetSync, own: () => Promise<readonly Frozen<Pod>[]>, old: History['old']): Promise<void> => {
    const {set, hash} = state;
    await applyChanges(set, hash, podChangesFor(state, podsByNode(await own()), onTerminalFor(set)));
    if (expected.satisfied(keyText(keyOf(set))) && set.spec?.updateStrategy?.type === 'RollingUpdate')
      await applyChanges(set, hash, rollingUpdate(state, podsByNode(await own())));
    await history.forget(set, old, await own()).catch((error: unknown) => {
      throw new Error(`failed to clean up revisions of DaemonSet: ${messageOf(error)}`, {cause: error});
    });
  };

  const updateStatus = async (state: DaemonSetSync, own: readonly Frozen<Pod>[], isObserved: boolean): Promise<Result> => {
    const {set} = state;
    const status = statusOf(state, podsByNode(own), isObserved);
    const waitMs = sameJson(set.status, status) ? 0 : await writeStatus(set, latest => ({...status, ...collisionsOf(latest)}));
    if (waitMs > 0) return requeueAfter(waitMs);
    const {minReadySeconds = 0} = set.spec ?? {};
    if (minReadySeconds === 0 || status.numberReady === (status.numberAvailable ?? 0)) return settled;
    return requeueAfter(nextAvailability(own, minReadySeconds, clock.now()) ?? minReadySeconds * 1000);
  };

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
    if (!expected.satisfied(keyText(keyOf(set)))) return updateStatus(state, await own(), false);
    const [done] = await Promise.allSettled([update(state, own, old)]);
    const [status] = await Promise.allSettled([own().then(all => updateStatus(state, all, true))]);
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

const collisionsOf = ({status}: Frozen<Made>): Pick<DaemonSetStatus, 'collisionCount'> =>
  status?.collisionCount === undefined ? {} : {collisionCount: status.collisionCount};
