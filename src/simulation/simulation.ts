// Simulated nodes against a server: registers them, keeps them in sync with the pods that are bound to them, and looks them up for the network. All work runs on
// the given clock and through clients with the identity of each node.

import {indexing} from '#informers/lister.js';
import {setMaxListeners} from 'node:events';
import type {Change} from '#informers/change.js';
import {InformerFactory} from '#informers/factory.js';
import {keyOf, keyText, type Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import {sameJson} from '#src/api/equal.js';
import type {Node} from '#src/api/types.js';
import type {UsageReader} from '#src/api/node/usage.js';
import {wellKnown, type UserInfo} from '#src/api/user.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import type {Random} from '#src/base/random.js';
import type {Client} from '#src/client/client.js';
import {defaultLimiter} from '#src/queue/rate-limiter.js';
import {WorkQueue} from '#src/queue/work-queue.js';
import {work} from '#src/queue/workers.js';
import {reconcileHandler} from '#src/runtime/reconcile-handler.js';
import {ReconcileMetrics} from '#src/runtime/reconcile-metrics.js';
import type {Reconcile} from '#src/runtime/controller.js';
import {TokenBucket} from '#src/base/token-bucket.js';
import {Recorder} from '#src/runtime/events/events.js';
import {AddressPool} from './node/addresses.js';
import {agentInputsOf, isSwitchedOff, type Agent} from './node/agent.js';
import {emptyImages} from './node/images.js';
import {inProcess, machineOf, ranges, type Family, type Placement} from './node/machine.js';
import {emptyAllocation} from '#src/platlet/pod/admission/allocation.js';
import {createNodeReconciler} from './nodes.js';
import {createPodReconciler, type PodReconciler} from './pods.js';
import {noRules, type Rules} from './rules/rules.js';
import {deviceBinding} from './devices/binding.js';
import {createDeviceClasses, publishDevices} from './devices/slices.js';
import {nodeAgent, type SimulatedAgent} from './node-agent.js';
import {Timeline} from './time/timeline.js';
import {usageReader} from './usage.js';
import {announceOn} from './volumes/objects.js';
import {createDriver} from './volumes/driver.js';
import {podsByNode, podsByAddress, type SimulationContext} from '#src/simulation/node/context.js';

export interface SimulationOptions {
  /** The number of nodes. */
  readonly nodes: number;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly meter: Meter;
  readonly rules?: Rules;
  /** Whether there is a simulated CSI driver, with the default storage class. */
  readonly volumes?: boolean;
  /** The address families of nodes and pods, the primary one first. Default IPv4. */
  readonly families?: readonly Family[];
  /** Names and addresses of nodes and agents. Default within the process. */
  readonly placement?: Placement;
  /** The release that nodes report. */
  readonly version: string;
  /** The process's own client, which watches pods and nodes for all. */
  readonly client: Client;
  /** Returns a client with a node's identity. */
  clientAs(user: UserInfo): Client;
  /** The minimum watch timeout to request, where the informers' default is unsuitable. */
  readonly watchSeconds?: number;
  /** Whether cached objects are deeply frozen, for tests. */
  readonly freeze?: boolean;
}

/** How to reach a simulated node. */
export interface SimulatedNode {
  readonly name: string;
  readonly address: string;
  /** The port of its agent. */
  readonly port: number;
  /** Undefined while the node is switched off. */
  readonly agent: SimulatedAgent | undefined;
}

/** A running simulation of nodes. */
export interface Simulation {
  /** The resource usage of pods and nodes, from the rules. */
  readonly usage: UsageReader;
  /** Resolves once every node has reported its status, or cannot. */
  readonly reported: Promise<void>;
  /** Returns the node with a name or address. */
  nodeAt(host: string): SimulatedNode | undefined;
  /** Returns the pod of a simulated node with an address. */
  podAt(address: string): {readonly namespace: string; readonly pod: string; readonly node: SimulatedNode} | undefined;
  /** Stops all work; stored objects stay. */
  stop(): Promise<void>;
}

/** How many nodes and pods are synced concurrently. */
const nodeConcurrency = 16;
const podConcurrency = 32;

/**
 * How many normal events of all nodes are written a second, and at once. The agents of real nodes have such a limit each; here they share one server's thread, which
 * the five events of each pod of a large rollout would keep busy longer than the pods.
 */
const [eventsPerSecond, eventBurst] = [50, 500];

/** The limit of the files of all containers together. */
const maxFileBytes = 256 << 20;

interface AgentParts extends Pick<SimulationOptions, 'naming' | 'clock' | 'random' | 'log' | 'version' | 'clientAs'> {
  readonly rules: Rules;
  readonly placement: Placement;
  readonly signal: AbortSignal;
  /** The budget of normal events, shared by all nodes. */
  readonly eventBudget: TokenBucket;
}

/** Creates the agent of a node, which is not registered yet. */
const createAgent = (
  index: number,
  {naming, clock, random, log, rules, placement, version, clientAs, signal, eventBudget}: AgentParts,
): Agent => {
  const machine = machineOf(index, {rules: rules.nodes, placement, version});
  const {name} = machine;
  const own = clientAs({name: `${wellKnown.nodeUserPrefix}${name}`, groups: [wellKnown.nodes, wellKnown.authenticated]});
  const events = new Recorder({client: own, clock, random, log, component: naming.agent, host: name, signal, budget: eventBudget});
  return {
    machine,
    client: own,
    events,
    images: emptyImages(),
    allocation: emptyAllocation(),
    pools: new Map(),
    volumesInUse: new Map(),
    deferred: new Set(),
    registered: false,
    announceAt: Infinity,
    startedAt: clock.monotonic(),
    isPoweredOff: false,
    renewAt: 0,
    reportedAt: -Infinity,
  };
};

/** Creates the agents of all nodes, by name. */
const createAgents = (count: number, parts: Omit<AgentParts, 'eventBudget'>): Map<string, Agent> => {
  const eventBudget = new TokenBucket(parts.clock, eventsPerSecond, eventBurst);
  return new Map(Array.from({length: count}, (_, index) => [parts.placement.name(index), createAgent(index, {...parts, eventBudget})]));
};

/** Starts simulated nodes against a server; resolves once every one is registered. */
export const startSimulation = async (options: SimulationOptions): Promise<Simulation> => {
  const {clock, random, log, meter, naming, client, rules = noRules, families = [4], placement = inProcess(families)} = options;
  const lifetime = new AbortController();
  const {signal} = lifetime;
  setMaxListeners(0, signal); // Each node adds listeners.
  const informers = new InformerFactory({...options, component: 'simulation', minResyncMs: 0, signal});
  const pods = informers.informer<Pod>(kinds.pods);
  const nodes = informers.informer<Node>(kinds.nodes);
  const queueOf = (name: string) => new WorkQueue<string>({clock, meter, name, limiter: defaultLimiter(clock, {maxDelayMs: 30_000})});
  const [podQueue, nodeQueue] = [queueOf('simulated-pods'), queueOf('simulated-nodes')];

  const agents = createAgents(options.nodes, {...options, rules, placement, signal});

  const driver = options.volumes ? createDriver({...options, informers, nodes: nodes.lister, rules: rules.volumes, signal}) : undefined;
  const enqueuePod = (key: string) => {
    const record = podReconciler.recordOf(key);
    if (record) record.requests++;
    podQueue.add(key);
  };
  const context: SimulationContext = {
    naming,
    clock,
    timeline: new Timeline(clock),
    random,
    log,
    rules,
    client,
    agents,
    nodes: nodes.lister,
    pods: indexing(pods.lister, podsByNode, podsByAddress),
    sharedPools: families.map(family => new AddressPool(ranges[family].pods)),
    fileBudget: {left: maxFileBytes},
    enqueuePod,
  };
  const volumes = driver?.mounts(enqueuePod, name => nodeQueue.add(name));
  const binding = deviceBinding(context, informers, queueOf);
  const podReconciler = createPodReconciler(context, volumes);
  const [registered, reported] = [countdown(agents.keys()), countdown(agents.keys())];
  const nodeReconcile = createNodeReconciler(context, {
    async announce(agent: Agent, node: Frozen<Node>) {
      if (driver) await announceOn(agent.client, naming, agent.machine, node);
      return rules.devices.length > 0 ? publishDevices(agent, naming, rules.devices, node, clock) : Infinity;
    },
    registered: name => registered.complete(name),
    reported: name => reported.complete(name),
    refused: error => registered.fail(new Error(`a simulated node cannot be registered: ${error.message}`, {cause: error})),
  });

  const onPodChange = ({object}: Change<Pod>) => {
    if (agents.has(object.spec?.nodeName ?? '')) podQueue.add(keyText(keyOf(object)));
  };
  const onNodeChange = (change: Change<Node>) => {
    const {object} = change;
    const name = object.metadata?.name ?? '';
    volumes?.onNode(name);
    if (agents.has(name) && (change.type !== 'updated' || !sameJson(agentInputsOf(change.old), agentInputsOf(object)))) nodeQueue.add(name);
  };

  informers.start();
  await informers.whenSynced();
  for (const pod of pods.lister.list()) podReconciler.restore(pod);
  const listeners = [pods.listen(onPodChange), nodes.listen(onNodeChange)];
  const run = runner(options, signal);
  if (rules.devices.length > 0) await createDeviceClasses(client, rules.devices);
  for (const name of agents.keys()) nodeQueue.add(name);
  const endDriver = await driver?.start(run);
  const workers = [run(nodeQueue, nodeConcurrency, nodeReconcile)];
  const endBinding = binding?.(run);
  const stop = async () => {
    for (const listener of listeners) listener[Symbol.dispose]();
    for (const queue of [podQueue, nodeQueue]) queue.shutDown();
    await Promise.all([...workers.map(each => each.stop()), endDriver?.(), endBinding?.()]);
    lifetime.abort();
  };
  try {
    await registered.done;
  } catch (error) {
    await stop();
    throw error;
  }
  workers.push(run(podQueue, podConcurrency, podReconciler.reconcile));
  return {usage: usageReader(context, podReconciler), reported: reported.done, ...lookups(context, podReconciler), stop};
};

/** Returns what starts the workers of a queue. */
const runner =
  ({clock, log, meter}: Pick<SimulationOptions, 'clock' | 'log' | 'meter'>, signal: AbortSignal) =>
  (queue: WorkQueue, concurrency: number, reconcile: Reconcile) => {
    const metrics = new ReconcileMetrics(meter, queue.name, concurrency);
    return work(queue, concurrency, reconcileHandler({queue, reconcile, clock, log, metrics, signal}), (error, key) =>
      log.error({key, err: error}, 'a simulated node failed'),
    );
  };

/** Waits for a set of names: `done` resolves when all are complete. */
const countdown = (names: Iterable<string>): {readonly done: Promise<void>; complete(name: string): void; fail(error: unknown): void} => {
  const left = new Set(names);
  let resolve = () => {};
  let reject: (error: unknown) => void = () => {};
  const done = new Promise<void>((all, failed) => {
    resolve = all;
    reject = failed;
  });
  if (left.size === 0) resolve();
  return {
    done,
    complete(name) {
      if (left.delete(name) && left.size === 0) resolve();
    },
    fail: reject,
  };
};

/** Looks up nodes by name and address, and pods by address. */
const lookups = (context: SimulationContext, podReconciler: PodReconciler): Pick<Simulation, 'nodeAt' | 'podAt'> => {
  const byHost = new Map(
    [...context.agents.values()].flatMap(({machine: {name, addresses}}) => [name, ...addresses].map(host => [host, name] as const)),
  );
  const agents = new Map<string, SimulatedAgent>();
  const agentFor = (name: string): SimulatedAgent => {
    let known = agents.get(name);
    if (!known) agents.set(name, (known = nodeAgent(context, podReconciler, name)));
    return known;
  };
  const nodeAt: Simulation['nodeAt'] = host => {
    const agent = context.agents.get(byHost.get(host) ?? '');
    if (!agent) return undefined;
    const {
      name,
      addresses: [address = ''],
      port,
    } = agent.machine;
    const isReachable = agent.registered && !isSwitchedOff(context.naming, agent, context.nodes.get(name), context.clock.monotonic());
    return {name, address, port, agent: isReachable ? agentFor(name) : undefined};
  };
  return {
    nodeAt,
    podAt(address) {
      for (const {metadata: {namespace = '', name: pod = ''} = {}, spec} of context.pods.by(podsByAddress, address)) {
        const node = nodeAt(spec?.nodeName ?? '');
        if (node && podReconciler.recordOf(`${namespace}/${pod}`)?.addresses.includes(address)) return {namespace, pod, node};
      }
      return undefined;
    },
  };
};
