import type {WatchEvent} from '#src/api/watch.js';
import type {Change, StoredRecord} from '#src/storage/store.js';
import type {Filter} from '#src/apiserver/registry/options.js';
import {objectOf} from '#src/apiserver/registry/read.js';
import type {Resource} from '#src/apiserver/registry/registry.js';

/**
 * What a change means to a watcher with a filter: what enters its sight is ADDED, what leaves it DELETED, whatever happened in the store.
 * Nothing when it concerns what the watcher never saw.
 */
export const transition = (resource: Resource, change: Change, filter: Filter): Exclude<WatchEvent['type'], 'BOOKMARK'> | undefined => {
  const {record, previous} = change;
  if (filter.all) return record ? (previous ? 'MODIFIED' : 'ADDED') : 'DELETED';
  // Those who wait for one name are many, and hear of every other: its key tells.
  if (filter.name !== undefined && !change.key.endsWith(`/${filter.name}`)) return undefined;
  const sees = (seen: StoredRecord | undefined) => seen !== undefined && filter.matches(objectOf(resource, seen));
  const after = sees(record);
  const before = sees(previous);
  if (after) return before ? 'MODIFIED' : 'ADDED';
  return before ? 'DELETED' : undefined;
};
