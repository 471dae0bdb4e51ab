import type {Naming} from '#src/api/naming.js';
import {sleep, type Clock} from '#src/base/clock.js';
import {systemFiles} from '#src/base/files/files.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import {systemRandom as random} from '#src/base/random.js';
import {Undo} from '#src/base/undo.js';
import type {GateName} from '#src/options/gate-table.js';
import {gateOf} from '#src/options/parsed-options.js';
import {startAgent} from '#src/platlet/agent/agent.js';
import type {Settings} from '#src/platlet/config/fields.js';
import {tracingOf} from '#src/platlet/config/settings.js';
import {driverOf} from '#src/platlet/cgroups/driver.js';
import {CriRuntime} from '#src/platlet/cri/runtime.js';
import {systemHost} from '#src/platlet/host/system-host.js';
import {readMachine} from '#src/platlet/node/machine.js';
import type {RuntimeVersion} from '#src/platlet/runtime/runtime.js';
import {agentMetrics} from '#src/platlet/metrics/agent-metrics.js';
import {runtimeCalls} from '#src/platlet/metrics/runtime-calls.js';
import {addBuildMetrics} from '#src/plane/component/metrics.js';
import {agentSecurity} from '#src/platlet/server/security.js';
import {untilStopped} from '#src/program/program.js';
import type {ServerConnection} from '#src/cli/program/connection.js';
import {systemNetwork, type Network} from '#src/transport/network.js';
import {collectorOf} from '#src/transport/otlp/target.js';
import type {Tracing} from '#src/transport/otlp/tracing.js';
import {agentFlagsOf, clientsOf, identityOf, runtimeOf, systemAddresses} from './agent-inputs.js';
import {claimMachine, type ClaimedMachine} from './claim.js';
import type {AgentInvocation} from './configuration.js';
import {joinCluster} from './joining.js';
import {staticPodValidation} from './pod-validation.js';
import {debugRoutes, metricRoutes} from './routes.js';
import {storageOf} from './machine.js';
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
  const {clock, log, stopping, ready} = given;
  const claimed = await claimMachine(given, undo);
  const {settings, meter, nodeName, signal} = claimed;
  const {joined, connection, naming} = await connected(given, claimed, undo);
  const reached = await reachedRuntime(given, claimed, naming, undo);
  const {runtime, runtimeVersion, machine} = reached;
  const network = systemNetwork(clock);
  const tracing = await openTracing(given, settings, {network, name: naming.agent, nodeName});
  undo.defer(() => tracing?.close());
  const {follow, serving} = await servingOf(given, claimed, {connection, naming});
  const gate = gateOf(given.parsed);
  const {options} = given.parsed;
  const addresses = systemAddresses(name => network.resolve(name));
  const version = given.version.gitVersion;
  const agent = await startAgent({
    identity: identityOf(options, settings, {naming, nodeName, host: claimed.host, version, machine, addresses}),
    settings,
    clients: clientsOf(connection, settings, naming),
    runtime,
    runtimeVersion,
    host: systemHost,
    flags: {...agentFlagsOf(options, settings), cgroupDriver: reached.cgroupDriver},
    naming,
    network,
    files: systemFiles,
    clock,
    random,
    log,
    meter,
    metrics: reached.metrics,
    tracer: tracing?.tracer,
    gate,
    credentialProviders: claimed.credentialProviders,
    serving,
    validatePod: staticPodValidation({naming, clock, random, nodeName, gate: name => gate(name as GateName)}),
  });
  undo.defer(() => agent[Symbol.asyncDispose]());
  follow(signal, context => agent.ports.setSecureContext(context));
  ready(
    `node ${nodeName} at work ${connection ? `against ${connection.server}` : 'without an API server'} (${naming.name} naming), with ${runtimeVersion.name} ${runtimeVersion.version}`,
  );
  await Promise.race([untilStopped(stopping), ...(claimed.contended ? [claimed.contended] : []), ...(joined ? [joined.lost] : [])]);
};

/** Joins the cluster, if there is one. */
const connected = async (given: Given, {settings, meter, nodeName, signal}: ClaimedMachine, undo: Undo) => {
  const {parsed} = given;
  const joined = parsed.options.platconfig ? await joinCluster({given, settings, meter, nodeName, signal}) : undefined;
  undo.defer(() => joined?.[Symbol.asyncDispose]());
  const connection = joined?.connection;
  return {joined, connection, naming: connection?.naming ?? parsed.naming};
};

/** Reaches the container runtime, and reads what the machine has. */
const reachedRuntime = async (given: Given, {settings, meter}: ClaimedMachine, naming: Naming, undo: Undo) => {
  const {parsed, clock, log, stopping} = given;
  addBuildMetrics(meter, parsed, naming);
  const metrics = agentMetrics(meter, naming);
  const runtime = new CriRuntime({...runtimeOf(settings), clock, log, called: runtimeCalls(metrics)});
  undo.defer(() => runtime[Symbol.asyncDispose]());
  const runtimeVersion = await reachRuntime(runtime, clock, log, stopping);
  const cgroupDriver = driverOf(await runtime.cgroupDriver(), settings.cgroupDriver);
  const storageBytes = () => storageOf(parsed.options.rootDir);
  const machine = await readMachine({files: systemFiles, platform: process.platform, arch: process.arch, storageBytes});
  return {metrics, runtime, runtimeVersion, machine, cgroupDriver};
};

interface Joined {
  readonly connection: ServerConnection | undefined;
  readonly naming: Naming;
}

/** What the agent's port serves, and whom. `follow` serves renewed certificates. */
const servingOf = async (given: Given, {settings, meter, host, signal}: ClaimedMachine, {connection, naming}: Joined) => {
  const {parsed, clock, log} = given;
  const delegate = connection?.client('reviews', {rateLimit: {qps: -1, burst: 0}, timeoutMs: 10_000});
  const withUid = gateOf(parsed)('AllowParsingUserUIDFromCertAuth');
  const security = await agentSecurity({settings, delegate, naming, clock, random, files: systemFiles, log, signal, withUid});
  const {follow, ...certificate} = await agentServing(given, settings, {host, name: naming.agent, signal});
  const [routes, debugging] = [metricRoutes(meter), debugRoutes(given, settings, naming)];
  return {follow, serving: {...security, ...certificate, routes, debugging}};
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
