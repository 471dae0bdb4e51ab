import type {Naming} from '#src/api/naming.js';
import {messageOf} from '#src/base/message.js';
import type {CheckpointFile} from './checkpoint-file.js';

/**
 * Reads the state of a resource manager; `empty` without a file. Rejects in one line, with what to do, if it cannot be
 * parsed. `manager`: its name in that line.
 */
export const restoredState = async <T>(
  file: Pick<CheckpointFile, 'path' | 'read'>,
  {manager, naming}: {readonly manager: string; readonly naming: Naming},
  parse: (text: string) => T,
  empty: T,
): Promise<T> => {
  const text = await file.read();
  try {
    return text === undefined ? empty : parse(text);
  } catch (cause) {
    throw new Error(
      `could not restore state from checkpoint: ${messageOf(cause)}, please drain this node and delete the ${manager} checkpoint file ${JSON.stringify(file.path)} before restarting ${naming.inWords('Kubelet')}`,
      {cause},
    );
  }
};
