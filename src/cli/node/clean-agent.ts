// Removes what an agent has left on this machine, through its runtime.

import {join} from 'node:path';
import {messageOf} from '#src/base/message.js';
import {cgroupHierarchy} from '#src/platlet/cgroups/hierarchy.js';
import {systemdHierarchy, systemdUnits} from '#src/platlet/cgroups/systemd.js';
import {podsGroup} from '#src/platlet/cgroups/qos-groups.js';
import {cleanNode, type Cleaned} from '#src/platlet/clean/clean-node.js';
import {CriRuntime} from '#src/platlet/cri/runtime.js';
import {lockAgentFolder} from '#src/platlet/host/agent-lock.js';
import {containerLogsOf, NodeFolders} from '#src/platlet/host/folders.js';
import {unshareFolder} from '#src/platlet/host/shared-folder.js';
import {systemHost} from '#src/platlet/host/system-host.js';
import type {Invocation} from '#src/program/program.js';

/** The place of an agent's files, and its runtime. */
export interface AgentPlace {
  readonly rootDir: string;
  readonly podLogsDir: string;
  readonly cgroupRoot: string;
  readonly endpoint: string;
}

type Process = Pick<Invocation<unknown>, 'clock' | 'log' | 'stopping'>;

/** What is removed, and how gently. */
export interface CleanOptions {
  /** How long containers may take to stop, in seconds. */
  readonly graceSeconds: number;
  /** Whether all pods of the runtime are removed, and not only those of which the agent has files. */
  readonly all: boolean;
}

const requestTimeoutMs = 120_000;

/** Removes what an agent has left. Rejects in one line if an agent runs there, or the runtime does not answer. */
export const cleanAgent = async (place: AgentPlace, options: CleanOptions, invocation: Process): Promise<Cleaned> => {
  const cleaned = await cleanLocked(place, options, invocation);
  try {
    // Not before the lock is released, since the locked file is in the directory.
    await unshareFolder(systemHost, place.rootDir);
    return cleaned;
  } catch (error) {
    return {...cleaned, failures: [...cleaned.failures, `${place.rootDir}: ${messageOf(error)}`]};
  }
};

/** Removes what is in the agent's directory and in its runtime, while no agent can start on it. */
const cleanLocked = async (place: AgentPlace, {graceSeconds, all}: CleanOptions, {clock, log, stopping}: Process): Promise<Cleaned> => {
  await using _lock = await lockAgentFolder(systemHost, place.rootDir, stopping);
  await using runtime = new CriRuntime({endpoint: place.endpoint, imageEndpoint: undefined, requestTimeoutMs, clock, log});
  await runtime.check().catch((error: unknown) => {
    throw new Error(`--container-runtime-endpoint: ${messageOf(error)}`, {cause: error});
  });
  const {rootDir: root, podLogsDir: podLogs} = place;
  const hierarchy = await cgroupHierarchy(systemHost);
  return await cleanNode({
    runtime,
    host: systemHost,
    folders: new NodeFolders({root, podLogs, containerLogs: containerLogsOf(podLogs)}),
    hierarchy,
    slices: systemdHierarchy(hierarchy, systemdUnits(systemHost), async folder => (await systemHost.status(folder)) !== undefined),
    podsGroup: join('/', place.cgroupRoot, podsGroup),
    graceSeconds,
    all,
  });
};
