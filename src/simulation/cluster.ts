// The first stage of a simulation: informers of the server's objects, and the work queues.

import {InformerFactory} from '#informers/factory.js';
import type {SharedInformer} from '#informers/shared.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';
import {defaultLimiter} from '#src/queue/rate-limiter.js';
import {WorkQueue} from '#src/queue/work-queue.js';
import {work, type Workers} from '#src/queue/workers.js';
import type {Reconcile} from '#src/runtime/controller.js';
import {reconcileHandler} from '#src/runtime/reconcile-handler.js';
import {ReconcileMetrics} from '#src/runtime/reconcile-metrics.js';
import type {SimulationOptions} from './options.js';
import type {PodRecord} from './pod/record.js';

/** The connection of a simulation to its cluster. */
export interface SimulatedCluster {
  readonly informers: InformerFactory;
  readonly pods: SharedInformer<Pod>;
  readonly nodes: SharedInformer<Node>;
  readonly podQueue: WorkQueue;
  readonly nodeQueue: WorkQueue;
  /** The records of known pods, by key. */
  readonly records: Map<string, PodRecord>;
  /** Creates a queue with the rate limits of the simulation. */
  queueOf(name: string): WorkQueue;
  /** Starts the workers of a queue. */
  run(queue: WorkQueue, concurrency: number, reconcile: Reconcile): Workers;
}

/** Creates the connection of a simulation to its cluster. The informers are not started. */
export const clusterOf = (options: SimulationOptions, signal: AbortSignal): SimulatedCluster => {
  const {client, clock, random, log, meter, watchSeconds, freeze} = options;
  const informers = new InformerFactory({
    client,
    clock,
    random,
    log,
    meter,
    component: 'simulation',
    minResyncMs: 0,
    signal,
    ...(watchSeconds === undefined ? {} : {watchSeconds}),
    ...(freeze === undefined ? {} : {freeze}),
  });
  const queueOf = (name: string) => new WorkQueue<string>({clock, meter, name, limiter: defaultLimiter(clock, {maxDelayMs: 30_000})});
  return {
    informers,
    pods: informers.informer<Pod>(kinds.pods),
    nodes: informers.informer<Node>(kinds.nodes),
    podQueue: queueOf('simulated-pods'),
    nodeQueue: queueOf('simulated-nodes'),
    records: new Map(),
    queueOf,
    run(queue, concurrency, reconcile) {
      const metrics = new ReconcileMetrics(meter, queue.name, concurrency);
      return work(queue, concurrency, reconcileHandler({queue, reconcile, clock, log, metrics, signal}), (error, key) =>
        log.error({key, err: error}, 'failed to sync a simulated node'),
      );
    },
  };
};

/** Returns a function that queues a pod by key for a sync, even if its object has not changed. */
export const podEnqueuer =
  ({podQueue, records}: SimulatedCluster) =>
  (key: string): void => {
    const record = records.get(key);
    if (record) record.requests++;
    podQueue.add(key);
  };
