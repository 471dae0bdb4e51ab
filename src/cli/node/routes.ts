// `plat node routes`: keeps the routes of this machine to the pods of the other nodes of its cluster.

import {hostname} from 'node:os';
import {noMeter} from '#src/base/meter.js';
import {Undo} from '#src/base/undo.js';
import {openConnection} from '#src/cli/program/connection.js';
import {settingsFile} from '#src/cli/program/settings-file.js';
import {gateOf} from '#src/options/parsed-options.js';
import type {nodeFlags} from '#src/options/programs/node.js';
import {nodeNameOf} from '#src/platlet/node/addresses.js';
import {untilStopped, type Invocation} from '#src/program/program.js';
import {systemKernel} from '#src/proxy/kernel/system-kernel.js';
import {startPodRoutes} from '#src/proxy/pod-routes/start-pod-routes.js';

type NodeInvocation = Invocation<(typeof nodeFlags)['rows']>;

/** Keeps the routes until it is stopped. They stay then. */
export const keepRoutes = async (invocation: NodeInvocation, args: readonly string[]): Promise<number> => {
  if (args.length > 0) throw new Error(`unexpected argument ${JSON.stringify(args[0])}`);
  if (process.getuid?.() !== 0) throw new Error('writing routes needs root');
  const {stopping} = invocation;
  await using undo = new Undo();
  // It may be stopped while it waits for a server that does not respond.
  await Promise.race([start(invocation, undo).then(() => untilStopped(stopping)), untilStopped(stopping)]);
  return 0;
};

const start = async ({parsed, clock, log, version, stopping, ready}: NodeInvocation, undo: Undo): Promise<void> => {
  const {options} = parsed;
  const nodeName = nodeNameOf(options.hostnameOverride || hostname());
  const connection = await openConnection({
    program: 'plat-node',
    options: {...options, platconfig: settingsFile(options, process.env) ?? '', platApiContentType: '', platApiQps: 0, platApiBurst: 0},
    version,
    clock,
    meter: noMeter,
    log,
    env: process.env,
    signal: stopping,
    gate: gateOf(parsed),
    host: nodeName,
  });
  undo.defer(() => connection[Symbol.asyncDispose]());
  const routes = await startPodRoutes({client: connection.client('pod-routes'), nodeName, kernel: systemKernel, clock, log});
  undo.defer(() => routes[Symbol.asyncDispose]());
  ready(`keeping the routes of node ${nodeName} to pods against ${connection.server} (${connection.naming.name} naming)`);
};
