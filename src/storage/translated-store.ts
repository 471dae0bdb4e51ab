// A view of a store whose values are translated on reads and translated back on writes: to one version of a custom
// resource, or from encrypted values. Revisions, order and keys are those of the underlying store; only values differ.
// Changes that arrive together are translated together.

import {andThen, type Eventually} from '#src/base/eventually.js';
import type {Change, Range, Store, StoredRecord, Watcher, WatchQuery, WriteOptions} from '#src/storage/store.js';

/** What a value is written under, and its bytes for a store that encodes them, if another thread has made those. */
export interface Target {
  readonly key: string;
  readonly encoded?: Buffer | undefined;
}

/** The translation of stored records, and back. Both directions keep revisions and order. */
export interface Translation {
  /** Whether a stored record needs no translation. */
  isCurrent(record: Pick<StoredRecord, 'key' | 'value'>): boolean;
  /** The translated records, in the same order. Rejects if one cannot be translated. */
  fromStored(records: readonly StoredRecord[]): Eventually<readonly StoredRecord[]>;
  /** The stored form of a value; undefined if the value, and its encoded bytes, are stored as they are. */
  toStored(value: Buffer, target: Target): Eventually<Buffer | undefined>;
  /** Returns how a value would be read after it was stored. */
  wouldReadBack(value: Buffer): Eventually<Buffer>;
}

export interface TranslatedStore extends Store {
  /** The value that is returned after a write: the written one, translated back. */
  readBack(key: string, written: Buffer, revision: number): Eventually<Buffer>;
  /** Returns what would be read after a value was written. */
  wouldReadBack(value: Buffer): Eventually<Buffer>;
}

const recordsOf = ({record, previous}: Change): readonly StoredRecord[] => [record, previous].filter(one => one !== undefined);

/** A change with its records replaced, the current one first. */
const withRecords = (change: Change, records: readonly StoredRecord[]): Change => ({
  ...change,
  ...(change.record ? {record: records[0]!} : {}),
  ...(change.previous ? {previous: records[change.record ? 1 : 0]!} : {}),
});

type TranslatedRecords = (records: readonly StoredRecord[]) => Eventually<readonly StoredRecord[]>;

/** Returns what translates records that need it. */
const recordTranslator =
  (translation: Translation): TranslatedRecords =>
  records => {
    if (records.every(record => translation.isCurrent(record))) return records;
    try {
      return translation.fromStored(records);
    } catch (error) {
      return Promise.reject(error as Error);
    }
  };

/** Returns a function that translates changes: each once for all watchers, those that come together in one step. */
const changeTranslator = (translatedRecords: TranslatedRecords): ((batch: readonly Change[]) => readonly Eventually<Change>[]) => {
  const changes = new WeakMap<Change, Eventually<Change>>();
  const alone = (change: Change): Eventually<Change> =>
    andThen(translatedRecords(recordsOf(change)), records => withRecords(change, records));
  return (batch: readonly Change[]): readonly Eventually<Change>[] => {
    const fresh = batch.filter(change => !changes.has(change));
    if (fresh.length === 1) changes.set(fresh[0]!, alone(fresh[0]!));
    else if (fresh.length > 1) {
      const batchResult = translatedRecords(fresh.flatMap(recordsOf));
      let at = 0;
      // If the batch fails, each change is translated separately.
      let turn: Promise<unknown> = Promise.resolve();
      for (const change of fresh) {
        const from = at;
        at += recordsOf(change).length;
        const mine = (records: readonly StoredRecord[]): Change => withRecords(change, records.slice(from));
        changes.set(
          change,
          batchResult instanceof Promise
            ? batchResult.then(mine, () => (turn = turn.catch(() => undefined).then(() => alone(change))) as Promise<Change>)
            : mine(batchResult),
        );
      }
    }
    return batch.map(change => changes.get(change)!);
  };
};

/** Reads a range. Filters apply after the translation of records stored in another version. */
const translatedRange = (
  store: Store,
  translation: Translation,
  translatedRecords: TranslatedRecords,
  {filter, ...query}: Parameters<Store['range']>[0],
): ReturnType<Store['range']> => {
  const early = filter && {
    parses: filter.parses,
    next: filter.next,
    known: (key: string, revision: number) => filter.known(key, revision),
    passes: (record: StoredRecord) => !translation.isCurrent(record) || filter.passes(record),
  };
  return andThen(store.range({...query, filter: early}), range =>
    andThen(translatedRecords(range.records), (records): Range => {
      if (records === range.records) return range;
      return {
        ...range,
        records: filter
          ? records.filter(
              (record, index) => record === range.records[index] || (filter.known(record.key, record.revision) ?? filter.passes(record)),
            )
          : records,
      };
    }),
  );
};

type Write = (value: Buffer, options: WriteOptions | undefined) => Promise<number>;

/** Writes values after their translation, and remembers it. */
const writeTranslator = (translation: Translation) => {
  const put = new WeakMap<Buffer, Buffer>();
  return {
    /** The stored form of a value that was written. */
    storedOf: (written: Buffer): Buffer => put.get(written) ?? written,
    /** Writes a value after its translation: at once if that needs no waiting, so that writes keep their order. */
    write(key: string, value: Buffer, options: WriteOptions | undefined, write: Write): Promise<number> {
      const stored = (translated: Buffer | undefined): Promise<number> => {
        if (!translated || translated === value) return write(value, options);
        put.set(value, translated);
        // What another thread has encoded is the value before its translation.
        const {encoded: _, ...rest} = options ?? {};
        return write(translated, rest);
      };
      try {
        const translated = translation.toStored(value, {key, encoded: options?.encoded});
        return translated instanceof Promise ? translated.then(stored) : stored(translated);
      } catch (error) {
        return Promise.reject(error as Error);
      }
    },
  };
};

/**
 * A view of a store: values are translated on reads and translated back on writes. Watches end when `signal` aborts.
 */
export const translatedStore = (store: Store, translation: Translation, signal: AbortSignal): TranslatedStore => {
  const translatedRecords = recordTranslator(translation);
  const writes = writeTranslator(translation);
  const translated = changeTranslator(translatedRecords);
  return {
    shared: store.shared,
    continuity: store.continuity,
    parts: store.parts,
    revision: key => store.revision(key),
    get: (key, options) => andThen(store.get(key, options), record => record && andThen(translatedRecords([record]), ([one]) => one)),
    range: query => translatedRange(store, translation, translatedRecords, query),
    count: (start, end, revision) => store.count(start, end, revision),
    create: (key, value, options) => writes.write(key, value, options, (stored, rest) => store.create(key, stored, rest)),
    update: (key, value, expected, options) =>
      writes.write(key, value, options, (stored, rest) => store.update(key, stored, expected, rest)),
    ...(store.takeTurn && {takeTurn: (turn: number, revision: number) => store.takeTurn!(turn, revision)}),
    wouldReadBack: value => translation.wouldReadBack(value),
    readBack: (key, written, revision) =>
      andThen(translatedRecords([{key, value: writes.storedOf(written), revision, created: revision}]), ([record]) => record!.value),
    delete: (key, expected) => store.delete(key, expected),
    watch: (query, watcher) => new TranslatedWatch(store, query, watcher, {translated, signal}),
    compact: revision => store.compact(revision),
    compacted: () => store.compacted(),
    lease: (seconds, key) => store.lease(seconds, key),
    size: () => store.size(),
    ...(store.writeProblem && {writeProblem: () => store.writeProblem!()}),
    close: () => store.close(),
  };
};

/** Delivers translated changes to a watcher. While one is being translated, later ones wait. */
class TranslatedWatch implements Disposable {
  readonly #watcher: Watcher;
  readonly #translated: (batch: readonly Change[]) => readonly Eventually<Change>[];
  readonly #following: Disposable;
  readonly #signal: AbortSignal;
  readonly #retire = (): void => this.#inTurn(() => this.#close());
  /** Set while a change is waiting. */
  #waiting: Promise<void> | undefined;
  #over = false;
  /** What the watcher returned for the last changes. */
  #pressure: Promise<void> | undefined;

  constructor(
    store: Store,
    query: WatchQuery,
    watcher: Watcher,
    {translated, signal}: {translated(batch: readonly Change[]): readonly Eventually<Change>[]; readonly signal: AbortSignal},
  ) {
    this.#watcher = watcher;
    this.#translated = translated;
    this.#signal = signal;
    this.#following = store.watch(query, {
      changes: batch => {
        this.#inTurn(() => this.#deliver(batch));
        return this.#waiting ? this.#waiting.then(() => this.#pressure) : this.#pressure;
      },
      progress: revision => this.#inTurn(() => watcher.progress?.(revision)),
      ended: error => this.#inTurn(() => this.#close(error)),
    });
    signal.addEventListener('abort', this.#retire, {once: true});
  }

  [Symbol.dispose](): void {
    this.#over = true;
    this.#signal.removeEventListener('abort', this.#retire);
    this.#following[Symbol.dispose]();
  }

  #inTurn(act: () => Eventually<void>): void {
    if (this.#over) return;
    const done = this.#waiting ? this.#waiting.then(() => (this.#over ? undefined : act())) : act();
    if (!(done instanceof Promise)) return;
    const waiting = done
      .catch((error: unknown) => this.#fail(error))
      .then(() => {
        if (this.#waiting === waiting) this.#waiting = undefined;
      });
    this.#waiting = waiting;
  }

  #deliver(batch: readonly Change[]): Eventually<void> {
    const translated = this.#translated(batch);
    return translated.some(change => change instanceof Promise)
      ? this.#deliverLater(translated)
      : this.#pass(translated as readonly Change[]);
  }

  /** Delivers the changes before the first one whose translation failed, and rejects with its error. */
  async #deliverLater(translated: readonly Eventually<Change>[]): Promise<void> {
    const changes: Change[] = [];
    for (const change of translated) if (change instanceof Promise) change.catch(() => undefined);
    try {
      for (const change of translated) changes.push(await change);
    } finally {
      if (!this.#over && changes.length > 0) this.#pass(changes);
    }
  }

  #pass(changes: readonly Change[]): void {
    const taken = this.#watcher.changes(changes);
    this.#pressure = taken instanceof Promise ? taken : undefined;
  }

  #fail(error: unknown): void {
    if (!this.#over) this.#close(error instanceof Error ? error : new Error(String(error)));
  }

  #close(error?: Error): void {
    this[Symbol.dispose]();
    this.#watcher.ended(error);
  }
}
