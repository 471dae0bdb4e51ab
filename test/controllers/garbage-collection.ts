import {kinds} from '#src/api/kinds/index.js';
import {isNotFound} from '#src/api/status.js';
import type {ConfigMap, KubeObject, OwnerReference} from '#src/api/types.js';
import {aPlane} from './plane.js';

export const plane = await aPlane({controllers: ['garbage-collector-controller']});
export const {clock} = plane;
export const maps = plane.client().resource(kinds.configMaps);
export const hold = 'example.com/hold';

/** How an object names its owner. */
export const refTo = ({metadata}: KubeObject, rest: Partial<OwnerReference> = {}): OwnerReference => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  name: metadata!.name!,
  uid: metadata!.uid!,
  ...rest,
});

export const blocking = {blockOwnerDeletion: true};

let count = 0;

/** A namespace of its own with objects that own each other. */
export const aFamily = async () => {
  const namespace = `family-${++count}`;
  await plane
    .client()
    .resource(kinds.namespaces)
    .create({metadata: {name: namespace}});
  const create = async (
    name: string,
    ownerReferences: OwnerReference[] = [],
    metadata: KubeObject['metadata'] = {},
  ): Promise<ConfigMap> => {
    const created = await maps.create({metadata: {namespace, name, ownerReferences, ...metadata}});
    await clock.drain();
    return created;
  };
  const find = (name: string) =>
    maps.get(name, {namespace}).catch((error: unknown) => (isNotFound(error) ? undefined : Promise.reject(error as Error)));
  const remove = async (name: string, propagationPolicy: 'Background' | 'Foreground' | 'Orphan' = 'Background') => {
    await maps.delete(name, {namespace, propagationPolicy});
    await clock.drain();
  };
  const release = async (name: string) => {
    await maps.patch(name, 'json', [{op: 'remove', path: '/metadata/finalizers/0'}], {namespace});
    await clock.drain();
  };
  const names = async () => (await maps.list({namespace})).items.map(({metadata}) => metadata!.name);
  const ownersOf = async (name: string) => (await find(name))?.metadata?.ownerReferences?.map(owner => owner.name);
  const eventsOf = async (name: string) => {
    const {items} = await plane.client().resource(kinds.coreEvents).list({namespace});
    return items.filter(({involvedObject}) => involvedObject.name === name).map(({type, reason, message}) => [type, reason, message]);
  };
  return {namespace, create, find, remove, release, names, ownersOf, eventsOf};
};
