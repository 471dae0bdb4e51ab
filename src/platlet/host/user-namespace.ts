// Whether the agent runs in a user namespace, and what it does about operations that are not allowed there.

import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import type {GateName} from '#src/options/gate-table.js';

/** The file with the user ids that this process has in the namespace above. */
export const idMapFile = '/proc/self/uid_map';

/** The ids of the initial user namespace. */
const allIds = [0, 0, 2 ** 32 - 1];

/** Whether the content of the file is that of a user namespace other than the initial one. */
export const isUserNamespace = (idMap: string): boolean => {
  if (idMap === '') return false;
  const line = idMap.split('\n', 1)[0] ?? '';
  // A namespace that has no ids yet.
  if (line === '') return true;
  const ids = /^\s*(\d+)\s+(\d+)\s+(\d+)/.exec(line)?.slice(1).map(Number);
  return ids !== undefined && !ids.every((id, at) => id === allIds[at]);
};

export interface UserNamespaceParts {
  readonly machine: {readonly isInUserNamespace: boolean};
  gate(name: GateName): boolean;
  readonly log: Log;
}

/**
 * Whether the agent goes on after an operation has failed: with the gate, in a user namespace. Whatever is decided in a
 * user namespace is logged. `what`: the operation, as in `failed to open the kernel log`.
 */
export const isIgnored = (error: unknown, what: string, {machine, gate, log}: UserNamespaceParts): boolean => {
  if (!machine.isInUserNamespace) return false;
  const err = messageOf(error);
  const goesOn = gate('PlatletInUserNamespace');
  if (goesOn) log.info({err}, `failed to ${what}, which is ignored in a user namespace`);
  else log.error({err}, `failed to ${what} in a user namespace; the feature gate PlatletInUserNamespace ignores it`);
  return goesOn;
};
