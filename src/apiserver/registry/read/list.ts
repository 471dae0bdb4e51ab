// Lists of one resource at one revision. A list is planned from its options (range of keys, revision, limit), its first
// records are read, and the rest is read in chunks on demand. A list never buffers more than a chunk or one limited
// page.

import type {KubeObject} from '#src/api/types.js';
import {badRequest, expired, statusError} from '#src/api/status.js';
import {sleep} from '#src/base/clock.js';
import {Compacted, FutureRevision} from '#src/storage/errors.js';
import type {StoredRecord} from '#src/storage/store.js';
import {keyAfter, decodeContinue, encodeContinue} from './continue-token.js';
import {passAll, type Filter} from './filter.js';
import type {ListOptions} from '#src/apiserver/registry/options.js';
import {readChunks, RecordChunks, turnsOf, type Chunk, type RangeRead} from './chunks.js';
import {PageRecords} from './page-records.js';
import type {Resource} from '#src/apiserver/registry/resource.js';

/** How long a read waits for a revision the store has not reached. */
const futureWaitMs = 3000;
const pollMs = 20;
/**
 * The size of a chunk, in bytes of records: raw records are cheap to send, parsed ones are not. Either takes a few
 * milliseconds.
 */
export const chunkBytes = {raw: 256 << 10, parsed: 64 << 10} as const;

/** Objects of a collection at one revision. */
export interface Listed {
  readonly revision: number;
  readonly continue?: string;
  readonly remaining?: number;
  /** Whether the list is small and was read to its end. */
  readonly isComplete: boolean;
  /** The records of a complete list. */
  readonly records: readonly StoredRecord[];
  /**
   * Returns all records in order, in chunks that are read on demand. The first call takes those that were read already.
   */
  chunks(): AsyncIterableIterator<readonly StoredRecord[], undefined>;
  /** Releases what was read already and not taken. */
  close(): void;
}

/** Waits until the store has reached `revision`. Throws 504 after a timeout, or at once if `waits` is false. */
export const waitForRevision = async ({settings}: Resource, revision: number, {waits} = {waits: true}): Promise<void> => {
  const {store, clock} = settings;
  const deadline = clock.monotonic() + futureWaitMs;
  for (;;) {
    const current = await store.revision();
    if (current >= revision) return;
    if (!waits || clock.monotonic() >= deadline) throw revisionTooLarge(revision, current, waits);
    await sleep(clock, pollMs);
  }
};

const revisionTooLarge = (requestedVersion: number, current: number, isRetried = true) =>
  statusError('Timeout', `Timeout: Too large resource version: ${requestedVersion}, current: ${current}`, {
    details: {
      ...(isRetried ? {retryAfterSeconds: 1} : {}),
      causes: [{reason: 'ResourceVersionTooLarge', message: 'Too large resource version'}],
    },
  });

const versionTooOldMessage = 'The resourceVersion for the provided list is too old.';

/** The selection and options of a list. */
export interface ListRequest {
  readonly filter: Filter;
  readonly options: ListOptions;
  /** Whether the representation requires parsed objects. */
  readonly needsParsing: boolean;
  /** Throws when the request has ended. */
  check?(): void;
  /** The user of the request. */
  readonly flow?: string;
}

/**
 * Reads the first records of a list according to its options (the API reference, resource versions and chunking).
 * Throws 410 when the revision is compacted.
 */
export const listObjects = async (
  resource: Resource,
  namespace: string,
  {filter, options, needsParsing, check, flow}: ListRequest,
): Promise<Listed> => {
  const prefix = resource.prefixOf(namespace);
  const scope = scopeOf(resource, namespace, filter);
  const plan = await planOf(resource, prefix, scope, options);
  try {
    return await readList(resource, prefix, {...plan, filter, check, flow, bytes: needsParsing ? chunkBytes.parsed : chunkBytes.raw});
  } catch (error) {
    if (error instanceof FutureRevision) throw revisionTooLarge(plan.revision ?? 0, error.current);
    if (!(error instanceof Compacted)) throw error;
    if (!options.continue) throw expired(versionTooOldMessage);
    throw expired(continueTooOldMessage, {continue: encodeContinue(resource.settings.naming, prefix, {revision: -1, start: plan.start})});
  }
};

const continueTooOldMessage =
  'The continue parameter is too old: what the list began with is no longer kept. Begin a new list without the parameter for a consistent result, or go on with the token in this response, which continues behind the same object in the present state: changes made since the list began may then be missing or show up.';

type Plan = Pick<RangeRead, 'start' | 'end' | 'limit' | 'revision' | 'near'>;

interface Scope {
  readonly start: string;
  readonly end: string;
}

/**
 * Returns the range of keys a request selects from: all, those of one namespace, or the single one its selectors
 * require.
 */
export const scopeOf = (resource: Resource, namespace: string, filter: Filter): Scope => {
  const {namespaced} = resource.kind;
  const within = namespace || (namespaced ? (filter.namespace ?? '') : '');
  if (filter.name && (!namespaced || within)) {
    const key = resource.key(within, filter.name);
    return {start: key, end: keyAfter(key)};
  }
  return resource.rangeOf(within);
};

const planOf = async (resource: Resource, prefix: string, {start, end}: Scope, options: ListOptions): Promise<Plan> => {
  const {match, resourceVersion: requestedVersion, limit} = options;
  if (options.continue) {
    const {revision, start: from} = decodeContinue(resource.settings.naming, prefix, options.continue);
    if (requestedVersion) throw badRequest('specifying resource version is not allowed when using continue');
    return {start: from, end, limit, revision: revision > 0 ? revision : undefined};
  }
  if (requestedVersion === undefined) return {start, end, limit, revision: undefined};
  if (requestedVersion === 0) {
    const near = resource.settings.isCached(resource.ref);
    return {start, end, limit: near ? 0 : limit, revision: undefined, near};
  }
  if (match === 'Exact' || (match === '' && limit > 0)) {
    await waitForRevision(resource, requestedVersion);
    return {start, end, limit, revision: requestedVersion};
  }
  await waitForRevision(resource, requestedVersion);
  return {start, end, limit, revision: undefined};
};

/** A read of a collection by the server itself. */
export interface InternalRead {
  /** Empty or absent: all namespaces. */
  readonly namespace?: string;
  readonly limit?: number;
  /** Whether the watch cache may serve the read, which can be behind the store. */
  readonly near?: boolean;
}

/** Returns the records of a range of keys in chunks, at a revision or the newest. */
export const readRange = (resource: Resource, {start, end}: Scope, revision: number | undefined): AsyncIterableIterator<Chunk, undefined> =>
  readChunks(resource, {start, end, limit: 0, revision, filter: passAll, bytes: chunkBytes.raw});

/** Returns the objects of a collection at one revision, read in chunks. */
export const allObjects = async <T extends KubeObject>(
  resource: Resource,
  {namespace = '', limit = 0, near = false}: InternalRead = {},
): Promise<Readonly<T>[]> => {
  const {start, end} = scopeOf(resource, namespace, passAll);
  // Most collections are small and are read in every write: one range read, without an iterator.
  const reading = resource.settings.store.range({start, end, bytes: chunkBytes.raw, near, limit: limit || Infinity});
  const {records, revision, more} = await reading;
  const found: Readonly<T>[] = [];
  if (records.length === 0 && !more) return found;
  const take = async (each: readonly StoredRecord[]): Promise<void> => {
    for (const record of each) {
      const object = resource.object(record);
      found.push((await object) as Readonly<T>);
    }
  };
  await take(records);
  if (!more || found.length === limit) return found;
  const rest = {
    start: keyAfter(records.at(-1)!.key),
    end,
    limit: limit && limit - found.length,
    revision,
    filter: passAll,
    bytes: chunkBytes.raw,
    near,
  };
  for await (const chunk of readChunks(resource, rest)) await take(chunk.records);
  return found;
};

/**
 * Reads until the first chunk is full, or to the end of the list if that is near or, for a limited page, must be known.
 */
const readList = async (resource: Resource, prefix: string, range: RangeRead): Promise<Listed> => {
  const {limit, filter} = range;
  const kept = new PageRecords(range.bytes);
  let count = 0;
  let rest: string | undefined;
  let next: string | undefined = range.start;
  let revision = 0;
  for await (const chunk of readChunks(resource, range)) {
    const start: string = next!;
    ({next, revision} = chunk);
    count += chunk.records.length;
    if (rest !== undefined) continue;
    if (!kept.add(chunk.records)) rest = start;
    else if (limit === 0 && next !== undefined && kept.bytes >= range.bytes) {
      rest = next;
      break;
    }
  }
  const isComplete = rest === undefined && !kept.isLong;
  const listed = {
    revision,
    isComplete,
    records: isComplete ? kept.records : [],
    chunks: () => recordChunks(resource, {...range, revision}, kept, rest),
    close: () => kept[Symbol.dispose](),
  };
  if (limit === 0 || count < limit || next === undefined) return listed;
  const token = encodeContinue(resource.settings.naming, prefix, {revision, start: next});
  return {
    ...listed,
    continue: token,
    ...(filter.all ? {remaining: await remainingAfter(resource, range, {next, revision, read: count})} : {}),
  };
};

/** Returns the records of a list: those that are kept and the rest; all of them anew if none are kept any more. */
const recordChunks = (
  resource: Resource,
  range: RangeRead,
  kept: PageRecords,
  rest: string | undefined,
): AsyncIterableIterator<readonly StoredRecord[], undefined> => {
  const {limit} = range;
  const first = kept.take();
  const unread = first ? {start: rest, limit: limit && limit - kept.count} : {start: range.start, limit};
  return new RecordChunks(
    {first, kept, pause: turnsOf(resource, range)},
    unread.start === undefined ? undefined : readChunks(resource, {...range, ...unread, start: unread.start}),
  );
};

/** Returns the number of objects after a page. */
const remainingAfter = async (
  {settings: {store}, remainingCounts}: Resource,
  {start, end}: RangeRead,
  {next, revision, read}: {readonly next: string; readonly revision: number; readonly read: number},
): Promise<number> => {
  const before = remainingCounts.from({next: start, end, revision});
  const remaining = before === undefined ? await store.count(next, end, revision) : before - read;
  remainingCounts.record({next, end, revision}, remaining);
  return remaining;
};
