// The first stage of an agent: its directories on the machine.

import {join} from 'node:path';
import {messageOf} from '#src/base/message.js';
import {onAbort} from '#src/base/signals.js';
import type {Undo} from '#src/base/undo.js';
import {cgroupHierarchy, type CgroupHierarchy} from '#src/platlet/cgroups/hierarchy.js';
import {systemdHierarchy, systemdUnits} from '#src/platlet/cgroups/systemd.js';
import {NodeFolders, pluginsFolder, podResourcesFolder} from '#src/platlet/host/folders.js';
import type {Host, KernelLog} from '#src/platlet/host/host.js';
import {isIgnored} from '#src/platlet/host/user-namespace.js';
import {labelPluginFolder} from '#src/platlet/selinux/plugin-folders.js';
import {shareFolder} from '#src/platlet/host/shared-folder.js';
import type {AgentParts} from './parts.js';

/** The directories and the cgroups of an agent. */
export interface AgentHost {
  readonly folders: NodeFolders;
  readonly hierarchy: CgroupHierarchy;
  /** The same for the groups of pods, as the cgroup driver manages them. */
  readonly podHierarchy: CgroupHierarchy;
  /** Undefined where the agent does without it, in a user namespace. */
  readonly kernelLog: KernelLog | undefined;
}

/** The folders of sockets: those of plugins, and those by which they register. */
const socketFolders = ['plugins', pluginsFolder];

const folderModes = {secret: 0o700, private: 0o750, shared: 0o755} as const;

/**
 * Creates the directories of an agent, detects the cgroup version and opens the kernel log. Rejects with a one-line
 * error if that cannot be opened, or if mounts below the data directory cannot be shared with containers.
 */
export const openHost = async (parts: AgentParts, undo: Undo, signal: AbortSignal): Promise<AgentHost> => {
  const {host, flags, settings, log} = parts;
  const {rootDir, containerLogs} = flags;
  const folders = new NodeFolders({root: rootDir, podLogs: settings.podLogsDir, containerLogs});
  await makeFolders(host, folders);
  for (const name of socketFolders) await labelPluginFolder(host, log, join(rootDir, name));
  const shared = await sharedRoot(host, rootDir);
  undo.defer(() => shared[Symbol.asyncDispose]());
  const hierarchy = await cgroupHierarchy(host);
  const podHierarchy = flags.cgroupDriver === 'systemd' ? slicesOf(host, hierarchy) : hierarchy;
  return {folders, hierarchy, podHierarchy, kernelLog: await openKernelLog(parts, signal)};
};

const openKernelLog = async ({host, identity: {machine}, gate, log}: AgentParts, signal: AbortSignal): Promise<KernelLog | undefined> => {
  try {
    const kernelLog = await host.openKernelLog();
    onAbort(signal, () => void kernelLog[Symbol.asyncDispose]());
    return kernelLog;
  } catch (error) {
    if (isIgnored(error, 'open the kernel log', {machine, gate, log})) return undefined;
    throw error;
  }
};

const slicesOf = (host: Host, hierarchy: CgroupHierarchy): CgroupHierarchy =>
  systemdHierarchy(hierarchy, systemdUnits(host), async folder => (await host.status(folder)) !== undefined);

const sharedRoot = async (host: Host, folder: string): Promise<AsyncDisposable> => {
  try {
    return await shareFolder(host, folder);
  } catch (cause) {
    throw new Error(`error configuring root directory: ${messageOf(cause)}`, {cause});
  }
};

const makeFolders = async (host: Host, folders: NodeFolders): Promise<void> => {
  const {root, pods, podLogs, checkpoints} = folders;
  const own = [...socketFolders, podResourcesFolder].map(name => join(root, name));
  for (const folder of [root, pods, ...own, podLogs]) await host.makeFolder(folder, folderModes.private);
  await host.makeFolder(checkpoints, folderModes.secret);
  if (folders.containerLogs) await host.makeFolder(folders.containerLogs, folderModes.shared);
};
