import {kinds} from '#src/api/kinds/index.js';
import type {Client} from '#src/client/client.js';
import {ensureObject} from './ensure.js';

/** Creates the system namespaces, if they are missing. Existing ones are not changed. */
export const ensureSystemNamespaces = async (client: Client): Promise<void> => {
  const {systemNamespace, publicNamespace, nodeLeaseNamespace} = client.naming;
  const namespaces = client.resource(kinds.namespaces);
  for (const name of [systemNamespace, publicNamespace, nodeLeaseNamespace, 'default'])
    await ensureObject(namespaces, {name}, found => (found ? undefined : {create: {metadata: {name}}}));
};
