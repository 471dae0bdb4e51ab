import {setMaxListeners} from 'node:events';
import type {Change} from '#informers/change.js';
import {InformerFactory} from '#informers/factory.js';
import type {NodeAgent} from '#src/api/agent.js';
import {keyOf, keyText} from '#src/api/key.js';
import {kinds} from '#src/api/kinds.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod} from '#src/api/pod.js';
import {sameJson} from '#src/api/equal.js';
import type {Node} from '#src/api/types.js';
import type {UsageReader} from '#src/api/usage.js';
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
import type {Reconcile} from '#src/runtime/controller.js';
import {Recorder} from '#src/runtime/events.js';
import {AddressPool} from './node/addresses.js';
import {agentInputsOf, isSwitchedOff, type Agent} from './node/agent.js';
import {emptyImages} from './node/images.js';
import {inProcess, machineOf, ranges, type Family, type Placement} from './node/machine.js';
import {emptyAllocation} from './node/allocation.js';
import {createNodeReconciler} from './nodes.js';
import {createPodReconciler, type PodReconciler} from './pods.js';
import {noRules, type Rules} from './rules/rules.js';
import {nodeAgent} from './streams/node-agent.js';
import {usageReader} from './usage.js';
import {podsByAddress, type SimulationContext} from './context.js';

export interface SimulationOptions {
  /** How many nodes there are. */
  readonly nodes: number;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly meter: Meter;
  readonly rules?: Rules;
  /** The families of addresses that nodes and pods have, the first counting most; IPv4 alone unless given. */
  readonly families?: readonly Family[];
  /** How nodes are called and where their agents answer; within the process unless given. */
  readonly placement?: Placement;
  /** The release the nodes report. */
  readonly version: string;
  /** The process's own client: it follows pods and nodes for all. */
  readonly client: Client;
  /** A client that acts as a node. */
  clientAs(user: UserInfo): Client;
  /** The least time the server is asked to keep a watch, where the informers' own will not do. */
  readonly watchSeconds?: number;
  /** Whether cached objects are deeply frozen, for tests. */
  readonly freeze?: boolean;
}

/** How a simulated node is reached. */
export interface SimulatedNode {
  readonly name: string;
  readonly address: string;
  /** The port of its agent. */
  readonly port: number;
  /** Absent while the node is switched off. */
  readonly agent: NodeAgent | undefined;
}

/** Simulated nodes at work. */
export interface Simulation {
  /** What pods and nodes use, as the rules say. */
  readonly usage: UsageReader;
  /** Resolves once every node has told its status, or has nothing to tell. */
  readonly reported: Promise<void>;
  /** The node that has a name or an address. */
  nodeAt(host: string): SimulatedNode | undefined;
  /** The pod of a simulated node that has an address. */
  podAt(address: string): {readonly namespace: string; readonly pod: string; readonly node: SimulatedNode} | undefined;
  /** Ends all work; what is written stays. */
  stop(): Promise<void>;
}

/** How many nodes and how many pods are worked on at once. */
const nodeConcurrency = 16;
const podConcurrency = 32;

/** What the files of all containers together may hold. */
const maxFileBytes = 256 << 20;

/** Runs simulated nodes against a server; resolves once every one is registered. */
export const startSimulation = async (options: SimulationOptions): Promise<Simulation> => {
  const {clock, random, log, meter, naming, client, rules = noRules, families = [4], placement = inProcess(families)} = options;
  const lifetime = new AbortController();
  const {signal} = lifetime;
  setMaxListeners(0, signal); // As many listen as there are nodes.
  const informers = new InformerFactory({...options, component: 'simulation', minResyncMs: 0, signal});
  const pods = informers.informer<Pod>(kinds.pods);
  const nodes = informers.informer<Node>(kinds.nodes);
  const queueOf = (name: string) => new WorkQueue<string>({clock, meter, name, limiter: defaultLimiter(clock, {maxDelayMs: 30_000})});
  const [podQueue, nodeQueue] = [queueOf('simulated-pods'), queueOf('simulated-nodes')];

  const agentOf = (index: number): Agent => {
    const machine = machineOf(index, {rules: rules.nodes, placement, version: options.version});
    const {name} = machine;
    const own = options.clientAs({name: `${wellKnown.nodeUserPrefix}${name}`, groups: [wellKnown.nodes, wellKnown.authenticated]});
    const events = new Recorder({client: own, clock, random, log, component: naming.agent, host: name, signal});
    return {machine, client: own, events, images: emptyImages(), allocation: emptyAllocation(), pools: new Map(), deferred: new Set(), registered: false, startedAt: clock.monotonic(), isPoweredOff: false, renewAt: 0, reportedAt: -Infinity};
  };
  const agents = new Map(Array.from({length: options.nodes}, (_, index) => [placement.name(index), agentOf(index)]));

  const context: SimulationContext = {
    naming, clock, random, log, rules, client, agents,
    nodes: nodes.lister,
    pods: pods.lister,
    sharedPools: families.map(family => new AddressPool(ranges[family].pods)),
    fileBudget: {left: maxFileBytes},
    enqueuePod: key => podQueue.add(key),
  };
  const podReconciler = createPodReconciler(context);
  const [registered, reported] = [countdown(agents.keys()), countdown(agents.keys())];
  const nodeReconcile = createNodeReconciler(context, {
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
    if (agents.has(name) && (change.type !== 'updated' || !sameJson(agentInputsOf(change.old), agentInputsOf(object)))) nodeQueue.add(name);
  };

  informers.start();
  await informers.whenSynced();
  for (const pod of pods.lister.list()) podReconciler.restore(pod);
  const listeners = [pods.listen(onPodChange), nodes.listen(onNodeChange)];
  const run = (queue: WorkQueue, hands: number, reconcile: Reconcile) =>
    work(queue, hands, reconcileHandler({controller: queue.name, queue, reconcile, clock, log, meter, signal}), (error, key) => log.error({key, err: error}, 'a simulated node failed'));
  for (const name of agents.keys()) nodeQueue.add(name);
  const hands = [run(nodeQueue, nodeConcurrency, nodeReconcile)];
  const stop = async () => {
    for (const listener of listeners) listener[Symbol.dispose]();
    for (const queue of [podQueue, nodeQueue]) queue.shutDown();
    await Promise.all(hands.map(hand => hand.stop()));
    lifetime.abort();
  };
  try {
    await registered.done;
  } catch (error) {
    await stop();
    throw error;
  }
  hands.push(run(podQueue, podConcurrency, podReconciler.reconcile));
  return {usage: usageReader(context, podReconciler), reported: reported.done, ...lookups(context, podReconciler), stop};
};

/** Names to complete off: `done` resolves with the last of them. */
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

/** Finds nodes by their names and addresses, and pods by theirs. */
const lookups = (context: SimulationContext, podReconciler: PodReconciler): Pick<Simulation, 'nodeAt' | 'podAt'> => {
  const byHost = new Map([...context.agents.values()].flatMap(({machine: {name, addresses}}) => [name, ...addresses].map(host => [host, name] as const)));
  const agents = new Map<string, NodeAgent>();
  const agentFor = (name: string): NodeAgent => {
    let known = agents.get(name);
    if (!known) agents.set(name, (known = nodeAgent(context, podReconciler, name)));
    return known;
  };
  const nodeAt: Simulation['nodeAt'] = host => {
    const agent = context.agents.get(byHost.get(host) ?? '');
    if (!agent) return undefined;
    const {name, addresses: [address = ''], port} = agent.machine;
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
