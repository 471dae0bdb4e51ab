import {changeTaints, hasTaint, type TaintChange} from '#controllers/shared/node-taints.js';
import type {Lister} from '#informers/lister.js';
import type {Frozen} from '#src/api/key.js';
import {isNotFound} from '#src/api/status.js';
import type {Lease, Node} from '#src/api/types.js';
import {sleep} from '#src/base/clock.js';
import {Yielder} from '#src/base/turn.js';
import type {ControllerContext} from '#src/runtime/controller.js';
import type {Zones} from './disruption.js';
import {durations} from './durations.js';
import {HealthRecords, type CheckedNode} from './health-records.js';
import type {LifecycleOptions} from './options.js';
import type {NodePods} from './pods.js';
import {conditionOf, evicting, type NodeCondition} from './taints.js';
import {isExcluded, zoneOf} from './zones.js';

export interface MonitorParts {
  readonly context: ControllerContext<LifecycleOptions>;
  readonly nodes: Lister<Node>;
  readonly leases: Lister<Lease>;
  readonly pods: NodePods;
  readonly zones: Zones;
}

/** The Ready conditions of nodes, by zone. */
type ZoneConditions = Map<string, (NodeCondition | undefined)[]>;

/** How many nodes are checked concurrently. */
const concurrency = 8;
/** The delay before a node that cannot be evicted yet is retried. */
const evictionRetryMs = 50;

/** Processes all items, a few at a time, and yields to other work. */
const forEachConcurrently = async <T>(pieces: Yielder, items: readonly T[], act: (item: T) => Promise<void>): Promise<void> => {
  const rest = items.values();
  const worker = async () => {
    for (const item of rest) {
      const pause = pieces.pause();
      if (pause) await pause;
      await act(item);
    }
  };
  await Promise.all(Array.from({length: Math.min(concurrency, items.length)}, worker));
};

/**
 * Monitors the health of all nodes: taints those that are not ready, marks their pods, and evicts them at the rate of
 * their zone.
 */
export class HealthMonitor {
  readonly #parts: MonitorParts;
  readonly #records: HealthRecords;
  readonly #evict: ReturnType<typeof evicting>;
  readonly #timed: ReturnType<typeof durations>;
  readonly #pieces: Yielder;
  readonly #known = new Map<string, Frozen<Node>>();
  /** Nodes whose pods may have to be marked again. */
  readonly #toRetry = new Set<string>();

  constructor(parts: MonitorParts) {
    const {context, leases} = parts;
    this.#parts = parts;
    this.#records = new HealthRecords(context, leases);
    this.#evict = evicting(context.naming);
    this.#timed = durations(context);
    this.#pieces = new Yielder(context.clock);
  }

  /** Whether there are nodes to monitor, including deleted ones to report. */
  get hasNodes(): boolean {
    return this.#known.size > 0 || this.#parts.nodes.size > 0;
  }

  /** Returns the node's last Ready condition; undefined before the first check, and if it never reported one. */
  lastReady(node: string): NodeCondition | undefined {
    return this.#records.lastReady(node);
  }

  forget(node: string): void {
    this.#records.forget(node);
    this.#toRetry.delete(node);
  }

  /** Checks every node once. */
  monitorAll(): Promise<void> {
    const {nodes, zones} = this.#parts;
    return this.#timed.all(async () => {
      const all = nodes.list();
      await this.#classify(all);
      const conditions: ZoneConditions = new Map();
      await forEachConcurrently(this.#pieces, all, node => this.#monitorNode(node, conditions));
      const disruption = zones.updateStates(conditions);
      if (disruption === 'allDown') await forEachConcurrently(this.#pieces, nodes.list(), node => this.#markReachable(node));
      // After a total outage every node gets a full grace period.
      if (disruption === 'backAgain') this.#records.startGraceAnew();
    });
  }

  /** Evicts the nodes that are due. */
  evictDue(): Promise<void> {
    const {nodes, zones} = this.#parts;
    return zones.processQueues(async name => {
      const node = nodes.get(name);
      if (!node) return undefined;
      const ready = conditionOf(node, 'Ready');
      if (!ready) return evictionRetryMs;
      if (ready.status !== 'False' && ready.status !== 'Unknown') return undefined;
      const other = ready.status === 'False' ? this.#evict.Unknown : this.#evict.False;
      if (!(await this.#change(node, {add: [this.#evict[ready.status]], remove: [other]}))) return 0;
      zones.countEviction(this.#zoneOf(node));
      return undefined;
    });
  }

  #zoneOf(node: Frozen<Node>): string {
    return zoneOf(this.#parts.context.naming, node);
  }

  async #change(node: Frozen<Node>, desired: TaintChange): Promise<boolean> {
    const {context} = this.#parts;
    const {clock, log, signal} = context;
    try {
      await changeTaints({...context, pause: ms => sleep(clock, ms, signal)}, node, desired);
      return true;
    } catch (error) {
      if (!isNotFound(error) && !signal.aborted)
        log.error({node: node.metadata?.name, err: error}, 'the taints of a node could not be changed');
      return false;
    }
  }

  async #markReachable(node: Frozen<Node>): Promise<void> {
    const taints = Object.values(this.#evict);
    if (taints.some(taint => hasTaint(node, taint))) await this.#change(node, {remove: taints});
    this.#parts.zones.queue(this.#zoneOf(node))?.remove(node.metadata?.name ?? '');
  }

  /** Finds new and deleted nodes. */
  async #classify(all: readonly Frozen<Node>[]): Promise<void> {
    const {zones} = this.#parts;
    const seen = new Set<string>();
    for (const node of all) {
      const name = node.metadata?.name ?? '';
      seen.add(name);
      zones.addZone(this.#zoneOf(node));
      if (this.#known.has(name)) continue;
      const pause = this.#pieces.pause();
      if (pause) await pause;
      this.#known.set(name, node);
      this.#recordNodeEvent(node, 'RegisteredNode', `Registered Node ${name} in Controller`);
      await this.#markReachable(node);
    }
    for (const [name, node] of this.#known) {
      if (seen.has(name)) continue;
      this.#known.delete(name);
      this.#recordNodeEvent(node, 'RemovingNode', `Removing Node ${name} from Controller`);
    }
  }

  #recordNodeEvent(node: Frozen<Node>, reason: string, what: string): void {
    this.#parts.context.events.normal(node, reason, `Node ${node.metadata?.name} event: ${what}`);
  }

  async #monitorNode(cached: Frozen<Node>, conditions: ZoneConditions): Promise<void> {
    // A previous instance may have stopped before it updated the node's pods.
    if (!this.#records.has(cached.metadata?.name ?? '')) this.#toRetry.add(cached.metadata?.name ?? '');
    const checked = await this.#timed.one(() => this.#records.check(cached));
    if (!checked) return;
    const {node, current} = checked;
    if (!isExcluded(this.#parts.context.naming, node)) {
      const zone = this.#zoneOf(node);
      const ofZone = conditions.get(zone);
      if (ofZone) ofZone.push(current);
      else conditions.set(zone, [current]);
    }
    if (!current) return void this.#toRetry.delete(node.metadata?.name ?? '');
    await this.#processReadiness(node, current.status);
    await this.#processTransition(checked, current);
  }

  /** Taints a node that is not ready, or queues it for eviction. */
  async #processReadiness(node: Frozen<Node>, status: string): Promise<void> {
    if (status === 'True') return this.#markReachable(node);
    if (status !== 'False' && status !== 'Unknown') return;
    const evict = this.#evict;
    const [own, other] = status === 'False' ? [evict.False, evict.Unknown] : [evict.Unknown, evict.False];
    if (hasTaint(node, other)) return void (await this.#change(node, {add: [own], remove: [other]}));
    const queue = this.#parts.zones.queue(this.#zoneOf(node));
    const name = node.metadata?.name ?? '';
    if (!hasTaint(node, own) && !queue?.isWaiting(name)) queue?.remove(name); // The taint was removed by another client.
    queue?.add(name);
  }

  /** Marks the pods of a node that became not ready. */
  async #processTransition({node, observed}: CheckedNode, current: NodeCondition): Promise<void> {
    const name = node.metadata?.name ?? '';
    const becameNotReady = current.status !== 'True' && observed.status === 'True';
    if (becameNotReady) this.#parts.context.events.normal(node, 'NodeNotReady', `Node ${name} status is now: NodeNotReady`);
    if (becameNotReady || (this.#toRetry.has(name) && observed.status !== 'True')) await this.#markPodsNotReady(name);
    else this.#toRetry.delete(name);
  }

  async #markPodsNotReady(name: string): Promise<void> {
    const {context, pods} = this.#parts;
    try {
      await pods.markNotReady(pods.of(name));
      this.#toRetry.delete(name);
    } catch (error) {
      this.#toRetry.add(name);
      if (!context.signal.aborted) context.log.error({node: name, err: error}, 'the pods of a node could not be marked as not ready');
    }
  }
}
