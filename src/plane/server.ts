// The API server of a plane with what is under and beside it: port, store, metrics, nodes and recorder.

import {join, resolve} from 'node:path';
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
import {gateOf, versionInfoOf} from '#src/options/parsed-options.js';
import {selectControllers} from '#src/runtime/selection.js';
import {openStore} from '#src/storage/backend/open.js';
import type {Store} from '#src/storage/store.js';
import {openRecorder} from './component/recorder.js';
import {assembleApiServer, type RunningApiServer} from './api-server/api-server.js';
import {componentMetrics} from './component/metrics.js';
import type {Plane as EmbeddedPlane} from './inputs/embedded.js';
import type {PlaneInputs} from './inputs/inputs.js';
import type {Document} from './manifests/read.js';
import type {LocalWebhooks} from './manifests/webhooks.js';
import {localServingPair} from './inputs/material.js';
import {PlaneNodes} from './nodes/nodes.js';
import {openPlanePort, type PlanePort} from './api-server/port.js';
import type {Recorder} from '#src/recorder/recorder.js';
import {requestThread} from './request-thread/request-thread.js';
import {etcdDialer} from '#src/plane/outgoing/egress.js';
import {storeServersOf} from './api-server/store-servers.js';

/** With these flags the store is not in memory. */
const storeFlags = ['storage-backend', 'kvstore-servers'];

export const admin: UserInfo = {name: 'plat-admin', groups: ['system:masters', 'system:authenticated']};

/** An API server with its port, and what is prepared for the parts that start after it. */
export interface Server {
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
export const serve = async (
  inputs: PlaneInputs,
  open: (inputs: PlaneInputs, processes: Processes, port: PlanePort | undefined) => Promise<Store>,
  undo: Undo,
): Promise<Server> => {
  const processes = await processesOf(inputs);
  const port = await openPort(inputs, processes, undo);
  const recorder = await openRecorder(inputs.apiserver.options, {...inputs, diskClock: systemClock, meter: processes.apiserver.metrics});
  if (recorder) undo.defer(() => recorder.close());
  const store = await open(inputs, processes, port);
  const nodes = nodesOf(inputs, processes);
  const api = await startApiServer(inputs, {processes, port, store, nodes, recorder}, undo);
  const client = (user = admin, userAgent = 'plat') =>
    clientOf(api.clientAs(user, userAgent), {clock: inputs.clock, fieldManager: userAgent.split('/', 1)[0]!});
  return {inputs, processes, port, store, nodes, recorder, api, client, manifests: await manifestsOf(inputs, client)};
};

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

export type Processes = Awaited<ReturnType<typeof processesOf>>;

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
export const openPlaneStore = async (
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

/** What applies manifests to the plane, for its own start and for its owner. */
const manifestsOf = async ({directory, disk, material, controllerManager, clock, log}: PlaneInputs, client: () => Client) => {
  const {controllers} = await import('#controllers/index.js');
  const makesAccounts = selectControllers(controllers, controllerManager.options.controllers).selected.some(
    ({name}) => name === 'serviceaccount-controller',
  );
  const webhookPair = lazily(() => localServingPair(join(directory, 'pki', 'webhook'), material, clock, disk)); // Two concurrent calls would mix their files.
  return {
    webhookPair,
    /**
     * Resolves once pods can be created in the namespace `default`; after a time also where its account is not made.
     */
    async untilPodsAreTaken() {
      if (!makesAccounts) return;
      const {accountIn} = await import('./manifests/account.js');
      await accountIn('default', {client: client(), clock}).catch((error: unknown) => log.warn({err: error}, 'pods cannot be created yet'));
    },
    async apply(documents: readonly Document[], webhooks: LocalWebhooks | undefined) {
      const {applyManifests} = await import('./manifests/apply.js');
      const serving = webhooks && {...webhooks, caBundle: (await webhookPair()).caBundle};
      return applyManifests(documents, {client: client(), clock, serving, makesAccounts});
    },
  };
};
