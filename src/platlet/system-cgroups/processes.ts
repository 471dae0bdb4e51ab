// Moves processes into the cgroups that flags name: the agent into its own, and those of the root into that of the
// system.

import {join} from 'node:path';
import {messageOf} from '#src/base/message.js';
import type {CgroupHierarchy} from '#src/platlet/cgroups/hierarchy.js';
import type {Host} from '#src/platlet/host/host.js';

type Cgroups = Pick<CgroupHierarchy, 'foldersOf' | 'create'>;
type ProcessHost = Pick<Host, 'read' | 'writeInto' | 'linkTarget'>;

/** How often the root is read again for processes that were created meanwhile. */
const maxRounds = 10;

const processesIn = async (host: ProcessHost, folder: string): Promise<readonly string[]> =>
  String((await host.read(join(folder, 'cgroup.procs'))) ?? '')
    .split('\n')
    .filter(Boolean);

const moveInto = (host: ProcessHost, folder: string, pid: string): Promise<void> => host.writeInto(join(folder, 'cgroup.procs'), pid);

/** Creates a cgroup, and moves a process into it, in every hierarchy in which it is not in it yet. */
export const enterGroup = async (host: ProcessHost, cgroups: Cgroups, group: string, pid: number): Promise<void> => {
  await cgroups.create(group);
  for (const folder of cgroups.foldersOf(group))
    if (!(await processesIn(host, folder)).includes(String(pid))) await moveInto(host, folder, String(pid));
};

/** Threads of the kernel have no executable, and stay in the root. */
const isKernelThread = async (host: ProcessHost, pid: string): Promise<boolean> => {
  try {
    await host.linkTarget(`/proc/${pid}/exe`);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
};

/**
 * Creates a cgroup, and moves the processes of the root into it, but for the first one and threads of the kernel.
 * Rejects with the last process that could not be moved.
 */
export const emptyRoot = async (host: ProcessHost, cgroups: Cgroups, group: string): Promise<void> => {
  await cgroups.create(group);
  const folders = cgroups.foldersOf(group);
  const moveIntoAll = async (pid: string): Promise<void> => {
    for (const folder of folders) await moveInto(host, folder, pid);
  };
  let failure: Error | undefined;
  for (let round = 0; round <= maxRounds; round++) {
    const all = new Set((await Promise.all(cgroups.foldersOf('/').map(folder => processesIn(host, folder)))).flat());
    const pids: string[] = [];
    for (const pid of all) if (pid !== '1' && !(await isKernelThread(host, pid))) pids.push(pid);
    if (pids.length === 0) return;
    failure = undefined;
    for (const pid of pids)
      await moveIntoAll(pid).catch((error: unknown) => {
        failure = new Error(`failed to move PID ${pid} into the system container ${JSON.stringify(group)}: ${messageOf(error)}`);
      });
  }
  if (failure) throw failure;
};
