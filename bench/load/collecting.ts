import {each, seconds} from './each.js';
import {caller, type Server} from './programs.js';

/**
 * Returns the time in seconds from the deletion of an owner with that many dependents in a new namespace until none is
 * left.
 */
export const collectionSeconds = async (
  server: Server,
  {namespace, dependents, policy = 'Background'}: {namespace: string; dependents: number; policy?: string},
): Promise<number> => {
  const call = caller(server);
  const maps = `/api/v1/namespaces/${namespace}/configmaps`;
  await call('POST', '/api/v1/namespaces', {apiVersion: 'v1', kind: 'Namespace', metadata: {name: namespace}});
  const configMap = (name: string, metadata: object = {}) => ({apiVersion: 'v1', kind: 'ConfigMap', metadata: {name, ...metadata}});
  const owner = JSON.parse((await call('POST', maps, configMap('owner'))).text) as {metadata: {uid: string}};
  const ownerReferences = [{apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: owner.metadata.uid, blockOwnerDeletion: true}];
  await each(dependents, index => call('POST', maps, configMap(`dependent-${index}`, {labels: {bench: 'dependent'}, ownerReferences})));
  return seconds(async () => {
    await call('DELETE', `${maps}/owner?propagationPolicy=${policy}`);
    const isThere = async () =>
      (JSON.parse((await call('GET', `${maps}?limit=1&labelSelector=bench%3Ddependent`)).text) as {items: unknown[]}).items.length > 0;
    while (await isThere()) await new Promise(resolve => setTimeout(resolve, 20));
  });
};
