import {Compacted, FutureRevision} from '#src/storage/errors.js';
import type {Change, Store, StoredRecord} from '#src/storage/store.js';

/**
 * A store whose revisions count from one, though it was at `beginning` when that began: so one server will do for many
 * tests.
 */
export const fromOne = (store: Store, beginning: number): Store => {
  const base = beginning - 1;
  const shown = <T extends StoredRecord | undefined>(record: T): T =>
    record && {...record, revision: record.revision - base, created: record.created - base};
  const change = (original: Change): Change => ({
    ...original,
    revision: original.revision - base,
    record: shown(original.record),
    previous: shown(original.previous),
  });
  const compactedOf = (revision: number): number => (revision <= beginning ? 0 : revision - base);
  const failure = (error: unknown): unknown =>
    error instanceof Compacted
      ? new Compacted(compactedOf(error.compacted))
      : error instanceof FutureRevision
        ? new FutureRevision(error.current - base)
        : error;
  const translated = async <T>(act: () => Promise<T> | T): Promise<T> => {
    try {
      return await act();
    } catch (error) {
      throw failure(error);
    }
  };
  return {
    shared: store.shared,
    revision: () => translated(async () => (await store.revision()) - base),
    compacted: () => translated(async () => compactedOf(await store.compacted())),
    get: (key, options) => translated(async () => shown(await store.get(key, options))),
    range: ({revision, filter, ...rest}) =>
      translated(async () => {
        const query = {
          ...rest,
          filter: filter && {
            known: (key: string, at: number) => filter.known(key, at - base),
            passes: (record: StoredRecord) => filter.passes(shown(record)!),
          },
        };
        const range = await store.range(revision === undefined ? query : {...query, revision: revision + base});
        return {...range, records: range.records.map(shown), revision: range.revision - base};
      }),
    count: (start, end, revision) => translated(() => store.count(start, end, revision === undefined ? undefined : revision + base)),
    create: async (key, value, options) => (await store.create(key, value, options)) - base,
    update: async (key, value, expected, options) => (await store.update(key, value, expected === 0 ? 0 : expected + base, options)) - base,
    delete: async (key, expected) => (await store.delete(key, expected === 0 ? 0 : expected + base)) - base,
    watch: ({after, ...query}, watcher) =>
      store.watch(
        {...query, after: after + base},
        {
          changes: batch => watcher.changes(batch.map(change)),
          ...(watcher.progress && {progress: revision => watcher.progress!(revision - base)}),
          ended: error => watcher.ended(failure(error) as Error | undefined),
        },
      ),
    compact: revision => translated(() => store.compact(revision + base)),
    lease: seconds => store.lease(seconds),
    size: () => store.size(),
    close: () => store.close(),
  };
};
