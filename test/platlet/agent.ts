import {InformerFactory} from '#informers/factory.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';
import {wellKnown} from '#src/api/user.js';
import type {Clock} from '#src/base/clock.js';
import {noLog, type Log} from '#src/base/log.js';
import {noMeter} from '#src/base/meter.js';
import {seededRandom} from '#src/base/random.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import type {GateName} from '#src/options/gate-table.js';
import type {Plane} from '#src/plane/plane.js';
import {podDirectory} from '#src/platlet/agent/pod-directory.js';
import {runPods, workersOf, type Working} from '#src/platlet/agent/pods.js';
import {agentMetrics, type AgentMetrics} from '#src/platlet/metrics/agent-metrics.js';
import {NodeCondition} from '#src/platlet/node/node-condition.js';
import {crashLoopLimits} from '#src/platlet/pod/backoff.js';
import type {ResizeNode} from '#src/platlet/pod/admission/resize.js';
import {PodResizes, type NodeResizes} from '#src/platlet/resize/pod-resizes.js';
import {ResourceState} from '#src/platlet/resize/resource-state.js';
import type {Runtime} from '#src/platlet/runtime/runtime.js';
import type {PodSource} from '#src/platlet/sources/source.js';
import type {Telemetry, WorkerPorts} from '#src/platlet/worker/parts.js';
import {PodAdmission, type PodAdmissionParts} from '#src/platlet/worker/pod-admission.js';
import type {PodDirectory} from '#src/platlet/worker/pod-directory.js';
import {Recorder, type EventRecorder} from '#src/runtime/events/events.js';
import {systemNetwork} from '#src/transport/network.js';
import {aPlane} from '#test/controllers/plane.js';
import {configs, noCgroups, noOutput, noVolumes, presentImages} from './ports.js';
import {podsOf} from '#test/simulation/pod-states.js';

export {describePod, podNamed, podsOf, timeline} from '#test/simulation/pod-states.js';

export type AgentPlane = Plane & {readonly clock: VirtualClock};

/** A plane on any clock. */
export type TimedPlane = Plane & {readonly clock: Clock};

export interface TestAgent extends AsyncDisposable {
  readonly pods: Working & {readonly directory: PodDirectory};
  readonly condition: NodeCondition;
}

export interface TestAgentOptions extends Partial<Omit<WorkerPorts, 'runtime'>> {
  readonly runtimeName?: string;
  readonly sources?: readonly PodSource[];
  readonly networkError?: () => string | undefined;
  /** What is counted; nothing by default. */
  readonly metrics?: AgentMetrics;
  readonly log?: Log;
  readonly tracer?: Telemetry['tracer'];
  /** Whether it has an API server; default yes. */
  readonly hasApi?: boolean;
  /** The Node as long as there is none. */
  readonly initial?: Node;
  /** The Node that is known, which may be older than that of the server. */
  readonly known?: Node;
  readonly resyncMs?: number;
  /** What the agent knows of resources; by default nothing, in memory. */
  readonly states?: Pick<NodeResizes, 'allocated' | 'actuated'>;
  readonly resizeNode?: Partial<ResizeNode>;
  /** The managers of CPUs, memory and devices; none by default. */
  readonly managers?: NonNullable<PodAdmissionParts['managers']>;
  /** The gates that are on; none by default. */
  readonly gates?: readonly GateName[];
  /** Resolves when pods of the API may be acted on. */
  readonly apiReady?: Promise<unknown>;
}

export const nodeName = 'node';

/** A plane with a node, as its agents find it. */
export const aPlaneWithNode = async (...args: readonly string[]): Promise<AgentPlane> => {
  const plane = await aPlaneForNodes(...args);
  await createNode(plane);
  return plane;
};

/** A plane that agents may use. */
export const aPlaneForNodes = (...args: readonly string[]): Promise<AgentPlane> =>
  aPlane({
    controllers: ['serviceaccount-controller'],
    apiserverArgs: ['--authorization-mode=Node,RBAC', '--enable-admission-plugins=NodeRestriction', ...args],
  });

/** Creates the Node. */
export const createNode = async (plane: Plane): Promise<void> => {
  const allocatable = {cpu: '2', memory: '1Gi', pods: '10'};
  const nodes = plane.client().resource(kinds.nodes);
  await nodes.create({metadata: {name: nodeName, labels: {[plane.naming.labels.os]: 'linux'}}});
  await nodes.patch(nodeName, 'merge', {status: {allocatable, capacity: allocatable}}, {subresource: 'status'});
};

/** Resolves when all that goes on at this moment of a virtual clock is done. */
const settled = async (clock: Clock): Promise<void> => {
  if (clock instanceof VirtualClock) await clock.drain();
};

const silent: EventRecorder = {normal() {}, warning() {}};

/** Starts what runs the pods of a node, without the rest of an agent. */
export const anAgent = async (plane: TimedPlane, runtime: Runtime, options: TestAgentOptions = {}): Promise<TestAgent> => {
  const {clock, naming} = plane;
  const lifetime = new AbortController();
  const {signal} = lifetime;
  const client = plane.client({name: `${wellKnown.nodeUserPrefix}${nodeName}`, groups: [wellKnown.nodes, wellKnown.authenticated]});
  const informers = new InformerFactory({
    client,
    clock,
    random: seededRandom(1),
    log: noLog,
    meter: noMeter,
    component: 'agent',
    minResyncMs: 0,
    signal,
  });
  const pods = informers.informer<Pod>({kind: kinds.pods, fieldSelector: `spec.nodeName=${nodeName}`});
  const nodes = informers.informer({kind: kinds.nodes, fieldSelector: `metadata.name=${nodeName}`});
  informers.start();
  await nodes.whenSynced(signal);
  const {
    sources = [],
    hasApi = true,
    initial,
    known,
    resyncMs = 60_000,
    apiReady,
    networkError = () => undefined,
    runtimeName = 'memory',
    log = noLog,
    metrics = agentMetrics(noMeter, naming),
    tracer,
    states = {allocated: new ResourceState(), actuated: new ResourceState()},
    resizeNode = {},
    managers,
    gates = [],
    ...given
  } = options;
  const random = seededRandom(2);
  const network = systemNetwork(clock);
  const api = hasApi ? {client, pods, ...(apiReady ? {ready: () => apiReady} : {})} : undefined;
  const events = api ? new Recorder({client, clock, random, log: noLog, component: naming.agent, host: nodeName, signal}) : silent;
  const node = () => known ?? nodes.lister.get(nodeName) ?? initial;
  const gate = (name: GateName) => gates.includes(name);
  const parts = {naming, gate, clock, random, log, runtime, network, metrics, tracer};
  const directory = podDirectory(parts, {api, files: sources}, signal);
  const condition = new NodeCondition();
  const admission = new PodAdmission({
    naming,
    node,
    freshNode: api && (() => client.resource(kinds.nodes).get(nodeName)),
    condition,
    working: directory.working,
    allowedSysctls: [],
    ...(managers ? {managers} : {}),
    features: {podLevelResources: true, declared: []},
  });
  const ports: WorkerPorts = {
    runtime,
    images: presentImages,
    volumes: noVolumes(),
    cgroups: noCgroups(),
    configs,
    output: noOutput,
    resizes: new PodResizes({
      resizes: {
        ...states,
        isReady: () => directory.sources.isReady,
        node: {
          naming,
          capacity: {cpu: '2', memory: '1Gi'},
          fixed: {cpu: false, memory: false},
          podLevel: false,
          ...resizeNode,
          admit: pod => admission.admitResized(pod),
        },
      },
      clock,
      log: noLog,
      events,
      metrics,
      signal,
    }),
    ...given,
  };
  const garbage = {minAgeMs: 0, maxPerContainer: 1, maxContainers: -1};
  const facts = {
    naming,
    addresses: ['192.168.0.1'],
    runtimeName,
    networkError,
    crashLoop: crashLoopLimits,
    resyncMs,
    gates: {},
    reportsSandbox: true,
    garbage,
  };
  const working = workersOf(parts, {directory, admission, ports, node: facts, events, signal});
  await runPods(parts, working.workers, {directory, ports, api, node, garbage, events, signal});
  await settled(clock);
  return {
    pods: {...working, directory},
    condition,
    async [Symbol.asyncDispose]() {
      lifetime.abort();
      await settled(clock);
    },
  };
};

type Spec = Partial<NonNullable<Pod['spec']>>;

/** Creates a pod on the node. */
export const run = (plane: Plane, name = 'pod', spec: Spec = {}, metadata: Pod['metadata'] = {}): Promise<Pod> =>
  podsOf(plane).create({
    metadata: {name, namespace: 'default', ...metadata},
    spec: {nodeName, containers: [{name: 'app', image: 'app'}], ...spec},
  });
