// Runs the pods of a node: joins their sources, workers, probes, statuses, and what cleans up.

import type {SharedInformer} from '#informers/shared.js';
import type {Frozen} from '#src/api/key.js';
import {keyOf, keyText} from '#src/api/key.js';
import type {ContainerProbes} from '#src/api/node/stats.js';
import type {Pod} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';
import {noMeter} from '#src/base/meter.js';
import {onAbort} from '#src/base/signals.js';
import type {Client} from '#src/client/client.js';
import {agentMetrics, type AgentMetrics} from '#src/platlet/metrics/agent-metrics.js';
import {PodStartTimes} from '#src/platlet/worker/start-times.js';
import {crashLoopLimits, type BackoffLimits} from '#src/platlet/pod/backoff.js';
import {kinds} from '#src/api/kinds/index.js';
import type {GarbageLimits} from '#src/platlet/pod/garbage.js';
import {isMirrorPod, isStaticPod} from '#src/platlet/pod/admission/priority.js';
import type {RestartGates} from '#src/platlet/pod/restart.js';
import type {RuntimePod} from '#src/platlet/runtime/state.js';
import {httpGetter} from '#src/platlet/prober/http.js';
import {probeRunner} from '#src/platlet/prober/probe.js';
import {Prober} from '#src/platlet/prober/prober.js';
import {apiSource} from '#src/platlet/sources/api-source.js';
import {MirrorPods} from '#src/platlet/sources/mirror-pods.js';
import {PodSources} from '#src/platlet/sources/pod-sources.js';
import type {PodSource} from '#src/platlet/sources/source.js';
import {StatusManager} from '#src/platlet/status/status-manager.js';
import {Hooks} from '#src/platlet/worker/hooks.js';
import {keepHouse} from '#src/platlet/worker/housekeeping.js';
import {LifecycleEvents} from '#src/platlet/worker/lifecycle-events.js';
import type {WorkerParts} from '#src/platlet/worker/parts.js';
import {fieldPathOf} from '#src/platlet/worker/stop-container.js';
import {PodWorkers, type PodWorkersParts} from '#src/platlet/worker/pod-workers.js';
import {Recorder, type EventRecorder} from '#src/runtime/events/events.js';
import type {Network} from '#src/transport/network.js';

type Ports = Pick<
  WorkerParts,
  'naming' | 'clock' | 'random' | 'log' | 'runtime' | 'images' | 'volumes' | 'cgroups' | 'configs' | 'output' | 'signal'
>;

/** What the node has from the API server. */
export interface PodApi {
  readonly client: Client;
  /** The pods that are bound to the node. */
  readonly pods: Pick<SharedInformer<Pod>, 'lister' | 'listen' | 'whenSynced'>;
  /** Resolves when the Node is known as far as it can be: before, pods of the API are not acted on. */
  readonly ready?: Promise<unknown>;
}

export interface NodePodsParts extends Ports {
  /** The API server; absent for an agent that runs the pods of its files alone. */
  readonly api?: PodApi | undefined;
  /** Records what happens to pods. */
  readonly events?: EventRecorder;
  readonly network: Network;
  readonly nodeName: string;
  /** The Node; undefined while it is not registered. */
  node(): Frozen<Node> | undefined;
  /** Files and URLs with static pods. */
  readonly sources: readonly PodSource[];
  /** Returns the addresses of the node. */
  addresses(): readonly string[];
  readonly runtimeName: string;
  /** Why the network of pods is not ready; undefined if it is. */
  networkError(): string | undefined;
  readonly crashLoop?: BackoffLimits;
  /** How often a pod without changes is looked at; by default each minute. */
  readonly resyncMs?: number;
  readonly gates?: RestartGates;
  /** What the node is for a new pod, beside its Node. */
  nodeState(): Omit<ReturnType<PodWorkersParts['nodeState']>, 'node'>;
  readonly garbage: GarbageLimits;
  /** What is counted; nothing if absent. */
  readonly metrics?: AgentMetrics;
  readonly tracer?: WorkerParts['tracer'];
}

/** The pods of a node, as its agent runs them. */
export interface NodePods {
  readonly workers: PodWorkers;
  readonly sources: PodSources;
  readonly statuses: StatusManager;
  /** Why the runtime counts as not answering; undefined if it answers. */
  runtimeError(): string | undefined;
  /** How long ago the runtime was listed last, in ms. */
  silentMs(): number;
  /** What came of probes. */
  probes(): readonly ContainerProbes[];
  /** All pods of all sources. */
  pods(): readonly Frozen<Pod>[];
  /** What the runtime had when it was last listed. */
  listed(): readonly RuntimePod[];
}

/** What works on pods. */
interface Working {
  readonly events: EventRecorder;
  readonly statuses: StatusManager;
  readonly metrics: AgentMetrics;
  readonly prober: Prober;
}

/** Creates what works on the pods of a node, which have no source yet. */
const createWorkers = (parts: NodePodsParts, {events, statuses, metrics, prober}: Working): PodWorkers => {
  const {
    naming,
    clock,
    runtime,
    network,
    addresses,
    runtimeName,
    networkError,
    crashLoop = crashLoopLimits,
    resyncMs = usualResyncMs,
    gates = {},
  } = parts;
  const times = new PodStartTimes(clock, metrics);
  const hooks = new Hooks({
    naming,
    runtime,
    clock,
    get: httpGetter(clock, network),
    fellBack(pod, container, message) {
      metrics.hookFallbacks.add();
      const fieldPath = fieldPathOf(pod, container.name);
      events.warning(fieldPath ? {...pod, fieldPath} : pod, 'LifecycleHTTPFallback', message);
    },
  });
  return new PodWorkers({
    ...parts,
    metrics,
    prober,
    hooks,
    images: times.images(parts.images),
    statuses: times.statuses(statuses),
    events,
    node: {
      get addresses() {
        return addresses();
      },
      runtimeName,
      networkError,
      crashLoop,
      resyncMs,
      gates,
    },
    nodeState: () => ({...parts.nodeState(), node: parts.node()}),
    ...(parts.api ? {freshNode: freshNodeOf(parts.api, parts.nodeName)} : {}),
  });
};

const freshNodeOf =
  ({client}: PodApi, name: string) =>
  (): Promise<Frozen<Node>> =>
    client.resource(kinds.nodes).get(name);

const usualResyncMs = 60_000;

interface Fed {
  readonly workers: PodWorkers;
  readonly mirrors: MirrorPods | undefined;
  readonly events: EventRecorder;
}

/** Creates the sources of a node's pods, which feed its workers. */
const createSources = ({naming, clock, log, signal, api, sources}: NodePodsParts, {workers, mirrors, events}: Fed): PodSources => {
  const failed = (error: unknown): void => log.error({err: error}, 'the pods of the node cannot be listed');
  return new PodSources({
    naming,
    clock,
    sources: [...(api ? [apiSource({naming, informer: api.pods, ready: api.ready, signal, failed})] : []), ...sources],
    changed(pods) {
      workers.update(pods);
      mirrors?.reconcile();
    },
    reconciled(pods) {
      for (const pod of pods) workers.get(pod.metadata?.uid ?? '')?.refresh(pod);
      mirrors?.reconcile();
    },
    removed(uid) {
      workers.remove(uid);
      mirrors?.reconcile();
    },
    duplicate: pod =>
      events.warning(pod, 'FailedValidation', `Error validating pod ${keyText(keyOf(pod))} due to duplicate pod name, ignoring`),
  });
};

const silent: EventRecorder = {normal() {}, warning() {}};

/** Starts to run the pods of a node. Nothing is ended before every source has delivered. Rejects if the runtime cannot be listed. */
export const startPods = async (parts: NodePodsParts): Promise<NodePods> => {
  const {naming, clock, random, log, signal, runtime, nodeName, network, api, metrics = agentMetrics(noMeter, naming)} = parts;
  const events = parts.events ?? (api ? new Recorder({...parts, client: api.client, component: naming.agent, host: nodeName}) : silent);
  const mirrors: MirrorPods | undefined =
    api &&
    new MirrorPods({
      ...parts,
      client: api.client,
      staticPods: () => sources.all('file', 'http'),
      apiPods: () => api.pods.lister.list(),
    });
  const prober = new Prober({clock, random, events, run: probeRunner({naming, runtime, clock, network})});
  const statuses = new StatusManager({
    ...parts,
    metrics,
    client: api?.client,
    shownBy(pod) {
      if (!isStaticPod(naming, pod)) return api && sameIn(api, pod);
      // A static pod that was replaced has no mirror any more.
      return sources.isKnown(pod.metadata?.uid ?? '') ? mirrors?.mirrorOf(pod) : undefined;
    },
  });
  const workers = createWorkers(parts, {events, statuses, metrics, prober});
  const lifecycle = new LifecycleEvents({clock, log, runtime, signal, metrics, changed: uid => workers.wake(uid)});
  const sources: PodSources = createSources(parts, {workers, mirrors, events});
  await lifecycle.start();
  if (api && mirrors) followMirrors(parts, api, mirrors, statuses);
  sources.start();
  const {volumes, cgroups, output} = parts;
  keepHouse({
    volumes,
    cgroups,
    output,
    clock,
    log,
    signal,
    runtime,
    workers,
    statuses,
    sources,
    limits: parts.garbage,
    listed: () => lifecycle.pods,
  });
  onAbort(signal, () => workers[Symbol.dispose]());
  return {
    workers,
    sources,
    statuses,
    runtimeError: () => lifecycle.error,
    silentMs: () => lifecycle.silentMs,
    probes: () => prober.counts,
    pods: () => [...sources.all()],
    listed: () => lifecycle.pods,
  };
};

const sameIn = ({pods: {lister}}: PodApi, pod: Frozen<Pod>): Frozen<Pod> | undefined => {
  const found = lister.get(keyText(keyOf(pod)));
  return found?.metadata?.uid === pod.metadata?.uid ? found : undefined;
};

/** A mirror pod that changes or goes is brought in line, and shows the status of its pod. */
const followMirrors = ({naming, signal}: NodePodsParts, {pods}: PodApi, mirrors: MirrorPods, statuses: StatusManager): void => {
  const listener = pods.listen(({object}) => {
    if (!isMirrorPod(naming, object)) return;
    mirrors.reconcile();
    statuses.writeAll();
  });
  onAbort(signal, () => listener[Symbol.dispose]());
};
