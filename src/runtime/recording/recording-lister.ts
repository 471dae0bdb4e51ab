import type {Lister} from '#informers/lister.js';
import {parseKey} from '#src/api/key.js';
import type {Kind} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import type {RecordedAttempts} from './recorded-attempts.js';

/** Wraps a lister so that objects which it does not have are noted as missed. */
export const recordingLister = <T extends KubeObject>(lister: Lister<T>, kind: Kind, attempts: RecordedAttempts): Lister<T> => ({
  get(key) {
    const found = lister.get(key);
    if (!found) attempts.missed(kind, typeof key === 'string' ? parseKey(key) : key);
    return found;
  },
  list: namespace => lister.list(namespace),
  by: (index, value) => lister.by(index, value),
  count: (index, value) => lister.count(index, value),
  groups: (grouping, value) => lister.groups(grouping, value),
  get size() {
    return lister.size;
  },
});
