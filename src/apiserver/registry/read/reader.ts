import {andThen, type Eventually} from '#src/base/eventually.js';
import type {Kind} from '#src/api/kinds/index.js';
import type {Reader} from '#src/api/reader.js';
import type {KubeObject} from '#src/api/types.js';
import {allObjects} from './list.js';
import type {Registry} from '#src/apiserver/registry/registry.js';
import type {Resource} from '#src/apiserver/registry/resource.js';

/**
 * Returns a reader of objects in their stored version, served from the watch cache since admission reads often. Kinds
 * that are not served have no objects.
 */
export const registryReader = (registry: Registry): Reader => {
  const {store, naming} = registry.settings;
  const resourceOf = ({group, version, plural}: Kind): Resource | undefined =>
    registry.find(naming.group(group), version, plural)?.resource;
  return {
    get<T extends KubeObject>(kind: Kind<T>, namespace: string, name: string) {
      const resource = resourceOf(kind);
      if (!resource || !name) return undefined;
      const record = store.get(resource.key(namespace, name), {near: true});
      return andThen(record, found => found && (resource.object(found) as Eventually<Readonly<T>>));
    },
    list<T extends KubeObject>(kind: Kind<T>, namespace = '', limit = 0) {
      const resource = resourceOf(kind);
      return resource ? allObjects<T>(resource, {namespace, limit, near: true}) : Promise.resolve([]);
    },
  };
};
