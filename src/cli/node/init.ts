// `plat node init`: writes the network configuration of this machine's pods, and says what the machine lacks as a node.

import {join} from 'node:path';
import {systemFiles} from '#src/base/files/files.js';
import {messageOf} from '#src/base/message.js';
import type {nodeFlags, NodeOptions} from '#src/options/programs/node.js';
import type {Invocation} from '#src/program/program.js';
import {nodeFindings} from '#src/cli/doctor/node-checks.js';
import {entriesOf, lookAtNode, textOf} from '#src/cli/doctor/node-machine.js';
import {networkFile, networkText} from './network.js';

type NodeInvocation = Invocation<(typeof nodeFlags)['rows']>;

/** Writes the network configuration, and returns in a line what was done. */
const writeNetwork = async ({networkFolder, podCidr, bridge, force}: NodeOptions): Promise<string> => {
  const path = join(networkFolder, networkFile);
  const text = networkText(podCidr, bridge);
  const others = entriesOf(networkFolder).filter(name => name !== networkFile);
  if (others.length > 0 && !force) return `${networkFolder} has a network already, which stays: ${others.join(', ')}`;
  const old = textOf(path);
  if (old === text) return `${path} stays as it is`;
  if (old !== '' && !force) throw new Error(`${path} differs; --force replaces it, for pods that are made from then on`);
  try {
    await systemFiles.write(path, text, 0o644);
  } catch (error) {
    throw new Error(`cannot write the network configuration: ${messageOf(error)}`, {cause: error});
  }
  return `wrote ${path}: pods get addresses of ${podCidr.join(' and ')}`;
};

/** Returns 1 if the machine lacks something. */
export const initNode = async ({parsed: {options}, print}: NodeInvocation, args: readonly string[]): Promise<number> => {
  if (args.length > 0) throw new Error(`unexpected argument ${JSON.stringify(args[0])}`);
  print(await writeNetwork(options));
  const runtimeSocket = options.containerRuntimeEndpoint.replace(/^unix:\/\//, '');
  const lacks = nodeFindings(await lookAtNode({runtimeSocket, networkFolder: options.networkFolder})).filter(({isOk}) => !isOk);
  for (const {check, found, advice} of lacks) print(`missing ${check}: ${found}. ${advice}`);
  print(lacks.length === 0 ? 'This machine can be a node.' : `This machine lacks ${lacks.length} of what a node may need.`);
  return lacks.length === 0 ? 0 : 1;
};
