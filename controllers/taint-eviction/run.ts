import type {Change} from '#informers/change.js';
import {indexing} from '#informers/lister.js';
import {podsByNode} from '#controllers/shared/pods/pods-by-node.js';
import {sameJson} from '#src/api/equal.js';
import {keyOf, keyText, type Frozen} from '#src/api/key.js';
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
import {podEvictions} from './pod-evictions.js';

const concurrency = 8;

const evictingTaints = (node: Frozen<Node> | undefined): readonly Taint[] =>
  (node?.spec?.taints ?? []).filter(({effect}) => effect === 'NoExecute');

const changesTaints = (change: Change<Node>): boolean =>
  change.type !== 'updated' || !sameJson(evictingTaints(change.old), evictingTaints(change.object));

/** Whether a pod on a node appears, goes, moves, is another one, or tolerates other taints. */
const changesPlacement = (change: Change<Pod>): boolean => {
  const {type, object} = change;
  const old = type === 'updated' ? change.old : undefined;
  if (!object.spec?.nodeName && !old?.spec?.nodeName) return false;
  const isSame =
    old?.spec?.nodeName === object.spec?.nodeName &&
    old?.metadata?.uid === object.metadata?.uid &&
    sameJson(old?.spec?.tolerations, object.spec?.tolerations);
  return !isSame;
};

/** Evicts pods for NoExecute taints. Syncs of nodes and pods read only caches, so that their order does not matter. */
export const taintEviction = (context: ControllerContext): Run => {
  const {name: controller, clock, lister, listen, log, meter} = context;
  const nodes = lister(kinds.nodes);
  const pods = indexing(lister(kinds.pods), podsByNode);
  const nodeQueue = new WorkQueue<string>({clock, meter, name: 'noexec_taint_node'});
  const podQueue = new WorkQueue<string>({clock, meter, name: 'noexec_taint_pod'});
  const evictions = podEvictions(context);

  const nodeReconciler: Reconcile = async ({name}) => {
    const node = nodes.get(name);
    if (!node) return settled;
    const taints = evictingTaints(node);
    for (const pod of pods.by(podsByNode, name)) {
      if (taints.length === 0) evictions.cancel(keyOf(pod));
      else evictions.update(pod, taints);
    }
    return settled;
  };

  const podReconciler: Reconcile = async key => {
    const pod = pods.get(key);
    if (!pod) evictions.cancel(key);
    else evictions.cancelOthers(pod);
    const taints = evictingTaints(nodes.get(pod?.spec?.nodeName ?? ''));
    if (pod && taints.length > 0) evictions.update(pod, taints);
    return settled;
  };

  listen(kinds.nodes, change => {
    if (changesTaints(change)) nodeQueue.add(change.object.metadata?.name ?? '');
  });
  listen(kinds.pods, change => {
    if (changesPlacement(change)) podQueue.add(keyText(keyOf(change.object)));
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
