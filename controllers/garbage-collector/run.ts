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

/** One run of the collector: the graph fed by informers, the queues and the workers. */
class CollectorRun {
  readonly graph: Graph;
  readonly resources: ResourceSync;
  readonly #context: Context;
  readonly #toDelete: WorkQueue<Node>;
  readonly #toOrphan: WorkQueue<Node>;
  readonly #kinds: KindMap;
  readonly #undecided = new UnknownKindNodes();
  readonly #schedule: DiscoverySchedule;
  readonly #monitors: Monitors;
  readonly #collector: Collector;
  readonly #live: Live;

  constructor(context: Context) {
    const {client, clock, log, meter, naming, informers} = context;
    this.#context = context;
    this.#toDelete = queueOf(context, 'attempt_to_delete');
    this.#toOrphan = queueOf(context, 'attempt_to_orphan');
    this.graph = new Graph(new AbsentOwners(), {
      attemptToDelete: node => this.#toDelete.add(node),
      attemptToDeleteLater: node => this.#toDelete.addRateLimited(node),
      attemptToOrphan: node => this.#toOrphan.add(node),
      ownerInOtherNamespace: (dependent, owner) => recordNamespaceMismatch(context, dependent, owner),
    });
    this.#kinds = new KindMap(client);
    this.#schedule = new DiscoverySchedule(clock);
    this.#monitors = new Monitors({
      informers,
      naming,
      graph: this.graph,
      definitionChanged: (name, {isListed}) => {
        if (!isListed || !this.#kinds.isDefinedBy(name)) this.#schedule.trigger();
      },
      notServed: () => this.#schedule.trigger(),
    });
    this.#collector = new Collector({
      graph: this.graph,
      kinds: this.#kinds,
      enqueue: node => this.#toDelete.add(node),
      live: this.#liveFor(this.#toDelete),
    });
    this.#live = this.#liveFor(this.#toOrphan);
    this.resources = new ResourceSync({
      client,
      clock,
      log,
      kinds: this.#kinds,
      monitors: this.#monitors,
      schedule: this.#schedule,
      onKindsRead: () => this.#retryUndecided(),
      failures: meter.counter({
        name: 'garbagecollector_controller_resources_sync_error_total',
        help: 'Number of garbage collector resources sync errors',
      }),
    });
  }

  startWorkers(): Workers[] {
    return [
      workOn(this.#context, this.#toDelete, node => this.#attemptToDelete(node)),
      workOn(this.#context, this.#toOrphan, node => this.#attemptToOrphan(node)),
    ];
  }

  close(): void {
    this.#monitors[Symbol.dispose]();
    this.#toDelete.shutDown();
    this.#toOrphan.shutDown();
  }

  /** Reads for the nodes of a queue, which is paused when the server asks to wait. */
  #liveFor(queue: WorkQueue<Node>): Live {
    const {clock, random, signal} = this.#context;
    return new Live({
      kinds: this.#kinds,
      random,
      pause: async ms => {
        using _ = queue.pauseHold();
        await sleep(clock, ms, signal);
      },
    });
  }

  #retryUndecided(): void {
    for (const node of this.#undecided.takeKnown(this.#kinds)) {
      this.#toDelete.forget(node);
      this.#toDelete.add(node);
    }
  }

  async #attemptToDelete(node: Node): Promise<NextStep> {
    const {log, signal} = this.#context;
    const item = identityText(node.identity);
    this.#undecided.delete(node);
    // A node that is no longer in the graph was deleted, or never existed.
    if (this.graph.get(node.identity.uid) !== node) return 'forget';
    try {
      const result = await this.#collector.process(node);
      // A virtual node must not stay in the graph if its object is never observed.
      return result === 'done' && node.virtual ? 'again' : 'forget';
    } catch (error) {
      if (signal.aborted) return 'forget';
      if (error instanceof OwnerNeedsNamespace) {
        log.v(2).info({item, err: error}, 'an object names an owner it cannot have');
        return 'forget';
      }
      if (error instanceof UnknownKind) {
        this.#undecided.add(node, error);
        log.v(5).info({item, err: error}, 'looking after an object waits for a kind to be served');
        return 'again';
      }
      this.#logFailure(this.#toDelete, node, error, 'looking after an object failed and is tried again');
      return 'again';
    }
  }

  async #attemptToOrphan(node: Node): Promise<NextStep> {
    try {
      await orphan(node, this.#live);
      return 'forget';
    } catch (error) {
      if (this.#context.signal.aborted) return 'forget';
      this.#logFailure(this.#toOrphan, node, error, 'parting dependents from their owner failed and is tried again');
      return 'again';
    }
  }

  #logFailure(queue: WorkQueue<Node>, node: Node, error: unknown, message: string): void {
    const {log} = this.#context;
    const fields = {item: identityText(node.identity), err: error};
    if (isTransient(error, queue.retries(node) + 1)) log.v(2).info(fields, message);
    else log.error(fields, message);
  }
}

/**
 * Runs the garbage collector until the signal aborts. Workers start once all resources are synced, or after 30 s: their
 * decisions are based on live reads anyway.
 */
export const garbageCollector = (context: Context): Run => {
  const {clock, log} = context;
  let graph: Graph | undefined;
  context.debugPages((path, query) => graph && graphPage(graph, path, query));
  return async signal => {
    const collector = new CollectorRun(context);
    graph = collector.graph;
    let workers: readonly Workers[] = [];
    const begin = (why: string, logger: Log) => {
      if (signal.aborted || workers.length > 0) return;
      logger.info({why}, 'proceeding to collect garbage');
      workers = collector.startWorkers();
    };
    const timeout = clock.schedule(discoveryPeriodMs, () => begin('not all resources are followed yet', log));
    try {
      await collector.resources.run(signal, () => begin('all resources are followed', log.v(1)));
    } finally {
      timeout[Symbol.dispose]();
      collector.close();
      await Promise.all(workers.map(each => each.stop()));
    }
  };
};
