import {podsByNode} from '#controllers/shared/pods/pods-by-node.js';
import {indexing} from '#informers/lister.js';
import {changeTaints} from '#controllers/shared/node-taints.js';
import {keyOf, keyText, type Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {isNotFound} from '#src/api/status.js';
import type {Lease, Node} from '#src/api/types.js';
import {WorkQueue} from '#src/queue/work-queue.js';
import {work} from '#src/queue/workers.js';
import type {Selection} from '#informers/selection.js';
import {reconcileHandler} from '#src/runtime/reconcile-handler.js';
import {ReconcileMetrics} from '#src/runtime/reconcile-metrics.js';
import {settled, type ControllerContext, type Reconcile, type Run} from '#src/runtime/controller.js';
import {abortOf} from '#src/runtime/shutdown.js';
import {zones as zonesOf} from './disruption.js';
import {HealthMonitor} from './monitor.js';
import {zoneRulesOf, type LifecycleOptions} from './options.js';
import {nodePods} from './pods.js';
import {schedulingChange} from './taints.js';

/** The lease heartbeats of nodes. */
export const heartbeats: Selection<Lease> = {kind: kinds.leases, namespace: naming => naming.nodeLeaseNamespace};

/** How often due nodes are evicted. */
const evictionPeriodMs = 100;

const nodeConcurrency = 8;
const podConcurrency = 4;

type Context = ControllerContext<LifecycleOptions>;

/** Returns deprecated labels that are missing or differ from the current ones. */
const missingBetaLabels = ({naming}: Context, {metadata}: Frozen<Node>): Record<string, string> => {
  const labels = metadata?.labels ?? {};
  const stale = (['os', 'arch'] as const).flatMap((name): [string, string][] => {
    const [value, older] = [labels[naming.labels[name]], naming.subKey('beta', name)];
    return value !== undefined && labels[older] !== value ? [[older, value]] : [];
  });
  return Object.fromEntries(stale);
};

/** Maintains the taints that follow from a node's conditions, and its labels. */
const nodeReconciler = (context: Context): Reconcile => {
  const {lister, naming, writer} = context;
  const nodes = lister(kinds.nodes);
  return async ({name}, {pause}) => {
    const node = nodes.get(name);
    if (!node) return settled;
    try {
      await changeTaints({...context, pause}, node, schedulingChange(naming, node));
      const labels = missingBetaLabels(context, node);
      if (Object.keys(labels).length > 0) await writer(kinds.nodes).patch(node, 'strategic', {metadata: {uid: node.metadata?.uid, labels}});
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    return settled;
  };
};

/** Calls `act` at whole periods since the start, while `isBusy`; `wake` is to be called when that may have changed. */
const periodicTask = (
  {clock}: Context,
  ms: number,
  {isBusy, act: action}: {isBusy(): boolean; act(): Promise<void>},
  signal: AbortSignal,
) => {
  const start = clock.monotonic();
  let timer: Disposable | undefined;
  let running: Promise<void> | undefined;
  const next = (): void => {
    if (timer || running || signal.aborted || !isBusy()) return;
    const passed = clock.monotonic() - start;
    timer = clock.schedule((Math.floor(passed / ms) + 1) * ms - passed, () => {
      timer = undefined;
      running = action().finally(() => {
        running = undefined;
        next();
      });
      return running;
    });
  };
  return {
    wake: next,
    async stop() {
      timer?.[Symbol.dispose]();
      await running;
    },
  };
};

const logging = (log: Context['log'], what: string, action: () => Promise<void>) => async () => {
  try {
    await action();
  } catch (error) {
    log.error({err: error}, what);
  }
};

/** The looks at the health of all nodes, and the evictions from those that are given up. */
const periodicTasks = (
  context: Context,
  {health, zones}: {readonly health: HealthMonitor; readonly zones: ReturnType<typeof zonesOf>},
  signal: AbortSignal,
) => {
  const {log, options} = context;
  const evict = logging(log, 'nodes could not be given up', () => health.evictDue());
  const eviction = periodicTask(context, evictionPeriodMs, {isBusy: () => zones.isBusy, act: evict}, signal);
  const monitor = logging(log, 'the health of nodes could not be looked at', async () => {
    await health.monitorAll();
    eviction.wake();
  });
  const monitoring = periodicTask(context, options.nodeMonitorPeriod, {isBusy: () => health.hasNodes, act: monitor}, signal);
  return {eviction, monitoring};
};

export const nodeLifecycle = (context: Context): Run => {
  const {name: controller, clock, lister, listen, log, meter, options} = context;
  const nodes = lister(kinds.nodes);
  const podLister = indexing(lister(kinds.pods), podsByNode);
  const pods = nodePods(podLister, context);
  const zones = zonesOf({clock, meter, rules: zoneRulesOf(options)});
  const health = new HealthMonitor({context, nodes, leases: lister(heartbeats), pods, zones});
  const nodeQueue = new WorkQueue<string>({clock, meter, name: 'node_lifecycle_controller'});
  const podQueue = new WorkQueue<string>({clock, meter, name: 'node_lifecycle_controller_pods'});
  let wake = (): void => {};

  listen(kinds.nodes, change => {
    const {type, object} = change;
    const name = object.metadata?.name ?? '';
    if (type === 'deleted') health.forget(name);
    else nodeQueue.add(name);
    wake();
  });
  listen(kinds.pods, change => {
    const {type, object} = change;
    if (type === 'deleted' || !object.spec?.nodeName || (type === 'updated' && change.old.spec?.nodeName === object.spec.nodeName)) return;
    podQueue.add(keyText(keyOf(object)));
  });

  /** A pod bound to an unhealthy node is not ready. */
  const podReconciler: Reconcile = async key => {
    const pod: Frozen<Pod> | undefined = podLister.get(key);
    const node = pod?.spec?.nodeName ?? '';
    const ready = health.lastReady(node);
    if (pod && ready && ready.status !== 'True' && nodes.get(node)) await pods.markNotReady([pod]);
    return settled;
  };

  return async signal => {
    const metrics = new ReconcileMetrics(meter, controller, nodeConcurrency + podConcurrency);
    const failed = (error: unknown, key: string): void => log.error({key, err: error}, 'a worker failed');
    const workersOf = (queue: WorkQueue, concurrency: number, reconcile: Reconcile) =>
      work(queue, concurrency, reconcileHandler({queue, reconcile, clock, log, metrics, signal}), failed);
    const workers = [workersOf(nodeQueue, nodeConcurrency, nodeReconciler(context)), workersOf(podQueue, podConcurrency, podReconciler)];
    const {eviction, monitoring} = periodicTasks(context, {health, zones}, signal);
    wake = monitoring.wake;
    monitoring.wake();
    await abortOf(signal);
    for (const queue of [nodeQueue, podQueue]) queue.shutDown();
    await Promise.all([...workers.map(worker => worker.stop()), monitoring.stop(), eviction.stop()]);
  };
};
