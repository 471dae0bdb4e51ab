// Starts a whole control plane in one process, in the order of the steps in `startPlane`: `plat up`, the library's
// `startPlane`, tests. This folder is the composition root: it creates components and connects them, and writes no
// object itself. The controllers that are part of the API server are in `src/controlplane`.

import {join, resolve} from 'node:path';
import {ListRefused} from '#informers/refusal.js';
import {parseKey} from '#src/api/key.js';
import type {UsageReader} from '#src/api/node/usage.js';
import type {UserInfo} from '#src/api/user.js';
import type {Client} from '#src/operator/client/client.js';
import {clientOf} from '#src/operator/client/client-of.js';
import {systemClock} from '#src/base/clock.js';
import {lazily} from '#src/base/lazily.js';
import {Undo} from '#src/base/undo.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {HealthChecks} from '#src/observe/health.js';
import {apiserverFlags} from '#src/options/programs/apiserver.js';
import {flagValues} from '#src/options/flag-values.js';
import type {Parsed} from '#src/options/parse.js';
import {gateOf, versionInfoOf} from '#src/options/parsed-options.js';
import {selectControllers} from '#src/runtime/selection.js';
import type {Manager} from '#src/runtime/manager.js';
import {unlessAborted} from '#src/base/signals.js';
import type {Simulation} from '#src/simulation/simulation.js';
import {openStore} from '#src/storage/backend/open.js';
import type {Store, StoreSnapshot} from '#src/storage/store.js';
import {openRecorder} from './component/recorder.js';
import {assembleApiServer, type RunningApiServer} from './api-server/api-server.js';
import {checkOptions} from './inputs/check-options.js';
import type {Component} from './component/component.js';
import {inProcessConnection} from './component/in-process.js';
import {componentMetrics} from './component/metrics.js';
import {runComponent, type RunningComponent} from './component/run.js';
import {controllerManager as controllerManagerComponent} from './controller-manager/component.js';
import type {ForkPlaneOptions, Plane as EmbeddedPlane, PlaneSnapshot} from './inputs/embedded.js';
import {forkInputs, momentOf, readAll, readInputs, type PlaneInputs} from './inputs/inputs.js';
import {mergeKubeconfig} from './kubeconfig/file.js';
import {kubeconfig} from './kubeconfig/settings.js';
import {isManifestList} from './manifests/manifest-list.js';
import type {Document} from './manifests/read.js';
import type {LocalWebhooks} from './manifests/webhooks.js';
import {localServingPair} from './inputs/material.js';
import {PlaneNodes} from './nodes/nodes.js';
import type {Foundation} from './inputs/foundation.js';
import type {PlaneOptions} from './inputs/options.js';
import {openPlanePort, type PlanePort} from './api-server/port.js';
import {externalAddress, serviceRangesOf} from './api-server/addresses.js';
import {scheduler as schedulerComponent} from './scheduler.js';
import {historyOf} from '#src/recorder/history.js';
import type {Recorder} from '#src/recorder/recorder.js';
import {requestThread} from './request-thread/request-thread.js';
import {etcdDialer} from '#src/plane/outgoing/egress.js';
import {storeServersOf} from './api-server/store-servers.js';

/** A running control plane, with its parts. */
export interface Plane extends EmbeddedPlane {
  readonly api: RunningApiServer;
  readonly manager: Manager;
  /** The simulated nodes, if there are any. */
  readonly simulation: Simulation | undefined;
  /** The ranges of addresses of pods and of services, one of each family at most. */
  readonly ranges: {readonly pods: readonly string[]; readonly services: readonly string[]};
  /** Returns the state of this moment. Throws a TypeError unless the store is in memory. */
  state(): WholeState;
}

/** The state of a plane, from which whole planes are started, parts included, until it is disposed of. */
export interface WholeState extends Disposable {
  start(options: ForkPlaneOptions): Promise<Plane>;
}

/** With these flags the store is not in memory. */
const storeFlags = ['storage-backend', 'kvstore-servers'];

const admin: UserInfo = {name: 'plat-admin', groups: ['system:masters', 'system:authenticated']};

/**
 * Starts a whole control plane in this process and resolves once it serves and every controller's caches are synced:
 * port, store, API server, components, nodes, manifests, kubeconfig, in this order. What was started is stopped again
 * when a later step fails.
 */
export const startPlane = (given: PlaneOptions = {}): Promise<Plane> => startPlaneOn({}, given);

/** Starts a plane on what others give it: what its store holds, its nodes, and the usage that it reports. */
export const startPlaneOn = async (foundation: Foundation, given: PlaneOptions): Promise<Plane> => {
  checkOptions(given);
  await using undo = new Undo();
  const inputs: PlaneInputs = {...(await readInputs(given, undo)), foundation};
  const open: typeof openPlaneStore = async (...parts) => {
    const store = await openPlaneStore(...parts);
    await foundation.fill?.(store);
    return store;
  };
  const server = await serve(inputs, open, undo);
  const work = await startWork(server, undo);
  if (inputs.manifests.length > 0)
    await unlessStopped(given, Promise.race([server.manifests.apply(inputs.manifests, given.webhooks), work.failed]));
  if (server.port) await writeKubeconfig(inputs, server.port, undo);
  given.signal?.throwIfAborted();
  const cleanup = undo.move();
  const plane = embeddedPlane(server, {...work, ready: Promise.resolve(), stop: () => cleanup[Symbol.asyncDispose]()});
  return withParts(plane, server, work.manager);
};

/** Starts a plane from the state of another, and resolves as `startPlane` does. */
const startPlaneFrom = async (state: PlaneState, given: ForkPlaneOptions): Promise<Plane> => {
  const {plane, server, work} = await startFork(state, given);
  try {
    return withParts(plane, server, (await work).manager);
  } catch (error) {
    await plane.stop();
    throw error;
  }
};

const wholeStateOf = (server: Server): WholeState => {
  const state = stateOf(server);
  return {start: options => startPlaneFrom(state, options), [Symbol.dispose]: () => state[Symbol.dispose]()};
};

const withParts = (plane: EmbeddedPlane, server: Server, manager: Manager): Plane => {
  const {api, inputs, nodes} = server;
  const ranges = {pods: inputs.controllerManager.options.clusterCidr, services: serviceRangesOf(inputs.apiserver.options)};
  return {...plane, api, manager, simulation: nodes.simulation, ranges, state: () => wholeStateOf(server)};
};

/** Starts a plane from a state and resolves once its API server serves. Its other parts start meanwhile. */
const startFork = async ({inputs: original, store}: PlaneState, given: ForkPlaneOptions) => {
  await using undo = new Undo();
  const stopping = new AbortController();
  const inputs = forkInputs(original, given, stopping.signal, undo);
  const server = await serve(inputs, async () => store.open(inputs.clock), undo);
  await server.api.follow();
  given.signal?.throwIfAborted();
  const starting = inputs.clock.hold();
  const working = new Undo();
  const work = startWork(server, working, 1).finally(() => starting[Symbol.dispose]());
  const ready = work.then(() => {});
  const failed = work.then(each => each.failed);
  for (const optional of [ready, failed]) optional.catch(() => {}); // Handled by those who await them.
  const cleanup = undo.move();
  const plane = embeddedPlane(server, {
    ready,
    failed,
    async stop() {
      stopping.abort(new Error('the plane is stopped'));
      await ready.catch(() => {});
      await working[Symbol.asyncDispose]();
      await cleanup[Symbol.asyncDispose]();
    },
  });
  return {plane, server, work};
};

/** What a plane is started again from. It keeps the plane's keys until it is disposed of. */
interface PlaneState extends Disposable {
  readonly inputs: PlaneInputs;
  readonly store: StoreSnapshot;
}

/** Returns the state of a plane at this moment. */
const stateOf = ({inputs, store}: Server): PlaneState => {
  if (!store.snapshot)
    throw new TypeError('only a plane whose store is in memory has snapshots and forks: start it without dataDir and --storage-backend');
  const snapshot = store.snapshot();
  const keys = inputs.temporary?.hold();
  return {inputs: momentOf(inputs), store: snapshot, [Symbol.dispose]: () => keys?.[Symbol.dispose]()};
};

const snapshotOf = (server: Server): PlaneSnapshot => {
  const state = stateOf(server);
  return {
    resourceVersion: String(state.store.revision),
    fork: async (options = {}) => (await startFork(state, options)).plane,
    [Symbol.dispose]: () => state[Symbol.dispose](),
  };
};

/** What embeds a plane, over its API server and what ends with it. */
const embeddedPlane = (server: Server, {ready, failed, stop}: Pick<EmbeddedPlane, 'ready' | 'failed' | 'stop'>): EmbeddedPlane => {
  const {inputs, port, api, client, manifests, recorder} = server;
  const {options, naming} = inputs;
  const consoles = new Undo();
  const stopAll = async (): Promise<void> => {
    await consoles[Symbol.asyncDispose]();
    await stop();
  };
  return {
    naming,
    url: port ? `https://${port.address}` : '',
    kubeconfig: port ? kubeconfig(port.settings, undefined, options.context) : '',
    clock: options.clock ?? systemClock,
    client,
    recorder,
    async history(kind, key) {
      if (!recorder) throw new TypeError('history: the plane was started with record: false');
      const {namespace, name} = typeof key === 'string' ? parseKey(key) : key;
      const object = {group: naming.group(kind.group), resource: kind.plural, name, ...(namespace ? {namespace} : {})};
      return historyOf(object, recorder, inputs.clock);
    },
    intercept: interceptor => api.server.interceptors.add(interceptor),
    apply: async (more, {webhooks = options.webhooks} = {}) =>
      manifests.apply(await readAll(isManifestList(more) ? more : [more]), webhooks),
    async console(chosen = {}) {
      const {planeConsole} = await import('./console.js');
      const opened = await planeConsole(
        inputs,
        {handler: api.handler, user: admin, server: port ? `https://${port.address}` : 'a plane in this process'},
        chosen,
      );
      consoles.defer(() => opened[Symbol.asyncDispose]());
      return opened;
    },
    webhookPair: manifests.webhookPair,
    snapshot: () => snapshotOf(server),
    async fork(forked) {
      using snapshot = snapshotOf(server);
      return await snapshot.fork(forked);
    },
    ready,
    failed,
    stop: stopAll,
    [Symbol.asyncDispose]: stopAll,
  };
};

/** An API server with its port, and what is prepared for the parts that start after it. */
interface Server {
  readonly inputs: PlaneInputs;
  readonly processes: Processes;
  readonly port: PlanePort | undefined;
  readonly store: Store;
  readonly nodes: PlaneNodes;
  readonly recorder: Recorder | undefined;
  readonly api: RunningApiServer;
  readonly client: EmbeddedPlane['client'];
  readonly manifests: Awaited<ReturnType<typeof manifestsOf>>;
}

/** Opens the port and the store, and composes the API server over them. */
const serve = async (
  inputs: PlaneInputs,
  open: (inputs: PlaneInputs, processes: Processes, port: PlanePort | undefined) => Promise<Store>,
  undo: Undo,
): Promise<Server> => {
  const processes = await processesOf(inputs);
  const port = await openPort(inputs, processes, undo);
  const store = await open(inputs, processes, port);
  const nodes = nodesOf(inputs, processes);
  const recorder = openRecorder(inputs.apiserver.options, {...inputs, meter: processes.apiserver.metrics});
  if (recorder) undo.defer(() => recorder.close());
  const api = await startApiServer(inputs, {processes, port, store, nodes, recorder}, undo);
  const client = (user = admin, userAgent = 'plat') =>
    clientOf(api.clientAs(user, userAgent), {clock: inputs.clock, fieldManager: userAgent.split('/', 1)[0]!});
  return {inputs, processes, port, store, nodes, recorder, api, client, manifests: await manifestsOf(inputs, client)};
};

/**
 * Starts what works over the API server: its own hooks and loops, components and nodes. On a virtual clock each has
 * done what is due before the next begins, so that planes with the same seed begin alike. `ownHolds` are the caller's
 * holds of the clock.
 */
const startWork = async ({inputs, processes, port, nodes, api}: Server, undo: Undo, ownHolds = 0) => {
  const {options} = inputs;
  const {clock} = options;
  const settled = async () => clock instanceof VirtualClock && (await unlessStopped(options, clock.quiet(ownHolds)));
  await unlessStopped(options, api.begin());
  await settled();
  const work = await startComponents(inputs, processes, api, undo);
  await settled();
  await startNodes(nodes, api, undo);
  await settled();
  if (port && options.bootstrapTokens) await publishClusterInfo(inputs, port, api);
  return work;
};

/** Lets nodes join: publishes how to connect to the plane, and what tokens allow. */
const publishClusterInfo = async ({apiserver}: PlaneInputs, {settings, address}: PlanePort, api: RunningApiServer): Promise<void> => {
  const {ensureJoining} = await import('#src/controlplane/joining.js');
  await ensureJoining(api.clientAs(admin, 'joining'), {server: `https://${externalAddress(apiserver.options, address)}`, ca: settings.ca});
};

const unlessStopped = <T>({signal}: PlaneOptions, step: Promise<T>): Promise<T> => (signal ? unlessAborted(step, signal) : step);

/** The metrics of each program of the plane, and the health checks of those whose health the API server reports. */
const processesOf = async ({apiserver, controllerManager, scheduler, naming, log, unhandled}: PlaneInputs) => {
  const metrics = await componentMetrics(apiserver, naming);
  unhandled.countIn(metrics);
  return {
    apiserver: {metrics},
    manager: {metrics: await componentMetrics(controllerManager, naming), checks: new HealthChecks(log)},
    scheduler: {metrics: await componentMetrics(scheduler, naming), checks: new HealthChecks(log)},
  };
};

type Processes = Awaited<ReturnType<typeof processesOf>>;

/** Opens the port, which refuses requests until the API server is started; undefined for a plane without a port. */
const openPort = async (inputs: PlaneInputs, {apiserver: {metrics}}: Processes, undo: Undo): Promise<PlanePort | undefined> => {
  const {options, apiserver, controllerManager} = inputs;
  if (options.listen === false) return undefined;
  const port = await openPlanePort({
    ...inputs,
    options: apiserver.options,
    given: apiserver.set,
    gate: gateOf(apiserver),
    meter: metrics,
    podRanges: options.podAccess ? controllerManager.options.clusterCidr : undefined,
  });
  undo.defer(() => port.close());
  return port;
};

/** Opens the store that the flags specify; one in memory without a data directory. */
const openPlaneStore = async (
  {options, apiserver, naming, clock, random, log}: PlaneInputs,
  {apiserver: {metrics: meter}}: Processes,
  port: PlanePort | undefined,
): Promise<Store> =>
  openStore({
    backend: options.dataDir || storeFlags.some(flag => apiserver.set.has(flag)) ? apiserver.options.storageBackend : 'memory',
    directory: resolve(apiserver.options.dataDir),
    historyBytes: apiserver.options.embeddedHistoryBytes,
    servers: storeServersOf({
      options: apiserver.options,
      naming,
      gate: gateOf(apiserver),
      minCompatibility: apiserver.versions.minCompatibility,
      dial: await etcdDialer({options: apiserver.options, naming, clock, random, meter}),
    }),
    naming: naming.name,
    clock,
    random,
    log,
    timeoutMs: apiserver.options.storageInitializationTimeout,
    ...(port ? {waiting: port.reportWaiting} : {}),
    ...(options.signal ? {signal: options.signal} : {}),
  });

const usageOf = ({foundation}: PlaneInputs, own: UsageReader): UsageReader => foundation?.usage?.(own) ?? own;

const nodesOf = (inputs: PlaneInputs, {apiserver: {metrics}}: Processes): PlaneNodes => {
  const {options, apiserver, controllerManager} = inputs;
  return new PlaneNodes({
    ...inputs,
    count: options.nodes ?? 0,
    rulesFile: options.simulationFile,
    podRanges: controllerManager.options.clusterCidr,
    version: versionInfoOf(apiserver).gitVersion,
    meter: metrics,
    freeze: options.freeze ?? false,
    ...(inputs.foundation?.simulation ? {simulated: inputs.foundation.simulation} : {}),
  });
};

interface ServerStages {
  readonly processes: Processes;
  readonly port: PlanePort | undefined;
  readonly store: Store;
  readonly nodes: PlaneNodes;
  readonly recorder: Recorder | undefined;
}

/** Starts the API server over the store, which it closes from then on, and lets the port pass requests to it. */
const startApiServer = async (
  inputs: PlaneInputs,
  {processes: {apiserver: own, manager, scheduler}, port, store, nodes, recorder}: ServerStages,
  undo: Undo,
): Promise<RunningApiServer> => {
  const {options, apiserver, apiserverArgs, naming, clock, random, log} = inputs;
  const api = await assembleApiServer({
    options: apiserver.options,
    naming,
    clock,
    random,
    log,
    store,
    recorder,
    metrics: own.metrics,
    metricsBeside: [manager.metrics, scheduler.metrics],
    version: versionInfoOf(apiserver),
    versions: apiserver.versions,
    given: apiserver.set,
    flags: () => flagValues(apiserverFlags, apiserver.options),
    gate: gateOf(apiserver),
    serverAddress: port?.address ?? '',
    ...(port?.podAddress ? {podAddress: port.podAddress} : {}),
    // A virtual clock cannot be shared with another thread.
    ...(options.clock instanceof VirtualClock ? {} : {largeRequests: requestThread(apiserverArgs)}),
    ...(options.nodes ? {network: nodes.network} : {}),
    ...((options.metricsApi ?? Boolean(options.nodes)) ? {usage: client => usageOf(inputs, nodes.usage(client))} : {}),
    ...(options.bootstrapTokens ? {alsoOwn: (await import('#src/controlplane/joining.js')).joiningObjects(naming)} : {}),
    beside: {scheduler: scheduler.checks, 'controller-manager': manager.checks},
  }).catch(async (error: unknown) => {
    await store.close();
    throw error;
  });
  undo.defer(() => api.close());
  if (port) undo.defer(() => port.stop(api));
  port?.serve(api.handler);
  return api;
};

/**
 * Starts the controller manager and the scheduler, and waits until both are ready. `failed` rejects when one of them
 * ends by itself.
 */
const startComponents = async (
  inputs: PlaneInputs,
  processes: Processes,
  api: RunningApiServer,
  undo: Undo,
): Promise<{readonly manager: Manager; readonly failed: Promise<never>}> => {
  const {options, controllerManager, scheduler, naming, clock, random, log} = inputs;
  const {handler, recorder} = api;
  const stopping = new AbortController();
  const environment = {clock, random, log, recorder, freeze: options.freeze ?? false, stopping: stopping.signal};
  const start = <R>(component: Component<R>, parsed: Parsed<R>, own: Processes['manager']): Promise<RunningComponent> => {
    const connection = inProcessConnection({
      role: component.role,
      handler,
      naming,
      clock,
      options: parsed.options as never,
      set: parsed.set,
    });
    return runComponent(component, parsed, connection, {...environment, ...own}, undo);
  };
  const {controllers} = await import('#controllers/index.js');
  const running = [
    await start(controllerManagerComponent(controllers), controllerManager, processes.manager),
    await start(schedulerComponent, scheduler, processes.scheduler),
  ] as const;
  undo.defer(() => stopping.abort()); // Both stop at once.
  const failed = failureOf(
    running.map(({ended}) => ended),
    stopping.signal,
  );
  await unlessStopped(options, Promise.race([readiness(running, failed), failed]));
  return {manager: running[0].manager, failed};
};

const startNodes = async (nodes: PlaneNodes, api: RunningApiServer, undo: Undo): Promise<void> => {
  const stop = await nodes.start(api);
  if (stop) undo.defer(stop);
};

/** What applies manifests to the plane, for its own start and for its owner. */
const manifestsOf = async ({directory, disk, material, controllerManager, clock}: PlaneInputs, client: () => Client) => {
  const {controllers} = await import('#controllers/index.js');
  const makesAccounts = selectControllers(controllers, controllerManager.options.controllers).selected.some(
    ({name}) => name === 'serviceaccount-controller',
  );
  const webhookPair = lazily(() => localServingPair(join(directory, 'pki', 'webhook'), material, clock, disk)); // Two concurrent calls would mix their files.
  return {
    webhookPair,
    async apply(documents: readonly Document[], webhooks: LocalWebhooks | undefined) {
      const {applyManifests} = await import('./manifests/apply.js');
      const serving = webhooks && {...webhooks, caBundle: (await webhookPair()).caBundle};
      return applyManifests(documents, {client: client(), clock, serving, makesAccounts});
    },
  };
};

/** Rejects when components end by themselves, or fail. */
const failureOf = (runs: readonly Promise<string>[], stopping: AbortSignal): Promise<never> => {
  const failed = Promise.race(runs).then(outcome => {
    if (stopping.aborted) return new Promise<never>(() => {});
    throw new Error(`the controllers ended by themselves: ${outcome}`);
  });
  failed.catch(() => {});
  return failed;
};

/** Resolves once all managers are ready. A refused list is reported as it is; other failures are those of the run. */
const readiness = (components: readonly RunningComponent[], failed: Promise<never>): Promise<unknown> =>
  Promise.all(components.map(({manager}) => manager.ready)).catch((error: unknown) =>
    error instanceof ListRefused ? Promise.reject(error) : failed,
  );

const writeKubeconfig = async ({options, directory, log}: PlaneInputs, {settings}: PlanePort, undo: Undo): Promise<void> => {
  if (!options.dataDir && !options.kubeconfig) return;
  const merged = await mergeKubeconfig(options.kubeconfig ?? join(directory, 'kubeconfig'), {
    settings,
    directory,
    context: options.context,
    log,
  });
  if (options.removeContextOnStop)
    undo.defer(() =>
      merged.remove().catch((error: unknown) => log.warn({err: error}, 'the context of the plane stays in the kubeconfig file')),
    );
};
