// Starts a whole control plane in one process, in the order of the steps in `startPlane`: `plat up`, the library's
// `startPlane`, tests. This folder is the composition root: it creates components and connects them, and writes no
// object itself. The controllers that are part of the API server are in `src/controlplane`.

import {join} from 'node:path';
import {parseKey} from '#src/api/key.js';
import {systemClock} from '#src/base/clock.js';
import {Undo} from '#src/base/undo.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import type {Manager} from '#src/runtime/manager.js';
import type {Simulation} from '#src/simulation/simulation.js';
import type {StoreSnapshot} from '#src/storage/store.js';
import type {RunningApiServer} from './api-server/api-server.js';
import {checkOptions} from './inputs/check-options.js';
import type {ForkPlaneOptions, Plane as EmbeddedPlane, PlaneSnapshot} from './inputs/embedded.js';
import {forkInputs, momentOf, readAll, readInputs, type PlaneInputs} from './inputs/inputs.js';
import {mergeKubeconfig} from './kubeconfig/file.js';
import {kubeconfig} from './kubeconfig/settings.js';
import {isManifestList} from './manifests/manifest-list.js';
import type {Foundation} from './inputs/foundation.js';
import type {PlaneOptions} from './inputs/options.js';
import type {PlanePort} from './api-server/port.js';
import {serviceRangesOf} from './api-server/addresses.js';
import {historyOf} from '#src/recorder/history.js';
import {admin, openPlaneStore, serve, type Server} from './server.js';
import {startWork, unlessStopped} from './work.js';

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
  const inputs: PlaneInputs = {...(await readInputs(given, undo, foundation)), foundation};
  const open: typeof openPlaneStore = async (...parts) => {
    const store = foundation.beginning ? foundation.beginning.store.open(inputs.clock) : await openPlaneStore(...parts);
    await foundation.fill?.(store);
    return store;
  };
  const server = await serve(inputs, open, undo);
  const work = await startWork(server, undo, foundation);
  if (!(inputs.clock instanceof VirtualClock))
    await unlessStopped(given, Promise.race([server.manifests.untilPodsAreTaken(), work.failed]));
  if (inputs.manifests.length > 0) {
    work.fillCaches();
    await unlessStopped(given, Promise.race([server.manifests.apply(inputs.manifests, given.webhooks), work.failed]));
  }
  if (server.port) await writeKubeconfig(inputs, server.port, undo);
  given.signal?.throwIfAborted();
  work.fillCaches();
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
  const work = startWork(server, working, {ownHolds: 1}).finally(() => starting[Symbol.dispose]());
  const ready = work.then(({fillCaches}) => fillCaches());
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
