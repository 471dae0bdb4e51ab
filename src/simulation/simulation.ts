// Simulated nodes against a server: registers them, keeps them in sync with the pods that are bound to them, and looks
// them up for the network. All work runs on the given clock and through clients with the identity of each node.
// `startSimulation` reads in the order of its stages, of which each uses the values of those before.

import {setMaxListeners} from 'node:events';
import type {Change} from '#informers/change.js';
import {indexing} from '#informers/lister.js';
import {kinds} from '#src/api/kinds/index.js';
import {keyOf, keyText, type Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {sameJson} from '#src/api/equal.js';
import type {Node} from '#src/api/types.js';
import type {UsageReader} from '#src/api/node/usage.js';
import {Undo} from '#src/base/undo.js';
import {unlessMissing} from '#src/client/missing.js';
import type {Reconcile} from '#src/runtime/controller.js';
import {clusterOf, podEnqueuer, type SimulatedCluster} from './cluster.js';
import {countdown, Countdowns, type Countdown} from './countdown.js';
import {deviceBinding} from './devices/binding.js';
import {healthLook} from './device-health.js';
import {createDeviceClasses, publishDevices} from './devices/slices.js';
import {pressureLook} from './eviction.js';
import {shutdownLook} from './shutdown.js';
import {lookups, type Lookups} from './lookups.js';
import {AddressPool} from './node/addresses.js';
import {renewMs} from './node/heartbeat.js';
import {agentInputsOf, type Agent} from './node/agent.js';
import {podsByAddress, podsByNode, type SimulationContext} from './node/context.js';
import {agentCreator} from './node/create-agents.js';
import {Fleet} from './node/fleet.js';
import {inProcess, machineOf, ranges} from './node/machine.js';
import {createNodeReconciler} from './nodes.js';
import type {SimulationOptions} from './options.js';
import {createPodReconciler, type PodReconciler} from './pods.js';
import {noRules} from './rules/rules.js';
import {Timeline} from './time/timeline.js';
import {usageReader} from './usage.js';
import {createDriver, type VolumeDriver} from './volumes/driver.js';
import type {NodeVolumes} from './volumes/mounts.js';
import {announceDriver} from './volumes/objects.js';

/** A running simulation of nodes. */
export interface Simulation extends Lookups {
  /** The resource usage of pods and nodes, from the rules. */
  readonly usage: UsageReader;
  /** Resolves once every node has reported its status, or cannot do so. */
  readonly reported: Promise<void>;
  /**
   * Changes the number of nodes; resolves once new ones are registered. Of those that are too many, the last, the Node
   * is deleted, and with it what belongs to it: their pods are orphaned.
   */
  scale(nodes: number): Promise<void>;
  /** Stops all work; objects in the API server remain. */
  stop(): Promise<void>;
}

/** The number of nodes and pods synced concurrently. */
const nodeConcurrency = 16;
const podConcurrency = 32;

/** The size limit of all containers' files together. */
const maxFileBytes = 256 << 20;

/** Starts simulated nodes against a server; resolves once every one is registered. */
export const startSimulation = async (options: SimulationOptions): Promise<Simulation> => {
  await using undo = new Undo();
  const lifetime = new AbortController();
  const {signal} = lifetime;
  setMaxListeners(0, signal); // Each node adds listeners.
  undo.defer(() => lifetime.abort());
  const cluster = clusterOf(options, signal);
  const fleet = fleetOf(options, signal);
  const context = contextOf(options, cluster, fleet.agents);
  const volumes = volumesOf(options, cluster, context, signal);
  const binding = deviceBinding(context, cluster.informers, cluster.queueOf);
  const pods = createPodReconciler(context, cluster.records, volumes?.mounts);
  const progress = progressOf(context);
  const nodes = nodeReconciler(context, {driver: volumes?.driver, pods}, progress);
  const work = await begin({cluster, context, volumes, binding, pods, nodes});
  undo.defer(() => work.stop());
  await progress.registered.done;
  work.runPods();
  const cleanup = undo.move();
  return {
    usage: usageReader(context, pods),
    reported: progress.reported.done,
    scale: count => scale(count, {fleet, cluster, context, progress}),
    ...lookups(context, pods),
    stop: () => cleanup[Symbol.asyncDispose](),
  };
};

/** The nodes and their agents. */
const fleetOf = (options: SimulationOptions, signal: AbortSignal): Fleet => {
  const {naming, clock, random, log, version, clientAs, nodes, rules = noRules, families = [4], placement = inProcess(families)} = options;
  const create = agentCreator({naming, clock, random, log, signal, rules, clientAs});
  return new Fleet(nodes, (index, isSuccessor) => create(machineOf(index, {rules: rules.nodes, placement, version}), isSuccessor));
};

interface ScaleParts {
  readonly fleet: Fleet;
  readonly cluster: SimulatedCluster;
  readonly context: SimulationContext;
  readonly progress: Progress;
}

const scale = async (count: number, {fleet, cluster, context, progress}: ScaleParts): Promise<void> => {
  const added = fleet.grow(count);
  const registered = progress.later.expect(added);
  for (const name of added) cluster.nodeQueue.add(name);
  for (const name of fleet.shrink(count)) {
    for (const pod of context.pods.by(podsByNode, name)) context.enqueuePod(keyText(keyOf(pod))); // Nobody runs them now.
    await unlessMissing(context.client.resource(kinds.nodes).delete(name));
  }
  await registered;
};

/** The second stage: the state shared by all parts of the simulation. */
const contextOf = (options: SimulationOptions, cluster: SimulatedCluster, agents: SimulationContext['agents']): SimulationContext => {
  const {naming, clock, random, log, client, rules = noRules, families = [4], renewMs: period = renewMs} = options;
  return {
    naming,
    renewMs: period,
    clock,
    timeline: new Timeline(clock),
    random,
    log,
    rules,
    client,
    agents,
    nodes: cluster.nodes.lister,
    pods: indexing(cluster.pods.lister, podsByNode, podsByAddress),
    sharedPools: families.map(family => new AddressPool(ranges[family].pods)),
    fileBudget: {left: maxFileBytes},
    enqueuePod: podEnqueuer(cluster),
  };
};

/** The simulated volume driver and its part on the nodes. */
interface SimulatedVolumes {
  readonly driver: VolumeDriver;
  readonly mounts: NodeVolumes;
}

/** The third stage: the volumes, if they are simulated. */
const volumesOf = (
  {volumes, meter}: SimulationOptions,
  {informers, nodeQueue}: SimulatedCluster,
  {naming, clock, random, log, client, nodes, rules, enqueuePod}: SimulationContext,
  signal: AbortSignal,
): SimulatedVolumes | undefined => {
  if (!volumes) return undefined;
  const driver = createDriver({naming, clock, random, log, meter, client, informers, nodes, rules: rules.volumes, signal});
  return {driver, mounts: driver.mounts(enqueuePod, name => nodeQueue.add(name))};
};

/** Progress of registration and of the first status reports. */
interface Progress {
  readonly registered: Countdown;
  readonly reported: Countdown;
  /** The registration of nodes that are added later. */
  readonly later: Countdowns;
}

const progressOf = ({agents}: SimulationContext): Progress => ({
  registered: countdown(agents.keys()),
  reported: countdown(agents.keys()),
  later: new Countdowns(),
});

/** The fifth stage, after that of pods: the reconciler of nodes, and the progress of their start. */
const nodeReconciler = (
  context: SimulationContext,
  {driver, pods}: {readonly driver: VolumeDriver | undefined; readonly pods: PodReconciler},
  {registered, reported, later}: Progress,
): Reconcile => {
  const {naming, rules, clock} = context;
  const looks = [pressureLook(context, pods), shutdownLook(context, pods), healthLook(context, pods)];
  return createNodeReconciler(context, {
    async announce(agent: Agent, node: Frozen<Node>) {
      if (driver) await announceDriver(agent.client, naming, agent.machine, node);
      return rules.devices.length > 0 ? publishDevices(agent, naming, rules.devices, node, clock) : Infinity;
    },
    look: (agent, node) => Math.min(...looks.map(look => look(agent, node))),
    registered(name) {
      registered.complete(name);
      later.complete(name);
    },
    reported: name => reported.complete(name),
    refused(error) {
      const failure = new Error(`a simulated node cannot be registered: ${error.message}`, {cause: error});
      registered.fail(failure);
      later.fail(failure);
    },
  });
};

/** The results of the earlier stages that the last one starts. */
interface Stages {
  readonly cluster: SimulatedCluster;
  readonly context: SimulationContext;
  readonly volumes: SimulatedVolumes | undefined;
  readonly binding: ReturnType<typeof deviceBinding>;
  readonly pods: PodReconciler;
  readonly nodes: Reconcile;
}

/** The running parts of a simulation. */
interface Work {
  /** Starts syncing pods, once all nodes are registered. */
  runPods(): void;
  stop(): Promise<void>;
}

/** The last stage: starts the informers, restores running pods, and starts syncing nodes. */
const begin = async ({cluster, context, volumes, binding, pods, nodes}: Stages): Promise<Work> => {
  const {informers, podQueue, nodeQueue, run} = cluster;
  const {agents, rules, client} = context;
  informers.start();
  await informers.whenSynced();
  for (const pod of cluster.pods.lister.list()) pods.restore(pod);
  const listeners = [cluster.pods.listen(onPodChange(cluster, context)), cluster.nodes.listen(onNodeChange(cluster, context, volumes))];
  if (rules.devices.length > 0) await createDeviceClasses(client, rules.devices);
  for (const name of agents.keys()) nodeQueue.add(name);
  const endDriver = await volumes?.driver.start(run);
  const workers = [run(nodeQueue, nodeConcurrency, nodes)];
  const endBinding = binding?.(run);
  return {
    runPods: () => void workers.push(run(podQueue, podConcurrency, pods.reconcile)),
    async stop() {
      for (const listener of listeners) listener[Symbol.dispose]();
      for (const queue of [podQueue, nodeQueue]) queue.shutDown();
      await Promise.all([...workers.map(each => each.stop()), endDriver?.(), endBinding?.()]);
    },
  };
};

const onPodChange =
  ({podQueue}: SimulatedCluster, {agents}: SimulationContext) =>
  ({object}: Change<Pod>): void => {
    if (agents.has(object.spec?.nodeName ?? '')) podQueue.add(keyText(keyOf(object)));
  };

const onNodeChange =
  ({nodeQueue}: SimulatedCluster, {agents}: SimulationContext, volumes: SimulatedVolumes | undefined) =>
  (change: Change<Node>): void => {
    const {object} = change;
    const name = object.metadata?.name ?? '';
    volumes?.mounts.onNode(name);
    if (agents.has(name) && (change.type !== 'updated' || !sameJson(agentInputsOf(change.old), agentInputsOf(object)))) nodeQueue.add(name);
  };
