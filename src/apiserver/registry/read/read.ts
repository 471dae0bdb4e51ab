import {andThen} from '#src/base/eventually.js';
import {notFound} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {ReadOptions, StoredRecord} from '#src/storage/store.js';
import type {Resource, ServedResource} from '#src/apiserver/registry/resource.js';

/** Returns the record of an object, synchronously if the store is. Throws 404. */
export const findRecord = (
  {resource, kind}: ServedResource,
  namespace: string,
  name: string,
  options?: ReadOptions,
): StoredRecord | Promise<StoredRecord> => {
  const record = resource.settings.store.get(resource.key(namespace, name), options);
  const ref = resource.refIn(kind);
  return andThen(record, found => {
    if (!found) throw notFound(ref, name);
    return found;
  });
};

/** Returns the frozen object of a record, parsed at once. */
export const objectOf = (resource: Resource, {key, value, revision}: StoredRecord): Readonly<KubeObject> =>
  resource.objects.of(key, value, revision);
