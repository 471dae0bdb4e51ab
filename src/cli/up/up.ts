import {join, resolve} from 'node:path';
import {sleep} from '#src/base/clock.js';
import {Undo} from '#src/base/undo.js';
import {shellQuoted} from '#src/base/text/shell-quoted.js';
import {defaultDataDir, type upFlags} from '#src/options/programs/up.js';
import {defaultRecordSize} from '#src/options/shared/record.js';
import {defaultContext} from '#src/plane/kubeconfig/settings.js';
import type {PlaneOptions} from '#src/plane/inputs/options.js';
import {startPlane, type Plane} from '#src/plane/plane.js';
import {untilStopped, type Invocation} from '#src/program/program.js';
import {defaultName} from '#src/cli/planes/record.js';
import type {AgentBeside} from '#src/cli/platlet/beside.js';
import {agentServerArgs} from '#src/cli/platlet/server-args.js';
import {handedOn, type ComponentArguments} from './arguments.js';
import {dataDirOf, registerPlane, type Registration} from './name.js';
import {answerScaling} from './scaling.js';

export type UpInvocation = Invocation<(typeof upFlags)['rows']>;

/** What runs beside a plane on this machine. */
interface Beside extends AsyncDisposable {
  readonly agent: AgentBeside;
}

/**
 * Starts the agent of a node of the plane, with the DNS of the cluster before it and the proxy of services after it.
 * The plane stops when the agent or the proxy cannot.
 */
const startBeside = async (plane: Plane, dataDir: string, own: ComponentArguments, invocation: UpInvocation): Promise<Beside> => {
  const {
    parsed: {options},
  } = invocation;
  await using undo = new Undo();
  undo.defer(() => plane.stop());
  const {startDnsBeside, startProxyBeside, startRoutesBeside} = await import('./services.js');
  const dns = options.services ? await startDnsBeside(plane, {...invocation, bindAddress: options.bindAddress}) : undefined;
  if (dns) undo.defer(() => dns[Symbol.asyncDispose]());
  const {startAgentBeside} = await import('#src/cli/platlet/beside.js');
  const agent = await startAgentBeside(plane, dataDir, [...own.agent, ...options.agentArg], invocation, dns?.serviceAddress);
  undo.defer(() => agent[Symbol.asyncDispose]());
  if (options.services) {
    const {nodeName} = agent;
    const proxy = await startProxyBeside(plane, {dataDir, nodeName}, [...own.proxy, ...options.proxyArg], invocation);
    if (proxy) undo.defer(() => proxy[Symbol.asyncDispose]());
    const routes = await startRoutesBeside(plane, nodeName, invocation);
    if (routes) undo.defer(() => routes[Symbol.asyncDispose]());
  }
  const cleanup = undo.move();
  return {agent, [Symbol.asyncDispose]: () => cleanup[Symbol.asyncDispose]()};
};

/** The data directory as the user gave it, or as it is by default. */
const shownDataDir = (options: UpInvocation['parsed']['options']): string =>
  options.dataDir || (options.name && options.name !== defaultName ? dataDirOf(options) : defaultDataDir(options.naming));

/** The options of the plane, from the flags. */
const planeOptions = ({parsed: {options, set}, log, stopping}: UpInvocation, own: ComponentArguments): PlaneOptions => ({
  naming: options.naming,
  dataDir: shownDataDir(options),
  bindAddress: options.bindAddress,
  securePort: options.securePort,
  nodes: options.nodes,
  ...(options.simulationFile ? {simulationFile: options.simulationFile} : {}),
  ...(set.has('metrics-api') ? {metricsApi: options.metricsApi} : {}),
  bootstrapTokens: options.bootstrapTokens,
  podAccess: options.agent,
  record: options.record === 'off' ? false : options.record || (options.console || options.recordDir ? defaultRecordSize : false),
  ...(options.recordDir ? {recordDir: options.recordDir} : {}),
  ...(options.cloudProvider === 'simulated' ? {cloudProvider: options.cloudProvider} : {}),
  ...(options.kubeconfig ? {kubeconfig: options.kubeconfig} : {}),
  context: options.name && options.name !== defaultName ? `${defaultContext}-${options.name}` : defaultContext,
  removeContextOnStop: options.removeContextOnStop,
  manifests: options.manifests,
  ...(options.webhookPort ? {webhooks: {port: options.webhookPort}} : {}),
  apiserverArgs: [...(options.agent ? agentServerArgs : []), ...own.apiserver, ...options.apiserverArg],
  controllerManagerArgs: [...own.controllerManager, ...options.controllerManagerArg],
  schedulerArgs: [...own.scheduler, ...options.schedulerArg],
  waitForCaches: false,
  signal: stopping,
  log,
});

/** How long a start may take before it is reported, and how often after that. */
const [quietStartMs, progressPeriodMs] = [1_000, 5_000];

/** Reports on a terminal that the plane is still starting, until the signal aborts. */
const reportProgress = async ({clock, parsed: {options}}: UpInvocation, started: AbortSignal): Promise<void> => {
  if (!process.stderr.isTTY || options.quiet) return;
  const begin = clock.monotonic();
  await sleep(clock, quietStartMs, started);
  for (;;) {
    process.stderr.write(`the plane is starting, since ${Math.round((clock.monotonic() - begin) / 1000)} s\n`);
    await sleep(clock, progressPeriodMs, started);
  }
};

/** Starts the plane and the agent beside it; undefined if it was stopped meanwhile. */
const start = async (invocation: UpInvocation, dataDir: string): Promise<{plane: Plane; beside: Beside | undefined} | undefined> => {
  const {parsed, stopping, unhandled} = invocation;
  const {options} = parsed;
  const own = handedOn(parsed.assignments);
  const started = new AbortController();
  reportProgress(invocation, started.signal).catch(() => {});
  try {
    if (options.from) await (await import('#src/cli/snapshot/snapshot.js')).restorePlane(options.from, dataDir, options.naming);
    const plane = await startPlane(planeOptions(invocation, own)).catch((error: unknown) => {
      if (!stopping.aborted) throw error;
    });
    if (!plane) return undefined;
    unhandled.countIn(plane.api.metrics);
    return {plane, beside: options.agent ? await startBeside(plane, dataDir, own, invocation) : undefined};
  } finally {
    started.abort();
  }
};

/** Reports that the plane is ready, in the form of `--output`. */
const reportReady = (
  {parsed: {options}, ready, print}: UpInvocation,
  plane: Plane,
  place: {readonly name: string; readonly dataDir: string; readonly kubeconfig: string; readonly console: string | undefined},
): void => {
  if (options.output === 'json') {
    const naming = plane.naming.name;
    return ready({
      ready: true,
      address: plane.url,
      ...place,
      naming,
      pid: process.pid,
      logFile: options.logFile && resolve(options.logFile),
    });
  }
  const file = options.kubeconfig || `${shownDataDir(options)}/kubeconfig`;
  ready(`${plane.url} (${plane.naming.name} naming); kubectl --kubeconfig ${shellQuoted(file)} get namespaces`);
  if (place.console !== undefined) print(`console: ${place.console}`);
};

/** `plat up`: a whole plane on a directory, until it is stopped. */
export const runUp = async (invocation: UpInvocation, register = registerPlane): Promise<number> => {
  const {
    parsed: {options},
    log,
    stopping,
    clock,
    version,
  } = invocation;
  const dataDir = dataDirOf(options);
  const kubeconfig = options.kubeconfig ? resolve(options.kubeconfig) : join(dataDir, 'kubeconfig');
  const registration = await register(
    options.name,
    {
      dataDir,
      naming: options.naming,
      since: clock.now(),
      nodes: options.nodes,
      kubeconfig,
      logFile: options.logFile && resolve(options.logFile),
      version: version.gitVersion,
    },
    log,
  );
  const running = await start(invocation, dataDir).catch(async (error: unknown) => {
    await registration.withdraw();
    throw error;
  });
  if (!running) return withdrawn(registration);
  const {plane, beside} = running;
  const {simulation} = plane;
  using _scaling = answerScaling({
    dataDir,
    started: options.nodes,
    scale: simulation && (nodes => simulation.scale(nodes)),
    scaled: registration.scaled,
    log,
  });
  await registration.ready(plane.url);
  const console = options.console ? (await plane.console()).link() : undefined;
  reportReady(invocation, plane, {name: registration.name, dataDir, kubeconfig, console});
  const failure = await Promise.race([
    untilStopped(stopping),
    plane.failed.catch((error: unknown) => error),
    ...(beside ? [beside.agent.ended.then(code => (stopping.aborted ? undefined : new Error(`the agent ended: ${code}`)))] : []),
  ]);
  await (beside ?? plane)[Symbol.asyncDispose]();
  if (failure === undefined) return 0;
  log.error({err: failure}, 'the plane stopped');
  return 1;
};

const withdrawn = async (registration: Registration): Promise<number> => {
  await registration.withdraw();
  return 0;
};
