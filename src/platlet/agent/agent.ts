// Composes the agent of a node. `startAgent` reads in the order of its stages, of which each uses the values of those
// before.

import {setMaxListeners} from 'node:events';
import {Undo} from '#src/base/undo.js';
import {cgroupV1Warning} from '#src/platlet/cgroups/hierarchy.js';
import type {FeatureContext} from '#src/platlet/feature/feature.js';
import {pluginRegistration} from '#src/platlet/plugin-watcher/feature.js';
import type {AgentPorts} from '#src/platlet/server/ports.js';
import type {PodDirectory} from '#src/platlet/worker/pod-directory.js';
import type {NodeStatsReader} from '#src/platlet/stats/node-stats.js';
import type {PodWorkers} from '#src/platlet/worker/pod-workers.js';
import {admissionOf, nodeFactsOf} from './admission.js';
import {answersOf} from './answers.js';
import {clusterOf, type Cluster} from './cluster.js';
import {features, startFeatures} from './features.js';
import {openHost, type AgentHost} from './host.js';
import {checkMachine} from '#src/platlet/machine-checks/machine-checks.js';
import {imageGarbageOf} from './image-garbage.js';
import {measurementsOf} from './measurements.js';
import {followNode, nodeOf, type NodeStage} from './node.js';
import {nodeStorage, type NodeStorage} from './node-storage.js';
import type {AgentParts} from './parts.js';
import {podDirectory} from './pod-directory.js';
import {podPortsOf, type MachinePorts} from './pod-ports.js';
import {podResizes} from './pod-resizes.js';
import {runPods, workersOf} from './pods.js';
import {openPorts} from './ports.js';
import type {ResourceManagers} from '#src/platlet/resource-managers/resource-managers.js';
import {warnOfSwap} from '#src/platlet/volumes/swap.js';
import {managerFeatures, resourceManagers, topologyOf} from './resource-managers.js';
import {staticPodSources} from './static-pods.js';

/** A running agent. Disposing of it stops the agent; its pods keep running. */
export interface RunningAgent extends AsyncDisposable {
  readonly ports: AgentPorts;
}

/** Starts an agent. Rejects with a one-line error if a requirement is not met. */
export const startAgent = async (given: AgentParts): Promise<RunningAgent> => {
  await using undo = new Undo();
  const machine = await topologyOf(given);
  const parts = {...given, settings: machine.settings};
  const signal = lifetimeOf(undo);
  const host = await openHost(parts, undo, signal);
  const cluster = clusterOf(parts, signal);
  await checkMachineOf(parts, host, cluster);
  const directory = podDirectory(parts, {api: cluster.api, files: staticPodSources(parts, signal)}, signal);
  const storage = nodeStorage(parts, host, cluster, signal);
  const managers = await resourceManagers(parts, machine, {cluster, directory}, signal);
  const node = await nodeOf(parts, {cluster, directory, storage, managers}, signal);
  const admission = admissionOf(parts, {node, working: directory.working, managers});
  const resizes = await podResizes(parts, {host, cluster, directory, node, admission}, signal);
  const ports = await podPortsOf(parts, {host, cluster, storage, node, directory, managers, resizes}, signal);
  const {workers, prober} = workersOf(parts, {
    directory,
    admission,
    ports,
    node: nodeFactsOf(parts, node),
    events: cluster.events,
    signal,
  });
  const stats = measurementsOf(parts, {host, cluster, directory, volumes: ports.volumes, cgroups: ports.cgroups}, signal);
  const answers = answersOf(parts, {host, directory, prober, stats});
  const open = await openPorts(parts, cluster, answers, undo, signal);
  await begin(parts, {cluster, host, storage, directory, node, managers, ports, workers, stats}, open.port, signal);
  const cleanup = undo.move();
  return {ports: open, [Symbol.asyncDispose]: () => cleanup[Symbol.asyncDispose]()};
};

/** Returns the signal that aborts when the agent stops. */
const lifetimeOf = (undo: Undo): AbortSignal => {
  const lifetime = new AbortController();
  setMaxListeners(0, lifetime.signal); // Each periodic task of the agent adds a listener.
  undo.defer(() => lifetime.abort());
  return lifetime.signal;
};

const checkMachineOf = async (parts: AgentParts, {hierarchy}: AgentHost, {events, node}: Cluster): Promise<void> => {
  const {settings, host, flags, gate, naming, identity, log} = parts;
  events.normal(node, 'Starting', `Starting ${naming.agent}.`);
  if (hierarchy.version === 1) events.warning(node, 'CgroupV1', cgroupV1Warning);
  warnOfSwap(identity.machine, events, node);
  await checkMachine({settings, host, root: flags.rootDir, naming, identity, gate, events, log});
};

/** The results of the earlier stages that the last one starts. */
interface Stages {
  readonly cluster: Cluster;
  readonly host: AgentHost;
  readonly storage: NodeStorage;
  readonly directory: PodDirectory;
  readonly node: NodeStage;
  readonly managers: ResourceManagers;
  readonly ports: MachinePorts;
  readonly workers: PodWorkers;
  readonly stats: NodeStatsReader;
}

/** The last stage: registers the node, starts its pods, then starts the features. */
const begin = async (
  parts: AgentParts,
  {cluster, host: {hierarchy, podHierarchy, kernelLog}, storage, directory, node: stage, managers, ports, workers, stats}: Stages,
  port: number,
  signal: AbortSignal,
): Promise<void> => {
  const {settings, clients, flags, gate, naming, host, runtime, clock, log, metrics} = parts;
  const {node, health, known, condition, lifecycle, ranges} = stage;
  const {events, api} = cluster;
  if (settings.podCIDR) await ranges.update([settings.podCIDR]);
  await health.start();
  await node.prepare();
  if (!clients.isStandalone) {
    cluster.informers.start();
    node.listensAt(port);
    storage.start();
    followNode(stage, settings.registerNode, clock, signal);
  }
  const containers = await runPods(parts, workers, {directory, ports, api, node: known, garbage: flags.garbage, events, signal});
  const context: FeatureContext = {
    settings,
    flags,
    gate,
    naming,
    host,
    kernelLog,
    runtime,
    node: cluster.node,
    condition,
    reportNode: () => void lifecycle.report().catch(clock.unhandled),
    pods: directory,
    workers,
    stats,
    reclaim: {images: imageGarbageOf(parts, {cluster, imageAccess: ports.imageAccess}, signal), containers},
    cgroups: hierarchy,
    podCgroups: podHierarchy,
    clock,
    log,
    events,
    metrics,
    signal,
  };
  const handlers = {CSIPlugin: storage.handler, DevicePlugin: managers.devices.registration, DRAPlugin: managers.claims.plugins};
  const plugins = pluginRegistration(parts, handlers);
  await startFeatures(context, [...features, ...managerFeatures(managers), plugins]);
};
