import {sleep} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {defaultLimiter} from '#src/queue/rate-limiter.js';
import {WorkQueue} from '#src/queue/work-queue.js';
import {work, type Workers} from '#src/queue/workers.js';
import type {ControllerManagerOptions} from '#src/options/programs/controller-manager.js';
import type {ControllerContext, Run} from '#src/runtime/controller.js';
import {isTransient} from '#src/runtime/transient.js';
import {AbsentOwners} from './absent-owners.js';
import {Collector} from './collect.js';
import {graphPage} from './dump.js';
import {Graph} from './graph.js';
import {identityOf, identityText, type Owner} from './identity.js';
import {KindMap, OwnerNeedsNamespace, UnknownKind} from './kind-map.js';
import {Live} from './live.js';
import {Monitors} from './monitors.js';
import type {Node} from './node.js';
import {orphan} from './orphan.js';
import {discoveryPeriodMs, DiscoverySchedule} from './discovery-schedule.js';
import {ResourceSync} from './resources.js';
import {UnknownKindNodes} from './unknown-kind-nodes.js';

export type GarbageCollectorOptions = Pick<ControllerManagerOptions, 'enableGarbageCollector' | 'concurrentGcSyncs'>;

type Context = ControllerContext<GarbageCollectorOptions>;

/** What to do with a node after it was processed. */
type NextStep = 'forget' | 'again';

/** Creates a queue of nodes. */
const queueOf = ({clock, meter}: Context, name: string): WorkQueue<Node> =>
  new WorkQueue<Node>({clock, meter, name: `garbage_collector_${name}`, limiter: defaultLimiter(clock)});

const workOn = ({options, log}: Context, queue: WorkQueue<Node>, process: (node: Node) => Promise<NextStep>): Workers =>
  work(
    queue,
    options.concurrentGcSyncs,
    async node => {
      if ((await process(node)) === 'again') queue.addRateLimited(node);
      else queue.forget(node);
    },
    (error, node) => log.error({item: identityText(node.identity), err: error}, 'a worker failed'),
  );

/** Records an Event on an object that refers to an owner in another namespace. */
const recordNamespaceMismatch = ({events}: Context, {identity}: Node, owner: Owner): void => {
  const {apiVersion, kind, namespace, name, uid} = identity;
  const reference = {apiVersion, kind, metadata: {name, uid, ...(namespace ? {namespace} : {})}};
  events.warning(
    reference,
    'OwnerRefInvalidNamespace',
    `ownerRef ${identityText(identityOf(owner, namespace))} does not exist in namespace ${JSON.stringify(namespace)}`,
  );
};

/** Creates one run of the collector: the graph fed by informers, and the workers. */
const createCollector = (context: Context) => {
  const {client, clock, random, log, meter, naming, informers, signal} = context;
  const toDelete = queueOf(context, 'attempt_to_delete');
  const toOrphan = queueOf(context, 'attempt_to_orphan');
  const enqueueDelete = (node: Node) => toDelete.add(node);
  const graph = new Graph(new AbsentOwners(), {
    attemptToDelete: enqueueDelete,
    attemptToDeleteLater: node => toDelete.addRateLimited(node),
    attemptToOrphan: node => toOrphan.add(node),
    ownerInOtherNamespace: (dependent, owner) => recordNamespaceMismatch(context, dependent, owner),
  });
  const kinds = new KindMap(client);
  const undecided = new UnknownKindNodes();
  const onKindsRead = () => {
    for (const node of undecided.takeKnown(kinds)) {
      toDelete.forget(node);
      enqueueDelete(node);
    }
  };
  const schedule = new DiscoverySchedule(clock);
  const definitionChanged = (name: string, {isListed}: {readonly isListed: boolean}) => {
    if (!isListed || !kinds.isDefinedBy(name)) schedule.trigger();
  };
  const monitors = new Monitors({informers, naming, graph, definitionChanged, notServed: () => schedule.trigger()});
  const pauseOn = (queue: WorkQueue<Node>) => async (ms: number) => {
    using _ = queue.pauseHold();
    await sleep(clock, ms, signal);
  };
  const collector = new Collector({graph, kinds, enqueue: enqueueDelete, live: new Live({kinds, random, pause: pauseOn(toDelete)})});
  const live = new Live({kinds, random, pause: pauseOn(toOrphan)});
  const failures = meter.counter({
    name: 'garbagecollector_controller_resources_sync_error_total',
    help: 'Number of garbage collector resources sync errors',
  });
  const resources = new ResourceSync({client, clock, log, kinds, monitors, schedule, onKindsRead, failures});

  const logFailure = (queue: WorkQueue<Node>, node: Node, error: unknown, message: string) => {
    const fields = {item: identityText(node.identity), err: error};
    if (isTransient(error, queue.retries(node) + 1)) log.v(2).info(fields, message);
    else log.error(fields, message);
  };
  const attemptToDelete = async (node: Node): Promise<NextStep> => {
    const item = identityText(node.identity);
    undecided.delete(node);
    // A node that is no longer in the graph was deleted, or never existed.
    if (graph.get(node.identity.uid) !== node) return 'forget';
    try {
      const result = await collector.process(node);
      // A virtual node must not stay in the graph if its object is never observed.
      return result === 'done' && node.virtual ? 'again' : 'forget';
    } catch (error) {
      if (signal.aborted) return 'forget';
      if (error instanceof OwnerNeedsNamespace) {
        log.v(2).info({item, err: error}, 'an object names an owner it cannot have');
        return 'forget';
      }
      if (error instanceof UnknownKind) {
        undecided.add(node, error);
        log.v(5).info({item, err: error}, 'looking after an object waits for a kind to be served');
        return 'again';
      }
      logFailure(toDelete, node, error, 'looking after an object failed and is tried again');
      return 'again';
    }
  };
  const attemptToOrphan = async (node: Node): Promise<NextStep> => {
    try {
      await orphan(node, live);
      return 'forget';
    } catch (error) {
      if (signal.aborted) return 'forget';
      logFailure(toOrphan, node, error, 'parting dependents from their owner failed and is tried again');
      return 'again';
    }
  };
  return {
    graph,
    resources,
    startWorkers: () => [workOn(context, toDelete, attemptToDelete), workOn(context, toOrphan, attemptToOrphan)],
    close() {
      monitors[Symbol.dispose]();
      toDelete.shutDown();
      toOrphan.shutDown();
    },
  };
};

/** Runs the garbage collector until the signal aborts. Workers start once all resources are synced, or after 30 s: their decisions are based on live reads anyway. */
export const garbageCollector = (context: Context): Run => {
  const {clock, log} = context;
  let graph: Graph | undefined;
  context.debugPages((path, query) => graph && graphPage(graph, path, query));
  return async signal => {
    const {startWorkers, close, resources, graph: own} = createCollector(context);
    graph = own;
    let workers: readonly Workers[] = [];
    const begin = (why: string, logger: Log) => {
      if (signal.aborted || workers.length > 0) return;
      logger.info({why}, 'proceeding to collect garbage');
      workers = startWorkers();
    };
    const timeout = clock.schedule(discoveryPeriodMs, () => begin('not all resources are followed yet', log));
    try {
      await resources.run(signal, () => begin('all resources are followed', log.v(1)));
    } finally {
      timeout[Symbol.dispose]();
      close();
      await Promise.all(workers.map(each => each.stop()));
    }
  };
};
