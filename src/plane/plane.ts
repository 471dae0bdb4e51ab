import {mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join, resolve} from 'node:path';
import {ListRefused} from '#informers/refusal.js';
import {naming as namingOf, type Naming} from '#src/api/naming.js';
import type {UserInfo} from '#src/api/user.js';
import {every, systemClock, withErrorHandler, type Clock} from '#src/base/clock.js';
import {lazily} from '#src/base/lazily.js';
import {noLog, type Log} from '#src/base/log.js';
import {systemRandom, type Random} from '#src/base/random.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {Undo} from '#src/base/undo.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {UnhandledErrors} from '#src/observe/unhandled.js';
import {apiserverFlags, type ApiserverOptions} from '#src/options/apiserver.js';
import {controllerManagerFlags} from '#src/options/controller-manager.js';
import {flagValues} from '#src/options/flag-values.js';
import {parseFlags, type Parsed} from '#src/options/parse.js';
import {planeNaming} from '#src/options/shared/naming.js';
import {schedulerFlags} from '#src/options/scheduler.js';
import {gateOf, versionInfoOf} from '#src/options/parsed-options.js';
import {selectControllers} from '#src/runtime/selection.js';
import type {Manager} from '#src/runtime/manager.js';
import {unlessAborted} from '#src/runtime/shutdown.js';
import type {Simulation} from '#src/simulation/simulation.js';
import {openStore} from '#src/storage/open.js';
import {assembleApiServer, serverUser, type RunningApiServer} from './api-server.js';
import {apiserverArgs, concerns, controllerManagerArgs, schedulerArgs} from './arguments.js';
import {checkOptions} from './check-options.js';
import {addBuildMetrics} from './component/metrics.js';
import type {ComponentParts} from './components.js';
import {createComponent} from './component/component.js';
import {inProcessConnection} from './component/in-process.js';
import {controllerManager} from './controller-manager/component.js';
import {checkKubeconfig, mergeKubeconfig} from './kubeconfig/file.js';
import {kubeconfig, type AdminSettings} from './kubeconfig/settings.js';
import type {Plane as EmbeddedPlane} from './embedded.js';
import {planeNodes} from './nodes.js';
import type {PlaneOptions} from './options.js';
import {planeUsage} from './usage.js';
import type {Document, Manifest} from './manifests/read.js';
import type {LocalWebhooks} from './manifests/webhooks.js';
import {localServingPair, planeMaterial, type PlaneMaterial} from './material.js';
import {firstServiceAddress} from './self-service.js';
import {simulatedNetwork} from './simulated-network.js';
import {scheduler as schedulerOf} from './scheduler.js';
import {storeServersOf} from './store-servers.js';
import {planeServingCertificate, renewAfterMs} from './serving-certificate.js';
import {hostPort, openSockets, type Sockets} from './sockets.js';

/** A control plane that runs, with its parts. */
export interface Plane extends EmbeddedPlane {
  readonly api: RunningApiServer;
  readonly manager: Manager;
  /** The simulated nodes, if there are any. */
  readonly simulation: Simulation | undefined;
}

/** Who says where the store is does not want it in memory. */
const storeFlags = ['storage-backend', 'kvstore-servers'];

const admin: UserInfo = {name: 'plat-admin', groups: ['system:masters', 'system:authenticated']};

/** Starts a whole control plane in this process and resolves once it serves and every controller's caches are synced. */
export const startPlane = async (given: PlaneOptions = {}): Promise<Plane> => {
  checkOptions(given);
  const options = {...given, naming: given.naming ?? planeNaming.naming.default};
  const {random = systemRandom, log = noLog} = options;
  const unhandled = new UnhandledErrors(log);
  const clock = guardedClock(options.clock, unhandled);
  const naming = namingOf(options.naming);
  const manifests = options.manifests?.length ? await readAll(options.manifests) : [];
  if (options.kubeconfig) await checkKubeconfig(options.kubeconfig);
  const directory = options.dataDir ? resolve(options.dataDir) : mkdtempSync(join(tmpdir(), 'plat-'));
  await using undo = new Undo();
  if (!options.dataDir) undo.defer(() => rmSync(directory, {recursive: true, force: true}));
  const material = await planeMaterial(join(directory, 'pki'), clock, log);
  const serverArgs = apiserverArgs({...options, dataDir: directory}, material);
  const apiserver = parseFlags(apiserverFlags, serverArgs);
  const controllers = parseFlags(controllerManagerFlags, controllerManagerArgs(options, material, apiserver.versions));
  const scheduling = parseFlags(schedulerFlags, schedulerArgs(options, apiserver.versions));
  const asked = [...(options.apiserverArgs ?? []), ...(options.controllerManagerArgs ?? []), ...(options.schedulerArgs ?? [])];
  for (const warning of [...apiserver.warnings, ...controllers.warnings, ...scheduling.warnings]) if (concerns(warning, asked)) log.warn(warning);

  const store = await openStore({
    backend: options.dataDir || storeFlags.some(flag => apiserver.set.has(flag)) ? apiserver.options.storageBackend : 'memory',
    directory: resolve(apiserver.options.dataDir),
    servers: storeServersOf({options: apiserver.options, naming, gate: gateOf(apiserver), minCompatibility: apiserver.versions.minCompatibility}),
    naming: naming.name,
    clock,
    random,
    log,
    timeoutMs: apiserver.options.storageInitializationTimeout,
    ...(options.signal ? {signal: options.signal} : {}),
  });
  const [metrics, managerMetrics, schedulerMetrics] = [metricsOf(apiserver, naming), metricsOf(controllers, naming), metricsOf(scheduling, naming)];
  unhandled.countIn(metrics);
  let address = '';
  let simulation: Simulation | undefined;
  let beside: ReturnType<NonNullable<ComponentParts['beside']>> = {};
  const api: RunningApiServer = await assembleApiServer({
    options: apiserver.options,
    naming,
    clock,
    random,
    log,
    metrics,
    metricsBeside: [managerMetrics, schedulerMetrics],
    store,
    version: versionInfoOf(apiserver),
    versions: apiserver.versions,
    flags: () => flagValues(apiserverFlags, apiserver.options),
    gate: gateOf(apiserver),
    serverAddress: () => address,
    // Another thread would have a time of its own.
    ...(options.clock instanceof VirtualClock ? {} : {threadArgs: serverArgs}),
    ...(options.nodes ? {network: simulatedNetwork({naming, clock, random, log, simulation: () => simulation})} : {}),
    usage: (options.metricsApi ?? Boolean(options.nodes)) ? planeUsage({simulation: () => simulation, client: () => api.clientAs(serverUser), clock, log}) : undefined,
    beside: () => beside,
  });
  undo.defer(() => api.close());
  const sockets = options.listen === false ? undefined : await openPort(apiserver.options, api, material, {clock, random, log, naming});
  if (sockets) undo.defer(() => sockets.stop());
  address = sockets ? hostPort(sockets) : '';
  await api.begin();
  options.signal?.throwIfAborted();

  const {controllers: all} = await import('#controllers/index.js');
  const stopping = new AbortController();
  const environment = {clock, random, log, freeze: options.freeze ?? false, signal: stopping.signal};
  const inProcess = (role: string, {options: own, set}: typeof controllers | typeof scheduling) => inProcessConnection({role, handler: api.handler, naming, clock, options: own, set});
  const managerComponent = await createComponent(controllerManager(all), controllers, inProcess('controller-manager', controllers), {...environment, metrics: managerMetrics});
  const schedulerComponent = await createComponent(schedulerOf, scheduling, inProcess('scheduler', scheduling), {...environment, metrics: schedulerMetrics});
  for (const component of [managerComponent, schedulerComponent]) {
    const closePort = await component.openPort();
    if (closePort) undo.defer(closePort);
  }
  const [{manager}, {manager: scheduler}] = [managerComponent, schedulerComponent];
  beside = {scheduler: () => scheduler.health(), 'controller-manager': () => manager.health()};
  const runs = [managerComponent, schedulerComponent].map(each => each.run(stopping.signal));
  undo.defer(async () => {
    stopping.abort();
    await Promise.allSettled(runs); // Why one failed is told by `failed`.
  });
  const failed = Promise.race(runs).then(ending => {
    if (stopping.signal.aborted) return new Promise<never>(() => {});
    throw new Error(`the controllers ended by themselves: ${ending}`);
  });
  failed.catch(() => {});
  const wanted = <T>(work: Promise<T>): Promise<T> => (options.signal ? unlessAborted(work, options.signal) : work);
  await wanted(Promise.race([Promise.all([manager.ready, scheduler.ready]).catch((error: unknown) => (error instanceof ListRefused ? Promise.reject(error) : failed)), failed]));
  simulation = await planeNodes({
    count: options.nodes ?? 0,
    rulesFile: options.simulationFile,
    podRanges: controllers.options.clusterCidr,
    api,
    options: apiserver.options,
    version: versionInfoOf(apiserver).gitVersion,
    naming,
    clock,
    random,
    log,
    meter: metrics,
    freeze: options.freeze ?? false,
  });
  const nodes = simulation;
  if (nodes) undo.defer(() => nodes.stop());

  const client = (user = admin) => api.clientAs(user, 'plat');
  const webhookPair = lazily(() => localServingPair(join(directory, 'pki', 'webhook'), material, clock)); // Two at once would mix their files.
  const applyAll = async (documents: readonly Document[], webhooks: LocalWebhooks | undefined) => {
    const {applyManifests} = await import('./manifests/apply.js');
    const serving = webhooks && {...webhooks, caBundle: (await webhookPair()).caBundle};
    return applyManifests(documents, {client: client(), clock, serving, makesAccounts: selectControllers(all, controllers.options.controllers).selected.some(({name}) => name === 'serviceaccount-controller')});
  };
  if (manifests.length > 0) await wanted(Promise.race([applyAll(manifests, options.webhooks), failed]));

  const settings = sockets ? adminSettings(sockets, material) : undefined;
  if (settings && (options.dataDir || options.kubeconfig)) {
    const merged = await mergeKubeconfig(options.kubeconfig ?? join(directory, 'kubeconfig'), {settings, directory, log});
    if (options.removeContextOnStop) undo.defer(() => merged.remove().catch((error: unknown) => log.warn({err: error}, 'the context of the plane stays in the kubeconfig file')));
  }
  options.signal?.throwIfAborted();
  const cleanup = undo.move();
  const stop = () => cleanup[Symbol.asyncDispose]();
  return {
    naming,
    url: address && `https://${address}`,
    kubeconfig: settings ? kubeconfig(settings) : '',
    api,
    manager,
    simulation,
    client,
    apply: async (more, {webhooks = options.webhooks} = {}) => applyAll(await readAll(isList(more) ? more : [more]), webhooks),
    webhookPair,
    failed,
    stop,
    [Symbol.asyncDispose]: stop,
  };
};

const metricsOf = (parsed: Pick<Parsed<unknown>, 'gates' | 'versions' | 'version'> & {readonly options: {readonly disabledMetrics: readonly string[]}}, naming: Naming): MetricsRegistry => {
  const metrics = new MetricsRegistry({process: true, disabled: parsed.options.disabledMetrics});
  addBuildMetrics(metrics, parsed, naming);
  return metrics;
};

/** Most planes do without the code for manifests. */
const readAll = async (manifests: readonly Manifest[]): Promise<Document[]> => (await import('./manifests/read.js')).readManifests(manifests);

const isList = (manifests: Manifest | readonly Manifest[]): manifests is readonly Manifest[] => Array.isArray(manifests);

const openPort = async (
  options: ApiserverOptions,
  running: RunningApiServer,
  {authority}: PlaneMaterial,
  {naming, ...ports}: {clock: Clock; random: Random; log: Log; naming: Naming},
): Promise<Sockets & {stop(): Promise<void>}> => {
  const certificate = () => planeServingCertificate(authority, {clock: ports.clock, naming, hosts: [firstServiceAddress(options), options.bindAddress, options.externalHostname].filter(Boolean)});
  const sockets = await openSockets({options, handler: running.handler, meter: running.metrics, tls: await certificate(), ...ports});
  let renewAt = ports.clock.now() + renewAfterMs;
  const over = new AbortController();
  every(ports.clock, renewalCheckMs, over.signal, async () => {
    if (ports.clock.now() < renewAt) return;
    sockets.listener.setSecureContext(await certificate());
    renewAt = ports.clock.now() + renewAfterMs;
  });
  return {
    ...sockets,
    stop() {
      over.abort();
      return sockets.stop(running);
    },
  };
};

/** How often it is seen whether the serving certificate is due; also how soon a renewal that failed is tried again. */
const renewalCheckMs = 3_600_000;

/** The plane's clock: an error of a callback is reported and neither ends the process nor the rest of the plane. A clock that was given hears of it too. */
const guardedClock = (given: Clock | undefined, unhandled: UnhandledErrors): Clock =>
  withErrorHandler(given ?? systemClock, error => {
    unhandled.handle(error);
    given?.unhandled(error);
  });

const adminSettings = (sockets: Sockets, {files}: PlaneMaterial): AdminSettings => ({
  server: `https://${hostPort(sockets)}`,
  ca: readFileSync(files.ca, 'utf8'),
  certificate: readFileSync(files.admin, 'utf8'),
  key: readFileSync(files.adminKey, 'utf8'),
});
