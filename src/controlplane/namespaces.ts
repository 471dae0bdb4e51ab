import {kinds} from '#src/api/kinds.js';
import {isAlreadyExists, isNotFound} from '#src/api/status.js';
import type {Client} from '#src/client/client.js';

/** Makes the namespaces every cluster has, if they are missing. Those that are there are left alone. */
export const ensureSystemNamespaces = async (client: Client): Promise<void> => {
  const {systemNamespace, publicNamespace, nodeLeaseNamespace} = client.naming;
  const namespaces = client.resource(kinds.namespaces);
  for (const name of [systemNamespace, publicNamespace, nodeLeaseNamespace, 'default']) {
    try {
      await namespaces.get(name);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      await namespaces.create({metadata: {name}}).catch((failure: unknown) => {
        if (!isAlreadyExists(failure)) throw failure;
      });
    }
  }
};
