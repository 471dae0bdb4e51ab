import {indexing} from '#informers/lister.js';
import {podsByNode} from '#controllers/shared/pods/pods-by-node.js';
import {sameJson} from '#src/api/equal.js';
import {keyOf, keyText, type Frozen, type ObjectKey} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';
import type {Taint} from '#src/model/taints.js';
import {WorkQueue} from '#src/queue/work-queue.js';
import {work} from '#src/queue/workers.js';
import {reconcileHandler} from '#src/runtime/reconcile-handler.js';
import {ReconcileMetrics} from '#src/runtime/reconcile-metrics.js';
import {settled, type ControllerContext, type Reconcile, type Run} from '#src/runtime/controller.js';
import {abortOf} from '#src/runtime/shutdown.js';
import {evictor, evictionEvents} from './evict.js';
import {timers} from './timers.js';
import {toleratedSeconds} from './toleration.js';

const concurrency = 8;

const evictingTaints = (node: Frozen<Node> | undefined): readonly Taint[] =>
  (node?.spec?.taints ?? []).filter(({effect}) => effect === 'NoExecute');

/** Evicts pods for NoExecute taints. Syncs of nodes and pods read only caches, so that their order does not matter. */
export const taintEviction = (context: ControllerContext): Run => {
  const {name: controller, clock, lister, listen, log, meter} = context;
  const nodes = lister(kinds.nodes);
  const pods = indexing(lister(kinds.pods), podsByNode);
  const nodeQueue = new WorkQueue<string>({clock, meter, name: 'noexec_taint_node'});
  const podQueue = new WorkQueue<string>({clock, meter, name: 'noexec_taint_pod'});
  const evictions = timers(clock);
  const evict = evictor(context);
  const podEvents = evictionEvents(context);

  const cancel = (key: ObjectKey): void => {
    if (evictions.cancel(keyText(key))) podEvents.recordCancelled(key);
  };

  /** Cancels an eviction scheduled for another pod of the name. */
  const cancelOthers = ({metadata}: Frozen<Pod>, key: ObjectKey): void => {
    if (evictions.cancelOthers(keyText(key), metadata?.uid ?? '')) podEvents.recordCancelled(key);
  };

  const scheduleEviction = (key: ObjectKey, uid: string, fireAt: number): void =>
    evictions.add(keyText(key), {uid, fireAt}, async () => {
      podEvents.recordMarked(key);
      await evict(key, uid, fireAt);
    });

  const processPod = (pod: Frozen<Pod>, taints: readonly Taint[]): void => {
    const key = keyOf(pod);
    const {uid = ''} = pod.metadata ?? {};
    cancelOthers(pod, key);
    const seconds = toleratedSeconds(taints, pod.spec?.tolerations);
    if (seconds === Infinity) return cancel(key);
    const isPending = evictions.isPending(keyText(key), uid);
    // Due at once: an eviction in progress or done is left alone.
    if (seconds <= 0 && isPending) cancel(key);
    // A scheduled time is kept when taints change.
    if (seconds <= 0 || !isPending) scheduleEviction(key, uid, clock.now() + Math.max(0, seconds) * 1000);
  };

  const nodeReconciler: Reconcile = async ({name}) => {
    const node = nodes.get(name);
    if (!node) return settled;
    const taints = evictingTaints(node);
    for (const pod of pods.by(podsByNode, name)) {
      if (taints.length === 0) cancel(keyOf(pod));
      else processPod(pod, taints);
    }
    return settled;
  };

  const podReconciler: Reconcile = async key => {
    const pod = pods.get(key);
    if (!pod) cancel(key);
    else cancelOthers(pod, key);
    const taints = evictingTaints(nodes.get(pod?.spec?.nodeName ?? ''));
    if (pod && taints.length > 0) processPod(pod, taints);
    return settled;
  };

  listen(kinds.nodes, change => {
    const {type, object} = change;
    if (type !== 'updated' || !sameJson(evictingTaints(change.old), evictingTaints(object))) nodeQueue.add(object.metadata?.name ?? '');
  });
  listen(kinds.pods, change => {
    const {type, object} = change;
    const old = type === 'updated' ? change.old : undefined;
    if (!object.spec?.nodeName && !old?.spec?.nodeName) return;
    const isSame =
      old?.spec?.nodeName === object.spec?.nodeName &&
      old?.metadata?.uid === object.metadata?.uid &&
      sameJson(old?.spec?.tolerations, object.spec?.tolerations);
    if (!isSame) podQueue.add(keyText(keyOf(object)));
  });

  return async signal => {
    const metrics = new ReconcileMetrics(meter, controller, 2 * concurrency);
    const startWorkers = (queue: WorkQueue, reconcile: Reconcile) =>
      work(queue, concurrency, reconcileHandler({queue, reconcile, clock, log, metrics, signal}), (error, key) =>
        log.error({key, err: error}, 'a worker failed'),
      );
    const workers = [startWorkers(nodeQueue, nodeReconciler), startWorkers(podQueue, podReconciler)];
    await abortOf(signal);
    evictions.stop();
    for (const queue of [nodeQueue, podQueue]) queue.shutDown();
    await Promise.all(workers.map(worker => worker.stop()));
  };
};
