// What the agent checks of the machine when it starts.

import {join} from 'node:path';
import type {Naming} from '#src/api/naming.js';
import type {Log} from '#src/base/log.js';
import type {Settings} from '#src/platlet/config/fields.js';
import type {Host} from '#src/platlet/host/host.js';
import {setKernelParameters} from '#src/platlet/host/kernel-parameters.js';
import {checkHostResolver} from '#src/platlet/inputs/resolver.js';
import {nodeReference} from '#src/platlet/node/conditions.js';
import type {EventRecorder} from '#src/runtime/events/events.js';

export interface MachineChecksParts {
  readonly settings: Pick<Settings, 'protectKernelDefaults' | 'resolvConf' | 'clusterDomain' | 'oomScoreAdj' | 'maxOpenFiles'>;
  readonly host: Host;
  readonly naming: Naming;
  readonly nodeName: string;
  readonly events: EventRecorder;
  readonly log: Log;
  /** The folders of the kernel's parameters, and of this process. */
  readonly parameters?: string;
  readonly ownFolder?: string;
}

/**
 * How soon the kernel ends the agent when memory runs out, and how many files it may have open. What cannot be set
 * stays.
 */
const setOwnLimits = async ({settings, host, log, ownFolder = '/proc/self'}: MachineChecksParts): Promise<void> => {
  const {oomScoreAdj, maxOpenFiles} = settings;
  await host
    .writeInto(join(ownFolder, 'oom_score_adj'), String(oomScoreAdj))
    .catch((error: unknown) => log.info({err: error}, 'failed to apply the oom_score_adj of the agent'));
  await host
    .limitOpenFiles(maxOpenFiles)
    .catch((error: unknown) => log.error({err: error}, 'failed to set the limit of open files of the agent'));
};

/**
 * Sets the parameters of the kernel and the limits of the agent, and checks the resolver file. Rejects if parameters
 * are protected and differ.
 */
export const checkMachine = async (parts: MachineChecksParts): Promise<void> => {
  const {settings, host, naming, nodeName, events, log, parameters} = parts;
  const {protectKernelDefaults, resolvConf, clusterDomain} = settings;
  const unset = await setKernelParameters(host, protectKernelDefaults, parameters);
  if (unset !== undefined) log.warn({reason: unset}, 'parameters of the kernel could not be set');
  await setOwnLimits(parts);
  if (!resolvConf) return;
  const problem = checkHostResolver(resolvConf, (await host.read(resolvConf))?.toString(), clusterDomain);
  if (problem !== undefined) events.warning(nodeReference(naming, nodeName), 'CheckLimitsForResolvConf', problem);
};
