// The agent of a node: composes its parts and starts them in order.

import {setMaxListeners} from 'node:events';
import {join} from 'node:path';
import type {SecureContextOptions} from 'node:tls';
import {InformerFactory} from '#informers/factory.js';
import type {SharedInformer} from '#informers/shared.js';
import type {NodeAgent} from '#src/api/node/agent.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {parseQuantity, quantityNumber} from '#src/api/quantity.js';
import type {Node} from '#src/api/types.js';
import {openBlocks} from '#src/base/files/block-reader.js';
import {messageOf} from '#src/base/message.js';
import {firstOf} from '#src/base/signals.js';
import {Undo} from '#src/base/undo.js';
import {cgroupHierarchy, type CgroupHierarchy} from '#src/platlet/cgroups/hierarchy.js';
import {openServingCertificate, type ServingCertificate} from '#src/platlet/certificates/serving.js';
import type {Settings} from '#src/platlet/config/fields.js';
import {writtenSettings} from '#src/platlet/config/settings.js';
import {NodeFolders} from '#src/platlet/host/folders.js';
import {shareFolder} from '#src/platlet/host/shared-folder.js';
import type {Host} from '#src/platlet/host/host.js';
import {ImageGarbage} from '#src/platlet/image-garbage/garbage.js';
import type {ImageAccess} from '#src/platlet/images/image-access.js';
import {LogRotation} from '#src/platlet/log-rotation/rotation.js';
import {checkMachine} from './machine-checks.js';
import {agentMetrics, type AgentMetrics} from '#src/platlet/metrics/agent-metrics.js';
import {bootTimeOf, StartupTimes} from '#src/platlet/metrics/startup.js';
import {observeAgent} from '#src/platlet/metrics/observed.js';
import {nodeReference} from '#src/platlet/node/conditions.js';
import {watchOom} from '#src/platlet/oom-watch/watch.js';
import {startPods, type NodePods, type NodePodsParts} from './node-pods.js';
import {crashLoopLimits, reducedCrashLoopLimits, type BackoffLimits} from '#src/platlet/pod/backoff.js';
import {podParts} from './pod-parts.js';
import {openAgentPorts, type AgentPorts} from '#src/platlet/server/ports.js';
import {nodeAgent} from '#src/platlet/server/node-agent.js';
import {NodeStatsReader} from '#src/platlet/stats/node-stats.js';
import {claimUsage, systemGroups} from '#src/platlet/stats/agent-stats.js';
import {VolumeUsage} from '#src/platlet/stats/volume-stats.js';
import {fileSource} from '#src/platlet/sources/file-source.js';
import {urlSource} from '#src/platlet/sources/url-source.js';
import type {PodSource} from '#src/platlet/sources/source.js';
import {Recorder, type EventRecorder} from '#src/runtime/events/events.js';
import {AgentNode} from './agent-node.js';
import type {AgentParts} from './parts.js';
import {loggedEvents} from './standalone.js';

/** A running agent. Disposing of it stops the agent; pods go on. */
export interface RunningAgent extends AsyncDisposable {
  readonly ports: AgentPorts;
  readonly node: AgentNode;
  readonly pods: NodePods;
}

/** The agent counts as working if it has looked at its pods within this time, or twice the period of syncs. */
const leastLoopMs = 300_000;

const folderModes = {secret: 0o700, private: 0o750, shared: 0o755} as const;

const startupTimes = async ({clock, files}: AgentParts, metrics: AgentMetrics): Promise<StartupTimes> =>
  new StartupTimes(clock, metrics, bootTimeOf(String((await files.read('/proc/stat')) ?? '')));

const watchMemory = async (parts: AgentParts, events: EventRecorder, signal: AbortSignal): Promise<void> => {
  try {
    await watchOom({...parts, events, node: nodeReference(parts.naming, parts.identity.nodeName), signal});
  } catch (error) {
    parts.log.error({err: error}, 'failed to start the OOM watcher');
  }
};

/** Starts an agent. Rejects with an error of one line if it cannot work. */
export const startAgent = async (parts: AgentParts): Promise<RunningAgent> => {
  const {identity, clients, isStandalone, naming, host, rootDir} = parts;
  const {nodeName, machine} = identity;
  const lifetime = new AbortController();
  const {signal} = lifetime;
  setMaxListeners(0, signal); // Each part that works regularly has one.
  await using undo = new Undo();
  undo.defer(() => lifetime.abort());
  const folders = foldersOf(parts);
  await makeFolders(host, folders);
  const shared = await sharedRoot(host, rootDir);
  undo.defer(() => shared[Symbol.asyncDispose]());
  const events = eventsOf(parts, signal);
  const informers = informersOf(parts, signal);
  const nodes = informers.informer({kind: kinds.nodes, fieldSelector: `metadata.name=${nodeName}`});
  const apiPods = informers.informer<Pod>({kind: kinds.pods, fieldSelector: `spec.nodeName=${nodeName}`});
  const cached = (): Frozen<Node> | undefined => nodes.lister.get(nodeName);
  events.normal(nodeReference(naming, nodeName), 'Starting', `Starting ${naming.agent}.`);
  await checkMachine({...parts, nodeName, events});
  let pods: NodePods | undefined;
  const metrics = parts.metrics ?? agentMetrics(parts.meter, naming);
  const hierarchy = await cgroupHierarchy(host);
  const startup = await startupTimes(parts, metrics);
  const node = new AgentNode({
    ...parts,
    startup,
    events,
    signal,
    cached,
    runtimeError: () => pods?.runtimeError(),
    // No type of volume is attached to the node. What an agent with others has left there would never be detached.
    volumesInUse: () => (pods?.sources.isReady ? [] : undefined),
  });
  const common = {events, signal, nodeName, metrics, addresses: () => node.addresses};
  const of = await podParts({
    ...parts,
    ...common,
    client: clients.main,
    informers,
    folders,
    machine,
    capacity: node.capacity,
    allocatable: () => cached()?.status?.allocatable ?? node.allocatable,
    activePods: () => pods?.workers.active ?? [],
    node: cached,
    runtimeStatus: () => node.health.status,
    hierarchy,
  });
  const agent = answering(parts, {pods: () => pods, hierarchy, folders, pathsOf: uid => of.volumes.pathsOf(uid), signal});
  const serving = await servingOf(parts, cached, signal);
  const ports = await openAgentPorts({...parts, tls: {...parts.tls, ...serving?.contextOptions}, agent, nodeName, metrics, signal});
  undo.defer(() => ports[Symbol.asyncDispose]());
  serving?.follow(options => ports.setSecureContext({...(parts.tls as SecureContextOptions), ...options}));
  await node.health.start();
  const local = await node.local();
  if (!isStandalone) {
    informers.start();
    node.start(ports.port);
  }
  pods = await startPods({
    ...parts,
    ...of,
    ...common,
    // Pods of the API, and static ones, may be there before the Node.
    node: () => cached() ?? local,
    api: isStandalone ? undefined : {client: clients.main, pods: apiPods, ready: firstLook(nodes, parts, signal)},
    sources: sourcesOf(parts, signal),
    runtimeName: parts.runtimeVersion.name,
    networkError: () => node.health.networkProblem,
    crashLoop: crashLoopOf(parts),
    resyncMs: parts.settings.syncFrequency,
    nodeState: nodeStateOf(parts),
  });
  keepTidy(parts, of.imageAccess, {events, metrics, signal});
  await watchMemory(parts, events, signal);
  const cleanup = undo.move();
  return {ports, node, pods, [Symbol.asyncDispose]: () => cleanup[Symbol.asyncDispose]()};
};

/** How long pods of the API wait for the Node when it is registered. */
const firstLookMs = 60_000;

/** Resolves when the Node was looked for once, or after a while. Until then there are static pods alone: one of them may be the API server. */
const firstLook = async (nodes: Pick<SharedInformer, 'whenSynced'>, {clock}: AgentParts, signal: AbortSignal): Promise<void> => {
  const late = new AbortController();
  using ended = firstOf(signal, late.signal);
  using _ = clock.schedule(firstLookMs, () => late.abort());
  await nodes.whenSynced(ended.signal).catch(() => {});
};

const eventsOf = ({isStandalone, identity, clients, naming, clock, random, log}: AgentParts, signal: AbortSignal): EventRecorder =>
  isStandalone
    ? loggedEvents(log)
    : new Recorder({client: clients.events, clock, random, log, component: naming.agent, host: identity.nodeName, signal});

const informersOf = ({clients, clock, random, log, meter, naming}: AgentParts, signal: AbortSignal): InformerFactory =>
  new InformerFactory({client: clients.main, clock, random, log, meter, component: naming.agent, minResyncMs: 0, signal});

/** The certificate of the port, if the API server issues it: for the addresses that the Node shows. */
const servingOf = async (
  {servingStore: store, gate, clients, identity, ...rest}: AgentParts,
  cached: () => Frozen<Node> | undefined,
  signal: AbortSignal,
): Promise<ServingCertificate | undefined> =>
  store &&
  openServingCertificate({
    ...rest,
    store,
    client: clients.main,
    nodeName: identity.nodeName,
    addresses: () => cached()?.status?.addresses ?? [],
    allowsNamesAlone: gate('AllowDNSOnlyNodeCSR'),
    signal,
  });

/** The delays of containers that are started again. */
const crashLoopOf = ({settings, gate}: AgentParts): BackoffLimits => {
  const {firstMs, maxMs} = gate('ReduceDefaultCrashLoopBackOffDecay') ? reducedCrashLoopLimits : crashLoopLimits;
  const configured = gate('PlatletCrashLoopBackOffMax') ? settings['crashLoopBackOff.maxContainerRestartPeriod'] : maxMs;
  const longest = Math.min(maxMs, configured);
  return {firstMs: Math.min(firstMs, longest), maxMs: longest};
};

/** What the node is for new pods, beside what its pods use. */
const nodeStateOf =
  ({settings, gate}: AgentParts): NodePodsParts['nodeState'] =>
  () => ({
    pressures: [],
    allowedSysctls: settings.allowedUnsafeSysctls,
    features: {podLevelResources: gate('PodLevelResources'), declared: []},
    isShuttingDown: false,
  });

interface Answering {
  pods(): NodePods | undefined;
  readonly hierarchy: CgroupHierarchy;
  readonly folders: NodeFolders;
  pathsOf(uid: string): ReadonlyMap<string, string>;
  readonly signal: AbortSignal;
}

/** Returns what answers requests about the pods, which may come later. */
const answering = (parts: AgentParts, {pods, hierarchy, folders, pathsOf, signal}: Answering): NodeAgent => {
  const {settings, identity, naming, meter, gate} = parts;
  const shown = (): readonly Frozen<Pod>[] => {
    const now = pods();
    return now ? shownPods(now) : [];
  };
  const listed = () => pods()?.listed() ?? [];
  const volumes = new VolumeUsage({...parts, periodMs: settings.volumeStatsAggPeriod, signal, pods: shown, pathsOf});
  const stats = new NodeStatsReader({
    ...parts,
    name: identity.nodeName,
    machine: identity.machine,
    signal,
    pods: shown,
    listed,
    volumesOf: uid => volumes.of(uid),
    logsOf: pod => folders.logs(pod),
    system: systemGroups(parts, hierarchy),
  });
  observeAgent(meter, {
    naming,
    nodeName: identity.nodeName,
    cgroupVersion: hierarchy.version,
    pods: shown,
    workers: () => pods()?.workers,
    listed,
    claims: () => claimUsage(shown(), volumes),
  });
  return nodeAgent({
    ...parts,
    open: openBlocks,
    pods: shown,
    stats: () => stats.read(),
    probes: () => pods()?.probes() ?? [],
    ...(gate('ContainerCheckpoint') ? {checkpoints: folders.checkpoints} : {}),
    configuration: () => writtenSettings(parts.settings),
    healthProblem: () =>
      (pods()?.silentMs() ?? 0) > Math.max(leastLoopMs, 2 * settings.syncFrequency) ? 'sync Loop took longer than expected' : undefined,
  });
};

/** Removes images that nothing uses, and rotates logs, until the agent stops. */
const keepTidy = (
  parts: AgentParts,
  access: ImageAccess | undefined,
  {events, metrics, signal}: {readonly events: EventRecorder; readonly metrics: AgentMetrics; readonly signal: AbortSignal},
): void => {
  const {settings, naming, identity} = parts;
  new ImageGarbage({
    ...parts,
    events,
    node: nodeReference(naming, identity.nodeName),
    signal,
    collected: access && ((present, since) => access.prune(present, since)),
    removed: reason => metrics.collectedImages.add({reason}),
    settings: {
      highPercent: settings.imageGCHighThresholdPercent,
      lowPercent: settings.imageGCLowThresholdPercent,
      minAgeMs: settings.imageMinimumGCAge,
      maxAgeMs: settings.imageMaximumGCAge,
    },
  }).start();
  new LogRotation({
    ...parts,
    signal,
    settings: {
      maxBytes: logBytes(settings.containerLogMaxSize),
      maxFiles: settings.containerLogMaxFiles,
      periodMs: settings.containerLogMonitorInterval,
      workers: settings.containerLogMaxWorkers,
    },
  }).start();
};

const foldersOf = ({rootDir: root, settings: {podLogsDir: podLogs}, containerLogs}: AgentParts): NodeFolders =>
  new NodeFolders({root, podLogs, ...(containerLogs ? {containerLogs} : {})});

const sharedRoot = async (host: Host, folder: string): Promise<AsyncDisposable> => {
  try {
    return await shareFolder(host, folder);
  } catch (cause) {
    throw new Error(`error configuring root directory: ${messageOf(cause)}`, {cause});
  }
};

const makeFolders = async (host: Host, folders: NodeFolders): Promise<void> => {
  const {root, pods, podLogs, checkpoints} = folders;
  const own = ['plugins', 'plugins_registry', 'pod-resources'].map(name => join(root, name));
  for (const folder of [root, pods, ...own, podLogs]) await host.makeFolder(folder, folderModes.private);
  await host.makeFolder(checkpoints, folderModes.secret);
  if (folders.containerLogs) await host.makeFolder(folders.containerLogs, folderModes.shared);
};

/** The pods with the statuses that the agent knows. */
const shownPods = ({pods, statuses}: NodePods): readonly Frozen<Pod>[] =>
  pods().map(pod => {
    const own = statuses.statusOf(pod.metadata?.uid ?? '');
    return own ? {...pod, status: {...pod.status, ...own}} : pod;
  });

/** Returns a size of a log in bytes; a negative one is no limit. */
const logBytes = (size: string): number => quantityNumber(parseQuantity(size));

/** The sources of static pods. */
const sourcesOf = (
  {settings, identity, naming, files, clock, log, network, gate, validatePod: validate}: AgentParts,
  signal: AbortSignal,
): readonly PodSource[] => {
  const common = {
    clock,
    log,
    signal,
    settings: {
      naming,
      node: identity.nodeName,
      refusesReferences: gate('PreventStaticPodAPIReferences'),
      ...(validate ? {validate} : {}),
    },
  };
  const {staticPodPath: path, staticPodURL: url} = settings;
  return [
    ...(path ? [fileSource({...common, files, path, checkMs: settings.fileCheckFrequency})] : []),
    ...(url ? [urlSource({...common, network, url, headers: headersOf(settings), checkMs: settings.httpCheckFrequency})] : []),
  ];
};

/** Headers with several values have them joined, as HTTP allows. */
const headersOf = ({staticPodURLHeader}: Settings): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(staticPodURLHeader).map(([name, values]) => [name, values.join(', ')]));
