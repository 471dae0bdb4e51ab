// Starts a whole control plane in one process, in the order of the steps in `startPlane`: `plat up`, the library's `startPlane`, tests. This folder is the
// composition root: it creates components and connects them, and contains no behaviour of the API. The API server's own controllers are in
// `src/controlplane`.

import {join, resolve} from 'node:path';
import {ListRefused} from '#informers/refusal.js';
import type {Naming} from '#src/api/naming.js';
import type {UserInfo} from '#src/api/user.js';
import {lazily} from '#src/base/lazily.js';
import {Undo} from '#src/base/undo.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {HealthChecks} from '#src/observe/health.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {apiserverFlags} from '#src/options/programs/apiserver.js';
import {flagValues} from '#src/options/flag-values.js';
import type {Parsed} from '#src/options/parse.js';
import {gateOf, versionInfoOf} from '#src/options/parsed-options.js';
import {selectControllers} from '#src/runtime/selection.js';
import type {Manager} from '#src/runtime/manager.js';
import {unlessAborted} from '#src/runtime/shutdown.js';
import type {Simulation} from '#src/simulation/simulation.js';
import {openStore} from '#src/storage/backend/open.js';
import type {Store} from '#src/storage/store.js';
import {assembleApiServer, type ApiServerParts, type RunningApiServer} from './api-server/api-server.js';
import {checkOptions} from './inputs/check-options.js';
import {createComponent, type Component, type RunnableComponent} from './component/component.js';
import {inProcessConnection} from './component/in-process.js';
import {addBuildMetrics} from './component/metrics.js';
import {controllerManager} from './controller-manager/component.js';
import type {Plane as EmbeddedPlane} from './inputs/embedded.js';
import {readAll, readInputs, type PlaneInputs} from './inputs/inputs.js';
import {mergeKubeconfig} from './kubeconfig/file.js';
import {kubeconfig} from './kubeconfig/settings.js';
import type {Document, Manifest} from './manifests/read.js';
import type {LocalWebhooks} from './manifests/webhooks.js';
import {localServingPair} from './inputs/material.js';
import {PlaneNodes} from './nodes/nodes.js';
import type {PlaneOptions} from './inputs/options.js';
import {openPlanePort, type PlanePort} from './api-server/port.js';
import {scheduler as schedulerComponent} from './scheduler.js';
import {requestThread} from './request-thread/request-thread.js';
import {storeServersOf} from './api-server/store-servers.js';
import {waitingServer} from './api-server/waiting-server.js';

/** A running control plane, with its parts. */
export interface Plane extends EmbeddedPlane {
  readonly api: RunningApiServer;
  readonly manager: Manager;
  /** The simulated nodes, if there are any. */
  readonly simulation: Simulation | undefined;
}

/** With these flags the store is not in memory. */
const storeFlags = ['storage-backend', 'kvstore-servers'];

const admin: UserInfo = {name: 'plat-admin', groups: ['system:masters', 'system:authenticated']};

/**
 * Starts a whole control plane in this process and resolves once it serves and every controller's caches are synced: port, store, API server, components,
 * nodes, manifests, kubeconfig, in this order. What was started is stopped again when a later step fails.
 */
export const startPlane = async (given: PlaneOptions = {}): Promise<Plane> => {
  checkOptions(given);
  await using undo = new Undo();
  const inputs = await readInputs(given, undo);
  const {options, naming, clock, log, directory, material} = inputs;
  const unlessStopped = <T>(step: Promise<T>): Promise<T> => (options.signal ? unlessAborted(step, options.signal) : step);
  const metrics = {
    apiserver: metricsOf(inputs.apiserver, naming),
    manager: metricsOf(inputs.controllerManager, naming),
    scheduler: metricsOf(inputs.scheduler, naming),
  };
  inputs.unhandled.countIn(metrics.apiserver);

  let reason = 'the store is not open yet';
  const waiting = waitingServer({
    options: inputs.apiserver.options,
    naming,
    clock,
    log,
    gate: gateOf(inputs.apiserver),
    reason: () => reason,
  });
  const port =
    options.listen === false
      ? undefined
      : await openPlanePort({...inputs, options: inputs.apiserver.options, handler: waiting.handler, meter: metrics.apiserver});
  if (port) undo.defer(() => port.close());
  const store = await openPlaneStore(inputs, why => (reason = why));

  const checks = {scheduler: new HealthChecks(log), 'controller-manager': new HealthChecks(log)};
  const nodes = new PlaneNodes({
    ...inputs,
    count: options.nodes ?? 0,
    rulesFile: options.simulationFile,
    podRanges: inputs.controllerManager.options.clusterCidr,
    version: versionInfoOf(inputs.apiserver).gitVersion,
    meter: metrics.apiserver,
    freeze: options.freeze ?? false,
  });
  const api = await assembleApiServer({
    ...serverParts(inputs, store, port),
    metrics: metrics.apiserver,
    metricsBeside: [metrics.manager, metrics.scheduler],
    ...(options.nodes ? {network: nodes.network} : {}),
    ...((options.metricsApi ?? Boolean(options.nodes)) ? {usage: client => nodes.usage(client)} : {}),
    beside: () => ({
      scheduler: () => checks.scheduler.all('healthz'),
      'controller-manager': () => checks['controller-manager'].all('healthz'),
    }),
  }).catch(async (error: unknown) => {
    await store.close();
    throw error;
  });
  undo.defer(() => api.close());
  if (port) undo.defer(() => port.stop(api));
  waiting.handOver(api.handler);
  await api.begin();
  options.signal?.throwIfAborted();

  const {controllers} = await import('#controllers/index.js');
  const stopping = new AbortController();
  undo.defer(() => stopping.abort()); // Components follow files from their creation on, also those that never run.
  const environment = {clock, random: inputs.random, log, freeze: options.freeze ?? false, signal: stopping.signal};
  const create = <R>(
    component: Component<R>,
    parsed: Parsed<R>,
    own: {readonly checks: HealthChecks; readonly metrics: MetricsRegistry},
  ): Promise<RunnableComponent> =>
    createComponent(
      component,
      parsed,
      inProcessConnection({role: component.role, handler: api.handler, naming, clock, options: parsed.options as never, set: parsed.set}),
      {...environment, ...own},
    );
  const manager = await create(controllerManager(controllers), inputs.controllerManager, {
    checks: checks['controller-manager'],
    metrics: metrics.manager,
  });
  const scheduler = await create(schedulerComponent, inputs.scheduler, {checks: checks.scheduler, metrics: metrics.scheduler});
  for (const component of [manager, scheduler]) {
    const closePort = await component.openPort();
    if (closePort) undo.defer(closePort);
  }
  const runs = [manager, scheduler].map(component => component.run(stopping.signal));
  undo.defer(async () => {
    stopping.abort();
    await Promise.allSettled(runs); // Its error is reported by `failed`.
  });
  const failed = failureOf(runs, stopping.signal);
  await unlessStopped(Promise.race([readiness([manager, scheduler], failed), failed]));

  const stopNodes = await nodes.start(api, inputs.apiserver.options);
  if (stopNodes) undo.defer(stopNodes);

  const client = (user = admin) => api.clientAs(user, 'plat');
  const webhookPair = lazily(() => localServingPair(join(directory, 'pki', 'webhook'), material, clock)); // Two concurrent calls would mix their files.
  const makesAccounts = selectControllers(controllers, inputs.controllerManager.options.controllers).selected.some(
    ({name}) => name === 'serviceaccount-controller',
  );
  const applyAll = async (documents: readonly Document[], webhooks: LocalWebhooks | undefined) => {
    const {applyManifests} = await import('./manifests/apply.js');
    const serving = webhooks && {...webhooks, caBundle: (await webhookPair()).caBundle};
    return applyManifests(documents, {client: client(), clock, serving, makesAccounts});
  };
  if (inputs.manifests.length > 0) await unlessStopped(Promise.race([applyAll(inputs.manifests, options.webhooks), failed]));
  if (port) await writeKubeconfig(inputs, port, undo);
  options.signal?.throwIfAborted();

  const cleanup = undo.move();
  const stop = () => cleanup[Symbol.asyncDispose]();
  return {
    naming,
    url: port ? `https://${port.address}` : '',
    kubeconfig: port ? kubeconfig(port.settings) : '',
    api,
    manager: manager.manager,
    simulation: nodes.simulation,
    client,
    apply: async (more, {webhooks = options.webhooks} = {}) => applyAll(await readAll(isList(more) ? more : [more]), webhooks),
    webhookPair,
    failed,
    stop,
    [Symbol.asyncDispose]: stop,
  };
};

const isList = (manifests: Manifest | readonly Manifest[]): manifests is readonly Manifest[] => Array.isArray(manifests);

const metricsOf = (
  parsed: Pick<Parsed<unknown>, 'gates' | 'versions' | 'version'> & {readonly options: {readonly disabledMetrics: readonly string[]}},
  naming: Naming,
): MetricsRegistry => {
  const metrics = new MetricsRegistry({process: true, disabled: parsed.options.disabledMetrics});
  addBuildMetrics(metrics, parsed, naming);
  return metrics;
};

/** Opens the store that the flags specify; one in memory without a data directory. */
const openPlaneStore = ({options, apiserver, naming, clock, random, log}: PlaneInputs, waiting: (reason: string) => void): Promise<Store> =>
  openStore({
    backend: options.dataDir || storeFlags.some(flag => apiserver.set.has(flag)) ? apiserver.options.storageBackend : 'memory',
    directory: resolve(apiserver.options.dataDir),
    servers: storeServersOf({
      options: apiserver.options,
      naming,
      gate: gateOf(apiserver),
      minCompatibility: apiserver.versions.minCompatibility,
    }),
    naming: naming.name,
    clock,
    random,
    log,
    timeoutMs: apiserver.options.storageInitializationTimeout,
    waiting,
    ...(options.signal ? {signal: options.signal} : {}),
  });

/** The API server's dependencies from flags, store and port. */
const serverParts = (
  {options, apiserver, apiserverArgs, naming, clock, random, log}: PlaneInputs,
  store: Store,
  port: PlanePort | undefined,
): Omit<ApiServerParts, 'metrics'> => ({
  options: apiserver.options,
  naming,
  clock,
  random,
  log,
  store,
  version: versionInfoOf(apiserver),
  versions: apiserver.versions,
  flags: () => flagValues(apiserverFlags, apiserver.options),
  gate: gateOf(apiserver),
  serverAddress: port?.address ?? '',
  // A virtual clock cannot be shared with another thread.
  ...(options.clock instanceof VirtualClock ? {} : {largeRequests: requestThread(apiserverArgs)}),
});

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
const readiness = (components: readonly RunnableComponent[], failed: Promise<never>): Promise<unknown> =>
  Promise.all(components.map(({manager}) => manager.ready)).catch((error: unknown) =>
    error instanceof ListRefused ? Promise.reject(error) : failed,
  );

const writeKubeconfig = async ({options, directory, log}: PlaneInputs, {settings}: PlanePort, undo: Undo): Promise<void> => {
  if (!options.dataDir && !options.kubeconfig) return;
  const merged = await mergeKubeconfig(options.kubeconfig ?? join(directory, 'kubeconfig'), {settings, directory, log});
  if (options.removeContextOnStop)
    undo.defer(() =>
      merged.remove().catch((error: unknown) => log.warn({err: error}, 'the context of the plane stays in the kubeconfig file')),
    );
};
