import {join} from 'node:path';
import type {Host} from './host.js';
import {tryLockFile, type FileLock} from './file-lock.js';

/** The file in an agent's folder that the agent locks while it runs. */
const agentLock = 'agent.lock';

/**
 * Locks the folder of an agent. Rejects in one line if an agent runs on it: two of them would end each other's pods.
 * Undefined where the machine lacks the program `flock`.
 */
export const lockAgentFolder = async (host: Pick<Host, 'makeFolder'>, root: string, signal: AbortSignal): Promise<FileLock | undefined> => {
  await host.makeFolder(root, 0o750);
  let held: FileLock | undefined;
  try {
    held = await tryLockFile(join(root, agentLock), signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  if (!held) throw new Error(`an agent runs with the folder ${root}`);
  return held;
};
