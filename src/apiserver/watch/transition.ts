import type {WatchEvent} from '#src/api/watch.js';
import type {Change, StoredRecord} from '#src/storage/store.js';
import type {Filter} from '#src/apiserver/registry/read/filter.js';
import type {Resource} from '#src/apiserver/registry/resource.js';
import type {RecordAttributes} from '#src/apiserver/registry/selection-cache.js';

/** The attributes of a change's records for selectors: extracted once for all watches. */
class ChangeAttributes {
  readonly resource: Resource;
  readonly before: RecordAttributes | undefined;
  readonly after: RecordAttributes | undefined;
  readonly hasFields: boolean;

  constructor(resource: Resource, {record, previous}: Change, hasFields: boolean) {
    const {attributes} = resource;
    const of = (seen: StoredRecord | undefined) => seen && (hasFields ? attributes.withFields(seen) : attributes.of(seen));
    this.resource = resource;
    this.hasFields = hasFields;
    // The previous state is most likely cached, until the new one replaces it.
    this.before = of(previous);
    this.after = of(record);
  }
}

/** They live as long as the change. */
const shared = new WeakMap<Change, ChangeAttributes>();

const attributesOf = (resource: Resource, change: Change, hasFields: boolean): ChangeAttributes => {
  let found = shared.get(change);
  if (found?.resource !== resource || (hasFields && !found.hasFields))
    shared.set(change, (found = new ChangeAttributes(resource, change, hasFields)));
  return found;
};

/** Whether a key is that of a name, in any namespace. */
const isNamed = (key: string, name: string): boolean => key.endsWith(name) && key[key.length - name.length - 1] === '/';

/**
 * The event type of a change for a watch with a filter: an object that begins to match is ADDED, one that ceases to
 * match is DELETED, whatever happened in the store. Undefined if neither state matches.
 */
export const transition = (resource: Resource, change: Change, filter: Filter): Exclude<WatchEvent['type'], 'BOOKMARK'> | undefined => {
  const {key, record, previous} = change;
  if (filter.all) return record ? (previous ? 'MODIFIED' : 'ADDED') : 'DELETED';
  // Many watches select one name, and receive the changes of all others.
  if (filter.name !== undefined && !isNamed(key, filter.name)) return undefined;
  const sees = (seen: StoredRecord | undefined, of: 'before' | 'after'): boolean =>
    seen !== undefined && (filter.decide(key, undefined) ?? filter.decide(key, attributesOf(resource, change, filter.looksAtFields)[of])!);
  const after = sees(record, 'after');
  const before = sees(previous, 'before');
  if (after) return before ? 'MODIFIED' : 'ADDED';
  return before ? 'DELETED' : undefined;
};
