// Opens the user namespaces of pods with the ids that the machine has for them.

import {messageOf} from '#src/base/message.js';
import type {NodeFolders} from '#src/platlet/host/folders.js';
import {checkIdRange, idRangeOf} from './id-range.js';
import {UserNamespaces, type UserNamespacesParts} from './user-namespaces.js';
import type {GateName} from '#src/options/gate-table.js';
import type {Host} from '#src/platlet/host/host.js';
import type {Naming} from '#src/api/naming.js';

export interface OpeningParts {
  gate(name: GateName): boolean;
  readonly host: Host;
  readonly settings: {readonly 'userNamespaces.idsPerPod': number; readonly maxPods: number};
  readonly naming: Pick<Naming, 'agent'>;
}

/**
 * Creates the user namespaces of pods; undefined without the gate. Rejects if the ids of the agent's user do not do.
 */
export const userNamespaces = async (
  {gate, host, settings, naming: {agent}}: OpeningParts,
  folders: NodeFolders,
  handlers: UserNamespacesParts['handlers'],
): Promise<UserNamespaces | undefined> => {
  if (!gate('UserNamespacesSupport')) return undefined;
  const idsPerPod = settings['userNamespaces.idsPerPod'];
  const range = await idRangeOf(host, agent, idsPerPod).catch((error: unknown) => {
    throw new Error(`${agent} mappings: ${messageOf(error)}`, {cause: error});
  });
  checkIdRange(range, idsPerPod, settings.maxPods, agent);
  return UserNamespaces.open({host, folders, range, idsPerPod, handlers});
};
