// Part of the sixth stage of an agent: the ids of pods with user namespaces of their own.

import {messageOf} from '#src/base/message.js';
import type {NodeFolders} from '#src/platlet/host/folders.js';
import {checkIdRange, idRangeOf} from '#src/platlet/user-namespaces/id-range.js';
import {UserNamespaces, type UserNamespacesParts} from '#src/platlet/user-namespaces/user-namespaces.js';
import type {AgentParts} from './parts.js';

/**
 * Creates the user namespaces of pods; undefined without the gate. Rejects if the ids of the agent's user do not do.
 */
export const userNamespaces = async (
  {gate, host, settings, naming: {agent}}: AgentParts,
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
