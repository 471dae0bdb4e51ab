// `plat node`: prepares this machine as a node (init.ts), routes to the pods of others (routes.ts), and removes what an
// agent has left on it (`clean`).

import {existsSync} from 'node:fs';
import {join, resolve} from 'node:path';
import type {Cleaned} from '#src/platlet/clean/clean-node.js';
import {proxyFolder} from '#src/cli/program/beside.js';
import {subcommandOf} from '#src/cli/program/subcommand.js';
import type {nodeFlags, NodeOptions} from '#src/options/programs/node.js';
import type {Invocation} from '#src/program/program.js';
import {cleanAgent, type AgentPlace} from './clean-agent.js';
import {initNode} from './init.js';
import {keepRoutes} from './routes.js';

type NodeInvocation = Invocation<(typeof nodeFlags)['rows']>;

/** `plat node`: what is done with the node of this machine beside its agent. */
export const runNode = async (invocation: NodeInvocation): Promise<number> => {
  const [command, ...args] = invocation.parsed.args;
  return subcommandOf({init: initNode, routes: keepRoutes, clean}, command)(invocation, args);
};

const placeOf = (options: NodeOptions): AgentPlace => {
  const {dataDir, rootDir, podLogsDir, cgroupRoot, containerRuntimeEndpoint: endpoint} = options;
  const folder = dataDir ? resolve(dataDir, 'agent') : undefined;
  return {
    rootDir: folder ? join(folder, 'root') : resolve(rootDir),
    podLogsDir: folder ? join(folder, 'logs') : resolve(podLogsDir),
    cgroupRoot,
    endpoint,
  };
};

/** Returns what was done in lines. */
export const cleanedText = ({containers, sandboxes, mounts, chains, parameters}: Cleaned): readonly string[] => [
  `removed ${sandboxes} sandboxes with ${containers} containers and ${mounts} mounts`,
  ...(chains.length > 0 ? [`removed chains of iptables: ${chains.join(', ')}`] : []),
  ...(parameters.length > 0 ? [`the agent has set these kernel parameters, which stay: ${parameters.join(', ')}`] : []),
];

/** Removes the rules of the service proxy that `plat up --agent` ran with a data directory. Returns whether it did. */
const removeServiceRules = async ({dataDir}: NodeOptions, {log}: NodeInvocation): Promise<boolean> => {
  if (!dataDir || !existsSync(proxyFolder(dataDir))) return false;
  const [{removeAllRules}, {removePodRoutes}, {systemKernel}] = await Promise.all([
    import('#src/proxy/cleanup/cleanup.js'),
    import('#src/proxy/pod-routes/pod-routes.js'),
    import('#src/proxy/kernel/system-kernel.js'),
  ]);
  await removeAllRules(systemKernel, log);
  await removePodRoutes(systemKernel, log);
  return true;
};

const clean = async (invocation: NodeInvocation, args: readonly string[]): Promise<number> => {
  const {
    parsed: {options},
    print,
  } = invocation;
  if (args.length > 0) throw new Error(`unexpected argument ${JSON.stringify(args[0])}`);
  if (process.getuid?.() !== 0) throw new Error('removing what an agent has left needs root');
  const cleaned = await cleanAgent(placeOf(options), {graceSeconds: Math.ceil(options.gracePeriod / 1000), all: options.all}, invocation);
  for (const line of cleanedText(cleaned)) print(line);
  if (await removeServiceRules(options, invocation)) print('removed the rules of the service proxy, and the routes to pods of other nodes');
  if (cleaned.failures.length > 0) throw new Error(`some of it could not be removed: ${cleaned.failures.join('; ')}`);
  return 0;
};
