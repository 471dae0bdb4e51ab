import {notFound, type ResourceRef} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {Eventually, StoredRecord} from '#src/storage/store.js';
import type {Resource, ServedResource} from './registry.js';

/** The record of one object. Throws 404. Synchronous where the store is. */
export const findRecord = ({resource, kind}: ServedResource, namespace: string, name: string): StoredRecord | Promise<StoredRecord> => {
  const record = resource.settings.store.get(resource.key(namespace, name));
  const ref = resource.refIn(kind);
  if (record instanceof Promise) return record.then(found => present(ref, name, found));
  return present(ref, name, record);
};

const present = (ref: ResourceRef, name: string, record: StoredRecord | undefined): StoredRecord => {
  if (!record) throw notFound(ref, name);
  return record;
};

/** The frozen object of a record, parsed in pieces where it is long: then it comes later. */
export const objectInPieces = (resource: Resource, {key, value, revision}: StoredRecord): Eventually<Readonly<KubeObject>> =>
  resource.objects.inPieces(key, value, revision, resource.settings.clock) ?? resource.objects.of(key, value, revision);

/** The frozen object of a record, at once. */
export const objectOf = (resource: Resource, {key, value, revision}: StoredRecord): Readonly<KubeObject> => resource.objects.of(key, value, revision);
