import {hostname, networkInterfaces} from 'node:os';
import {resolve} from 'node:path';
import type {Naming} from '#src/api/naming.js';
import {sleep, type Clock} from '#src/base/clock.js';
import {systemFiles} from '#src/base/files/files.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import {systemRandom as random} from '#src/base/random.js';
import {Undo} from '#src/base/undo.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import type {GateName} from '#src/options/gate-table.js';
import {gateOf} from '#src/options/parsed-options.js';
import {binaryVersion} from '#src/options/versions.js';
import {startAgent} from '#src/platlet/agent/agent.js';
import type {Settings} from '#src/platlet/config/fields.js';
import {tracingOf} from '#src/platlet/config/settings.js';
import {checkConfiguration} from '#src/platlet/config/validate.js';
import {driverProblem} from '#src/platlet/cgroups/driver.js';
import {CriRuntime} from '#src/platlet/cri/runtime.js';
import {loadProviders, type InstalledProviders} from '#src/platlet/credential-providers/load.js';
import {lockAgentFolder} from '#src/platlet/host/agent-lock.js';
import {lockFile, untilContended} from '#src/platlet/host/file-lock.js';
import {containerLogsOf} from '#src/platlet/host/folders.js';
import {systemHost} from '#src/platlet/host/system-host.js';
import {nodeAddresses, nodeNameOf, providedAddressesOf, type NodeAddress} from '#src/platlet/node/addresses.js';
import {uninitializedTaint} from '#src/platlet/node/node-object.js';
import {readMachine} from '#src/platlet/node/machine.js';
import type {RuntimeVersion} from '#src/platlet/runtime/runtime.js';
import {agentMetrics, type AgentMetrics} from '#src/platlet/metrics/agent-metrics.js';
import {runtimeCalls} from '#src/platlet/metrics/runtime-calls.js';
import {addBuildMetrics} from '#src/plane/component/metrics.js';
import {standaloneClient} from '#src/platlet/agent/standalone.js';
import {agentSecurity} from '#src/platlet/server/security.js';
import {untilStopped} from '#src/program/program.js';
import type {AgentClients, AgentFlags, AgentIdentity} from '#src/platlet/agent/parts.js';
import type {ServerConnection} from '#src/cli/program/connection.js';
import {systemNetwork, type Network} from '#src/transport/network.js';
import {collectorOf} from '#src/transport/otlp/target.js';
import type {Tracing} from '#src/transport/otlp/tracing.js';
import {namingsOf, type AgentInvocation} from './configuration.js';
import {joinCluster} from './joining.js';
import {staticPodValidation} from './pod-validation.js';
import {debugRoutes, metricRoutes} from './routes.js';
import {defaultAddress, hasSwap, isCgroupV1, storageOf} from './machine.js';
import {agentServing} from './serving.js';

type Given = AgentInvocation;

/** `platlet`: the agent of this machine, until it is stopped. */
export const runPlatlet = async (given: Given): Promise<number> => {
  await using undo = new Undo();
  await Promise.race([runAgent(given, undo), untilStopped(given.stopping)]);
  given.log.info('stopping');
  return 0;
};

const runAgent = async (given: Given, undo: Undo): Promise<void> => {
  const {parsed, clock, log, stopping, ready, unhandled} = given;
  const {options} = parsed;
  const gate = gateOf(parsed);
  const settings = await checkedSettings(given);
  const meter = openMeter(settings);
  unhandled.countIn(meter);
  const host = options.hostnameOverride.trim() || hostname();
  const nodeName = nodeNameOf(host);
  const ending = new AbortController();
  undo.defer(() => ending.abort());
  const {signal} = ending;
  const credentialProviders = await credentialProvidersOf(given);
  const own = await lockAgentFolder(systemHost, resolve(options.rootDir), signal).catch((error: unknown) => {
    throw new Error(`--root-dir: ${messageOf(error)}`, {cause: error});
  });
  undo.defer(() => own?.[Symbol.asyncDispose]());
  const contended = await lockedUntil(given, undo, signal);
  const joined = options.platconfig ? await joinCluster({given, settings, meter, nodeName, signal}) : undefined;
  undo.defer(() => joined?.[Symbol.asyncDispose]());
  const connection = joined?.connection;
  const naming = connection?.naming ?? parsed.naming;
  addBuildMetrics(meter, parsed, naming);
  const metrics = agentMetrics(meter, naming);
  const runtime = runtimeOf(given, settings, metrics);
  undo.defer(() => runtime[Symbol.asyncDispose]());
  const runtimeVersion = await reachRuntime(runtime, clock, log, stopping);
  const problem = driverProblem(await runtime.cgroupDriver(), settings.cgroupDriver);
  if (problem !== undefined) throw new Error(problem);
  const machine = await readMachine({
    files: systemFiles,
    platform: process.platform,
    arch: process.arch,
    storageBytes: () => storageOf(options.rootDir),
  });
  if (!connection && settings.podCIDR) await runtime.updatePodCidr(settings.podCIDR);
  const network = systemNetwork(clock);
  const tracing = await openTracing(given, settings, {network, name: naming.agent, nodeName});
  undo.defer(() => tracing?.close());
  const addresses = () => addressesOf(given, nodeName, host);
  const delegate = connection?.client('reviews', {rateLimit: unlimited, timeoutMs: 10_000});
  const withUid = gate('AllowParsingUserUIDFromCertAuth');
  const security = await agentSecurity({settings, delegate, naming, clock, random, files: systemFiles, log, signal, withUid});
  const {follow, ...serving} = await agentServing(given, settings, {host, name: naming.agent, signal});
  const agent = await startAgent({
    identity: {...identityOf(given, settings, naming), nodeName, hostname: nodeName, addresses, machine},
    settings,
    clients: connection ? clientsOf(connection, settings) : standaloneClients(naming),
    runtime,
    runtimeVersion,
    host: systemHost,
    flags: agentFlags(given, settings),
    naming,
    network,
    files: systemFiles,
    clock,
    random,
    log,
    meter,
    metrics,
    tracer: tracing?.tracer,
    gate,
    credentialProviders,
    serving: {...security, ...serving, routes: metricRoutes(meter), debugging: debugRoutes(given, settings, naming)},
    validatePod: staticPodValidation({naming, clock, random, nodeName, gate: name => gate(name as GateName)}),
  });
  undo.defer(() => agent[Symbol.asyncDispose]());
  follow(signal, context => agent.ports.setSecureContext(context));
  ready(
    `node ${nodeName} at work ${connection ? `against ${connection.server}` : 'without an API server'} (${naming.name} naming), with ${runtimeVersion.name} ${runtimeVersion.version}`,
  );
  await Promise.race([untilStopped(stopping), ...(contended ? [contended] : []), ...(joined ? [joined.lost] : [])]);
};

/** Loads the programs that provide credentials for images, before anything of the machine is touched. */
const credentialProvidersOf = async ({parsed}: Given): Promise<InstalledProviders | undefined> => {
  const {imageCredentialProviderConfig: configuration, imageCredentialProviderBinDir: programs} = parsed.options;
  if (!configuration) return undefined;
  const acceptsTokens = gateOf(parsed)('PlatletServiceAccountTokenForCredentialProviders');
  return loadProviders({configuration, programs, namings: namingsOf(parsed), acceptsTokens}).catch((error: unknown) => {
    throw new Error(`--image-credential-provider-config: ${messageOf(error)}`, {cause: error});
  });
};

/**
 * Locks the file of `--lock-file`, once no other process has it. With `--exit-on-lock-contention` it returns a promise
 * that resolves when another process wants it.
 */
const lockedUntil = async ({parsed: {options}, clock, log}: Given, undo: Undo, signal: AbortSignal): Promise<Promise<void> | undefined> => {
  const {lockFile: path, exitOnLockContention} = options;
  if (!path) return undefined;
  log.info({file: path}, 'acquiring the file lock');
  const lock = await lockFile(path, signal).catch((error: unknown) => {
    throw new Error(`--lock-file: unable to acquire file lock on "${path}": ${messageOf(error)}`, {cause: error});
  });
  undo.defer(() => lock[Symbol.asyncDispose]());
  if (!exitOnLockContention) return undefined;
  return untilContended(lock, clock, signal).then(() => log.info({file: path}, 'another process wants the file lock'));
};

interface Traced {
  readonly network: Network;
  readonly name: string;
  readonly nodeName: string;
}

/** Opens the tracing that the configuration has; undefined if nothing is sampled. */
const openTracing = async ({clock, log}: Given, settings: Settings, {network, name, nodeName}: Traced): Promise<Tracing | undefined> => {
  const {endpoint, samplingRatePerMillion} = tracingOf(settings);
  if (samplingRatePerMillion === 0) return undefined;
  const {tracingTo} = await import('#src/transport/otlp/tracing.js');
  const resource = {'service.name': name, 'host.name': nodeName};
  return tracingTo({server: collectorOf(endpoint), samplingRatePerMillion, resource, network, clock, log});
};

const openMeter = ({showHiddenMetricsForVersion}: Settings): MetricsRegistry =>
  new MetricsRegistry({process: true, showsHidden: showHiddenMetricsForVersion !== '', release: binaryVersion});

type Identity = Pick<AgentIdentity, 'labels' | 'taints' | 'version' | 'hasExternalCloud' | 'providedAddresses'>;

const identityOf = ({parsed: {options}, version}: Given, settings: Settings, naming: Naming): Identity => {
  const hasExternalCloud = isExternalCloud(options);
  const taints = settings.registerWithTaints as unknown as AgentIdentity['taints'];
  return {
    labels: Object.fromEntries(options.nodeLabels),
    taints: hasExternalCloud ? [...taints, uninitializedTaint(naming)] : taints,
    version: version.gitVersion,
    hasExternalCloud,
    providedAddresses: hasExternalCloud ? providedAddressesOf(options.nodeIp) : undefined,
  };
};

const isExternalCloud = ({cloudProvider}: {readonly cloudProvider: string}): boolean => cloudProvider === 'external';

const agentFlags = ({parsed: {options}}: Given, settings: Settings): AgentFlags => ({
  rootDir: options.rootDir,
  ...(options.runtimeCgroups ? {runtimeGroup: options.runtimeCgroups} : {}),
  containerLogs: containerLogsOf(settings.podLogsDir),
  allocatesThresholds: options.experimentalAllocatableIgnoreEviction,
  mounterPath: options.experimentalMounterPath,
  garbage: {
    minAgeMs: options.minimumContainerTtlDuration,
    maxPerContainer: options.maximumDeadContainersPerContainer,
    maxContainers: options.maximumDeadContainers,
  },
});

const runtimeOf = ({clock, log}: Given, settings: Settings, metrics: AgentMetrics): CriRuntime =>
  new CriRuntime({
    endpoint: settings.containerRuntimeEndpoint,
    imageEndpoint: settings.imageServiceEndpoint || undefined,
    requestTimeoutMs: settings.runtimeRequestTimeout,
    clock,
    log,
    called: runtimeCalls(metrics),
  });

const standaloneClients = (naming: Naming): AgentClients => {
  const client = standaloneClient(naming);
  return {main: client, events: client, heartbeats: client, isStandalone: true};
};

const unlimited = {qps: -1, burst: 0};

/** Heartbeats and events do not wait behind other requests. */
const clientsOf = (connection: ServerConnection, settings: Settings): AgentClients => ({
  isStandalone: false,
  main: connection.client(''),
  events: connection.client('events', {rateLimit: {qps: settings.eventRecordQPS || 5, burst: settings.eventBurst || 10}}),
  heartbeats: connection.client('heartbeat', {
    rateLimit: unlimited,
    timeoutMs: Math.min(settings.nodeStatusUpdateFrequency, settings.nodeLeaseDurationSeconds * 1000),
  }),
});

/** Returns the configuration, if the agent can work with it on this machine. */
const checkedSettings = async ({parsed, log}: Given): Promise<Settings> => {
  const {options, settings} = parsed;
  const v1 = await isCgroupV1();
  try {
    checkConfiguration(settings, options.config, {naming: parsed.naming, gate: gateOf(parsed), isCgroupV1: v1});
  } catch (error) {
    if (!v1 || !settings.failCgroupV1) throw error;
    throw new Error(`${messageOf(error)} (--fail-cgroupv1=false, or failCgroupV1 of the configuration file, allows it)`, {cause: error});
  }
  if (v1)
    log.warn('cgroup v1 detected. cgroup v1 support is deprecated and will be removed in a future release. Please migrate to cgroup v2.');
  if (v1 && settings.kernelMemcgNotification) await checkMemoryWatch();
  if (settings.failSwapOn && (await hasSwap()))
    throw new Error('running with swap on is not supported, please disable swap or set --fail-swap-on flag to false');
  return settings;
};

/** Rejects if the kernel's notifications about memory are not available. */
const checkMemoryWatch = async (): Promise<void> => {
  try {
    const ignore = (): void => {};
    using _ = await systemHost.openMemoryWatch(ignore, ignore);
  } catch (error) {
    throw new Error(`--kernel-memcg-notification needs perl on a machine with cgroup v1: ${messageOf(error)}`, {cause: error});
  }
};

/** How long the runtime may take to answer for the first time. */
const reachMs = 5_000;

const reachRuntime = async (runtime: CriRuntime, clock: Clock, log: Log, signal: AbortSignal): Promise<RuntimeVersion> => {
  const deadline = clock.monotonic() + reachMs;
  for (let delay = 100; ; delay = Math.min(delay * 2, 3_000)) {
    try {
      return await runtime.check();
    } catch (error) {
      if (clock.monotonic() + delay > deadline || signal.aborted)
        throw new Error(`--container-runtime-endpoint, or containerRuntimeEndpoint of the configuration file: ${messageOf(error)}`, {
          cause: error,
        });
      log.v(1).info({err: error}, 'the container runtime does not answer yet');
    }
    await sleep(clock, delay, signal);
  }
};

const addressesOf = ({parsed: {options}, clock}: Given, nodeName: string, host: string): Promise<readonly NodeAddress[]> =>
  nodeAddresses({
    nodeName,
    hostname: nodeName,
    nodeIps: options.nodeIp,
    hasExternalCloud: isExternalCloud(options),
    interfaces: () => Object.values(networkInterfaces()).flatMap(all => (all ?? []).map(({address}) => address)),
    defaultAddress,
    resolve: name => systemNetwork(clock).resolve(name === nodeName ? host : name),
  });
