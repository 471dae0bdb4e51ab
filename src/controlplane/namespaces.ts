import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Client} from '#src/client/client.js';
import {ensureObject} from './ensure.js';

export const systemNamespaces = ({systemNamespace, publicNamespace, nodeLeaseNamespace}: Naming): readonly string[] => [
  systemNamespace,
  publicNamespace,
  nodeLeaseNamespace,
  'default',
];

/** Creates the system namespaces, if they are missing. Existing ones are not changed. */
export const ensureSystemNamespaces = async (client: Client): Promise<void> => {
  const namespaces = client.resource(kinds.namespaces);
  for (const name of systemNamespaces(client.naming))
    await ensureObject(namespaces, {name}, found => (found ? undefined : {create: {metadata: {name}}}));
};
