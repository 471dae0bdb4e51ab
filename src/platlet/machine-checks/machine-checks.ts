// Checks and settings of the machine at the start of an agent.

import {join} from 'node:path';
import type {Naming} from '#src/api/naming.js';
import type {Log} from '#src/base/log.js';
import type {GateName} from '#src/options/gate-table.js';
import type {Settings} from '#src/platlet/config/fields.js';
import type {Host} from '#src/platlet/host/host.js';
import {isIgnored} from '#src/platlet/host/user-namespace.js';
import {setKernelParameters} from '#src/platlet/host/kernel-parameters.js';
import {checkHostResolver} from '#src/platlet/inputs/resolver.js';
import {nodeReference} from '#src/platlet/node/conditions.js';
import type {EventRecorder} from '#src/runtime/events/events.js';

export interface MachineChecksParts {
  readonly settings: Pick<Settings, 'protectKernelDefaults' | 'resolvConf' | 'clusterDomain' | 'oomScoreAdj' | 'maxOpenFiles'>;
  readonly host: Host;
  /** The agent's folder. */
  readonly root: string;
  readonly naming: Naming;
  readonly identity: {readonly nodeName: string; readonly machine: {readonly isInUserNamespace: boolean}};
  gate(name: GateName): boolean;
  readonly events: EventRecorder;
  readonly log: Log;
  /** The directories of kernel parameters and of this process. */
  readonly parameters?: string;
  readonly ownFolder?: string;
}

/** The oom_score_adj and the open file limit of the agent. A value that cannot be set is left as it is. */
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
 * Sets the kernel parameters and the process limits of the agent, and checks the resolver configuration of the host.
 * Rejects if kernel parameters differ and must not or cannot be changed.
 */
export const checkMachine = async (parts: MachineChecksParts): Promise<void> => {
  const {settings, host, root, naming, identity, gate, events, log, parameters} = parts;
  const {protectKernelDefaults, resolvConf, clusterDomain} = settings;
  await setKernelParameters({
    host,
    root,
    isProtected: protectKernelDefaults,
    ignores: error => isIgnored(error, 'set a kernel parameter', {machine: identity.machine, gate, log}),
    log,
    ...(parameters === undefined ? {} : {folder: parameters}),
  });
  await setOwnLimits(parts);
  if (!resolvConf) return;
  const problem = checkHostResolver(resolvConf, (await host.read(resolvConf))?.toString(), clusterDomain);
  if (problem !== undefined) events.warning(nodeReference(naming, identity.nodeName), 'CheckLimitsForResolvConf', problem);
};
