import {defaultDataDir, type upFlags} from '#src/options/programs/up.js';
import {startPlane, type Plane} from '#src/plane/plane.js';
import {untilStopped, type Invocation} from '#src/program/program.js';
import type {AgentBeside} from './platlet/beside.js';
import {agentServerArgs} from './platlet/server-args.js';

/** Starts the agent of a node of the plane. The plane stops when it cannot. */
const startBeside = async (plane: Plane, dataDir: string, invocation: Invocation<(typeof upFlags)['rows']>): Promise<AgentBeside> => {
  try {
    return await (await import('./platlet/beside.js')).startAgentBeside(plane, dataDir, invocation.parsed.options.agentArg, invocation);
  } catch (error) {
    await plane.stop();
    throw error;
  }
};

/** `plat up`: a whole plane on a directory, until it is stopped. */
export const runUp = async (invocation: Invocation<(typeof upFlags)['rows']>): Promise<number> => {
  const {
    parsed: {options, set},
    log,
    unhandled,
    stopping,
    ready,
  } = invocation;
  const dataDir = options.dataDir || defaultDataDir(options.naming);
  if (options.from) await (await import('./snapshot/snapshot.js')).restorePlane(options.from, dataDir, options.naming);
  const plane = await startPlane({
    naming: options.naming,
    dataDir,
    bindAddress: options.bindAddress,
    securePort: options.securePort,
    nodes: options.nodes,
    ...(options.simulationFile ? {simulationFile: options.simulationFile} : {}),
    ...(set.has('metrics-api') ? {metricsApi: options.metricsApi} : {}),
    bootstrapTokens: options.bootstrapTokens,
    ...(options.cloudProvider === 'simulated' ? {cloudProvider: options.cloudProvider} : {}),
    ...(options.kubeconfig ? {kubeconfig: options.kubeconfig} : {}),
    removeContextOnStop: options.removeContextOnStop,
    manifests: options.manifests,
    ...(options.webhookPort ? {webhooks: {port: options.webhookPort}} : {}),
    apiserverArgs: options.agent ? [...agentServerArgs, ...options.apiserverArg] : options.apiserverArg,
    controllerManagerArgs: options.controllerManagerArg,
    schedulerArgs: options.schedulerArg,
    signal: stopping,
    log,
  }).catch((error: unknown) => {
    if (!stopping.aborted) throw error;
  });
  if (!plane) return 0;
  unhandled.countIn(plane.api.metrics);
  const agent = options.agent ? await startBeside(plane, dataDir, invocation) : undefined;
  ready(`${plane.url} (${plane.naming.name} naming); kubectl --kubeconfig ${options.kubeconfig || `${dataDir}/kubeconfig`} get namespaces`);
  const failure = await Promise.race([
    untilStopped(stopping),
    plane.failed.catch((error: unknown) => error),
    ...(agent ? [agent.ended.then(code => (stopping.aborted ? undefined : new Error(`the agent ended: ${code}`)))] : []),
  ]);
  await agent?.[Symbol.asyncDispose]();
  await plane.stop();
  if (failure === undefined) return 0;
  log.error({err: failure}, 'the plane stopped');
  return 1;
};
