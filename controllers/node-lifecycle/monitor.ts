import type {Lister} from '#informers/lister.js';
import {copyOf, type Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds.js';
import {isConflict, isNotFound} from '#src/api/status.js';
import type {Lease, Node} from '#src/api/types.js';
import {held, sleep} from '#src/base/clock.js';
import {exponentialBuckets} from '#src/base/meter.js';
import {Pieces} from '#src/base/turn.js';
import type {ControllerContext} from '#src/runtime/controller.js';
import type {Zones} from './disruption.js';
import {observe, healthAfterWrite, type Health, type Observation} from './health.js';
import {graceOf, type LifecycleOptions} from './options.js';
import type {NodePods} from './pods.js';
import {changeTaints, conditionOf, evicting, hasTaint, type NodeCondition, type TaintChange} from './taints.js';
import {isExcluded, zoneOf} from './zones.js';

export interface MonitorParts {
  readonly context: ControllerContext<LifecycleOptions>;
  readonly nodes: Lister<Node>;
  readonly leases: Lister<Lease>;
  readonly pods: NodePods;
  readonly zones: Zones;
}

/** Monitors the health of all nodes. */
export interface Monitor {
  /** Checks every node once. */
  monitorAll(): Promise<void>;
  /** Evicts the nodes that are due. */
  evictDue(): Promise<void>;
  /** Returns the node's last Ready condition; undefined before the first check, and if it never reported one. */
  lastReady(node: string): NodeCondition | undefined;
  forget(node: string): void;
  /** Whether there are nodes to monitor, including deleted ones to report. */
  readonly hasNodes: boolean;
}

/** How many nodes are checked concurrently. */
const concurrency = 8;
const maxHealthAttempts = 5;
const healthRetryMs = 20;
/** The delay before a node that cannot be evicted yet is retried. */
const evictionRetryMs = 50;

/** Processes all items, a few at a time, and yields to other work. */
const forEachConcurrently = async <T>(pieces: Pieces, items: readonly T[], act: (item: T) => Promise<void>): Promise<void> => {
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

const durations = ({meter, clock}: ControllerContext<LifecycleOptions>) => {
  const one = meter.histogram({
    name: 'node_collector_update_node_health_duration_seconds',
    help: 'Duration in seconds for NodeController to update the health of a single node.',
    buckets: exponentialBuckets(0.001, 4, 8),
  });
  const all = meter.histogram({
    name: 'node_collector_update_all_nodes_health_duration_seconds',
    help: 'Duration in seconds for NodeController to update the health of all nodes.',
    buckets: exponentialBuckets(0.01, 4, 8),
  });
  const timed = async <T>(histogram: typeof one, act: () => Promise<T>): Promise<T> => {
    const began = clock.monotonic();
    try {
      return await act();
    } finally {
      histogram.observe((clock.monotonic() - began) / 1000);
    }
  };
  return {one: <T>(act: () => Promise<T>) => timed(one, act), all: <T>(act: () => Promise<T>) => timed(all, act)};
};

export const monitor = ({context, nodes, leases, pods, zones}: MonitorParts): Monitor => {
  const {client, clock, events, log, naming, options, signal} = context;
  const grace = graceOf(options);
  const evict = evicting(naming);
  const known = new Map<string, Frozen<Node>>();
  const healths = new Map<string, Health>();
  const toRetry = new Set<string>();
  const timed = durations(context);
  const pieces = new Pieces(clock);

  const change = async (node: Frozen<Node>, wanted: TaintChange): Promise<boolean> => {
    try {
      await changeTaints({...context, pause: ms => sleep(clock, ms, signal)}, node, wanted);
      return true;
    } catch (error) {
      if (!isNotFound(error) && !signal.aborted) log.error({node: node.metadata?.name, err: error}, 'the taints of a node could not be changed');
      return false;
    }
  };

  const markReachable = async (node: Frozen<Node>): Promise<void> => {
    if (Object.values(evict).some(taint => hasTaint(node, taint))) await change(node, {remove: Object.values(evict)});
    zones.queue(zoneOf(naming, node))?.remove(node.metadata?.name ?? '');
  };

  const recordNodeEvent = (node: Frozen<Node>, reason: string, what: string): void => events.normal(node, reason, `Node ${node.metadata?.name} event: ${what}`);

  const classify = async (all: readonly Frozen<Node>[]): Promise<void> => {
    const seen = new Set<string>();
    for (const node of all) {
      const name = node.metadata?.name ?? '';
      seen.add(name);
      zones.addZone(zoneOf(naming, node));
      if (known.has(name)) continue;
      const pause = pieces.pause();
      if (pause) await pause;
      known.set(name, node);
      recordNodeEvent(node, 'RegisteredNode', `Registered Node ${name} in Controller`);
      await markReachable(node);
    }
    for (const [name, node] of known) {
      if (seen.has(name)) continue;
      known.delete(name);
      recordNodeEvent(node, 'RemovingNode', `Removing Node ${name} from Controller`);
    }
  };

  /** Checks a node, and writes the conditions that follow. */
  const updateHealth = async (node: Frozen<Node>): Promise<Observation & {readonly node: Frozen<Node>}> => {
    const name = node.metadata?.name ?? '';
    const observation = observe({naming, grace, now: clock.now()}, node, leases.get({namespace: naming.nodeLeaseNamespace, name}), healths.get(name));
    healths.set(name, observation.health);
    if (!observation.conditions) return {...observation, node};
    const next = copyOf<Node>(node);
    const updated = await held(clock, () => client.resource(kinds.nodes).update({...next, status: {...next.status, conditions: [...observation.conditions!] as never}}, {subresource: 'status', signal}));
    healths.set(name, healthAfterWrite(observation, clock.now()));
    return {...observation, node: updated};
  };

  /** Checks a node with retries; undefined if its conditions could not be written. */
  const updateHealthWithRetries = async (cached: Frozen<Node>): Promise<(Observation & {readonly node: Frozen<Node>}) | undefined> => {
    for (let node = cached, attempt = 1; ; attempt++) {
      try {
        return await updateHealth(node);
      } catch (error) {
        if (isNotFound(error) || signal.aborted) return undefined;
        if (attempt >= maxHealthAttempts || !isConflict(error)) log.error({node: node.metadata?.name, err: error}, 'the health of a node could not be updated');
        if (attempt >= maxHealthAttempts) return undefined;
      }
      try {
        await sleep(clock, healthRetryMs, signal);
        node = await held(clock, () => client.resource(kinds.nodes).get(cached.metadata?.name ?? '', {signal}));
      } catch (error) {
        if (!isNotFound(error) && !signal.aborted) log.error({node: cached.metadata?.name, err: error}, 'a node could not be read');
        return undefined;
      }
    }
  };

  const processReadiness = async (node: Frozen<Node>, status: string): Promise<void> => {
    if (status === 'True') return markReachable(node);
    if (status !== 'False' && status !== 'Unknown') return;
    const [own, other] = status === 'False' ? [evict.False, evict.Unknown] : [evict.Unknown, evict.False];
    if (hasTaint(node, other)) return void (await change(node, {add: [own], remove: [other]}));
    const queue = zones.queue(zoneOf(naming, node));
    const name = node.metadata?.name ?? '';
    if (!hasTaint(node, own) && !queue?.isWaiting(name)) queue?.remove(name); // The taint was removed by another client.
    queue?.add(name);
  };

  const markPodsNotReady = async (node: Frozen<Node>): Promise<void> => {
    const name = node.metadata?.name ?? '';
    try {
      await pods.markNotReady(pods.of(name));
      toRetry.delete(name);
    } catch (error) {
      toRetry.add(name);
      if (!signal.aborted) log.error({node: name, err: error}, 'the pods of a node could not be marked as not ready');
    }
  };

  const monitorNode = async (cached: Frozen<Node>, conditions: Map<string, (NodeCondition | undefined)[]>): Promise<void> => {
    // A previous instance may have stopped before it updated the node's pods.
    if (!healths.has(cached.metadata?.name ?? '')) toRetry.add(cached.metadata?.name ?? '');
    const observation = await timed.one(() => updateHealthWithRetries(cached));
    if (!observation) return;
    const {node, observed, current} = observation;
    const name = node.metadata?.name ?? '';
    const zone = zoneOf(naming, node);
    if (!isExcluded(naming, node)) {
      const ofZone = conditions.get(zone);
      if (ofZone) ofZone.push(current);
      else conditions.set(zone, [current]);
    }
    if (!current) return void toRetry.delete(name);
    await processReadiness(node, current.status);
    const becameNotReady = current.status !== 'True' && observed.status === 'True';
    if (becameNotReady) events.normal(node, 'NodeNotReady', `Node ${name} status is now: NodeNotReady`);
    if (becameNotReady || (toRetry.has(name) && observed.status !== 'True')) await markPodsNotReady(node);
    else toRetry.delete(name);
  };

  return {
    lastReady: node => healths.get(node)?.ready,
    get hasNodes() {
      return known.size > 0 || nodes.size > 0;
    },
    forget(node) {
      healths.delete(node);
      toRetry.delete(node);
    },
    monitorAll: () =>
      timed.all(async () => {
        const all = nodes.list();
        await classify(all);
        const conditions = new Map<string, (NodeCondition | undefined)[]>();
        await forEachConcurrently(pieces, all, node => monitorNode(node, conditions));
        const disruption = zones.updateStates(conditions);
        if (disruption === 'allDown') await forEachConcurrently(pieces, nodes.list(), markReachable);
        // After a total outage every node gets a full grace period.
        const now = clock.now();
        if (disruption === 'backAgain') for (const [name, health] of healths) healths.set(name, {...health, probedAt: now, transitionedAt: now});
      }),
    evictDue: () =>
      zones.processQueues(async name => {
        const node = nodes.get(name);
        if (!node) return undefined;
        const ready = conditionOf(node, 'Ready');
        if (!ready) return evictionRetryMs;
        if (ready.status !== 'False' && ready.status !== 'Unknown') return undefined;
        const other = ready.status === 'False' ? evict.Unknown : evict.False;
        if (!(await change(node, {add: [evict[ready.status]], remove: [other]}))) return 0;
        zones.countEviction(zoneOf(naming, node));
        return undefined;
      }),
  };
};
