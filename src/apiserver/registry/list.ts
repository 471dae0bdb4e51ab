import type {KubeObject} from '#src/api/types.js';
import {badRequest, expired, statusError} from '#src/api/status.js';
import {sleep} from '#src/base/clock.js';
import {Compacted, FutureRevision} from '#src/storage/errors.js';
import {endOfPrefix, type StoredRecord} from '#src/storage/store.js';
import {behind, decodeContinue, encodeContinue} from './continue-token.js';
import {passAll, type Filter} from './filter.js';
import type {ListOptions} from './options.js';
import {piecesOf, RecordPieces, type Piece, type Reading} from './pieces.js';
import {objectInPieces} from './read.js';
import type {Resource} from './registry.js';

/** How long a read waits for a revision the store has not reached. */
const futureWaitMs = 3000;
const pollMs = 20;
/**
 * How much is read at a time, in bytes of records: what is sent as it lies there costs little, what has to be parsed much. Either is worked through in a few
 * milliseconds.
 */
export const pieceBytes = {raw: 256 << 10, parsed: 64 << 10} as const;
/** A limited page up to this size is kept while it is found out where it ends; a larger one is read again. */
const keptBytes = 1 << 20;

/** Objects of a collection at one revision. */
export interface Listed {
  readonly revision: number;
  readonly continue?: string;
  readonly remaining?: number;
  /** Whether `first` is all there is. */
  readonly isWhole: boolean;
  /** What was read to begin with. */
  readonly first: readonly StoredRecord[];
  /** All records in order, piece by piece, each read when it is asked for. The first time it begins with `first`, which is empty from then on. */
  pieces(): AsyncIterableIterator<readonly StoredRecord[], undefined>;
}

/** Waits until the store has reached `revision`. Throws 504 when it does not come; at once where nothing shall be waited for. */
export const reached = async ({settings}: Resource, revision: number, {waits} = {waits: true}): Promise<void> => {
  const {store, clock} = settings;
  const deadline = clock.monotonic() + futureWaitMs;
  for (;;) {
    const current = await store.revision();
    if (current >= revision) return;
    if (!waits || clock.monotonic() >= deadline) throw tooLarge(revision, current, waits);
    await sleep(clock, pollMs);
  }
};

const tooLarge = (requestedVersion: number, current: number, isRetried = true) =>
  statusError('Timeout', `Timeout: Too large resource version: ${requestedVersion}, current: ${current}`, {
    details: {...(isRetried ? {retryAfterSeconds: 1} : {}), causes: [{reason: 'ResourceVersionTooLarge', message: 'Too large resource version'}]},
  });

const oldList = 'The resourceVersion for the provided list is too old.';

/** What is listed, and how it will be shown. */
export interface Listing {
  readonly filter: Filter;
  readonly options: ListOptions;
  /** Whether the objects have to be parsed to be shown. */
  readonly parses: boolean;
  /** Throws when nobody waits for the objects any more. */
  check?(): void;
}

/** Reads the beginning of a collection as the options ask (the API reference, resource versions and chunking). */
export const listObjects = async (resource: Resource, namespace: string, {filter, options, parses, check}: Listing): Promise<Listed> => {
  const prefix = resource.prefixOf(namespace);
  const scope = scopeOf(resource, namespace, filter);
  const plan = await planOf(resource, prefix, scope, options);
  try {
    return await readList(resource, prefix, {...plan, filter, check, bytes: parses ? pieceBytes.parsed : pieceBytes.raw});
  } catch (error) {
    if (error instanceof FutureRevision) throw tooLarge(plan.revision ?? 0, error.current);
    if (!(error instanceof Compacted)) throw error;
    if (!options.continue) throw expired(oldList);
    throw expired(interrupted, {continue: encodeContinue(resource.settings.naming, prefix, {revision: -1, start: plan.start})});
  }
};

const interrupted =
  'The continue parameter is too old: what the list began with is no longer kept. Begin a new list without the parameter for a consistent result, or go on with the token in this response, which continues behind the same object in the present state: changes made since the list began may then be missing or show up.';

type Plan = Pick<Reading, 'start' | 'end' | 'limit' | 'revision'>;

interface Scope {
  readonly start: string;
  readonly end: string;
}

/** The keys a request can concern: all, one namespace's, or the single one its selectors pin. */
export const scopeOf = (resource: Resource, namespace: string, filter: Filter): Scope => {
  const {namespaced} = resource.kind;
  const within = namespace || (namespaced ? (filter.namespace ?? '') : '');
  if (filter.name && (!namespaced || within)) {
    const key = resource.key(within, filter.name);
    return {start: key, end: behind(key)};
  }
  const prefix = resource.prefixOf(within);
  return {start: prefix, end: endOfPrefix(prefix)};
};

const planOf = async (resource: Resource, prefix: string, {start, end}: Scope, options: ListOptions): Promise<Plan> => {
  const {match, resourceVersion: requestedVersion, limit} = options;
  if (options.continue) {
    const {revision, start: from} = decodeContinue(resource.settings.naming, prefix, options.continue);
    if (requestedVersion) throw badRequest('specifying resource version is not allowed when using continue');
    return {start: from, end, limit, revision: revision > 0 ? revision : undefined};
  }
  if (requestedVersion === undefined) return {start, end, limit, revision: undefined};
  if (requestedVersion === 0) return {start, end, limit: resource.settings.isCached(resource.ref) ? 0 : limit, revision: undefined};
  if (match === 'Exact' || (match === '' && limit > 0)) {
    await reached(resource, requestedVersion);
    return {start, end, limit, revision: requestedVersion};
  }
  await reached(resource, requestedVersion);
  return {start, end, limit, revision: undefined};
};

/** What the server itself reads of a collection. */
export interface OwnReading {
  /** Of one namespace alone. */
  readonly namespace?: string;
  readonly limit?: number;
  /** Whether what lies at hand will do. */
  readonly near?: boolean;
}

/** A collection piece by piece, at one revision. */
export const allOf = (resource: Resource, {namespace = '', limit = 0, near = false}: OwnReading = {}): AsyncIterableIterator<Piece, undefined> =>
  piecesOf(resource, {...scopeOf(resource, namespace, passAll), limit, revision: undefined, filter: passAll, bytes: pieceBytes.raw, near});

/** The objects of a collection at one revision, read in pieces. */
export const allObjects = async <T extends KubeObject>(resource: Resource, {namespace = '', limit = 0, near = false}: OwnReading = {}): Promise<Readonly<T>[]> => {
  const {start, end} = scopeOf(resource, namespace, passAll);
  // Mostly there are a few, and each write asks for them: one read, without a generator.
  const {records, revision, more} = await resource.settings.store.range({start, end, bytes: pieceBytes.raw, near, ...(limit ? {limit} : {})});
  const found: Readonly<T>[] = [];
  const take = async (each: readonly StoredRecord[]): Promise<void> => {
    for (const record of each) {
      const object = objectInPieces(resource, record);
      found.push((object instanceof Promise ? await object : object) as Readonly<T>);
    }
  };
  await take(records);
  if (!more || found.length === limit) return found;
  const rest = {start: behind(records.at(-1)!.key), end, limit: limit && limit - found.length, revision, filter: passAll, bytes: pieceBytes.raw, near};
  for await (const piece of piecesOf(resource, rest)) await take(piece.records);
  return found;
};

/** Reads on until there is a piece to begin with, or to the end of the list where that is soon or where it must be known. */
const readList = async (resource: Resource, prefix: string, reading: Reading): Promise<Listed> => {
  const {limit, filter} = reading;
  const kept: StoredRecord[] = [];
  let size = 0;
  let count = 0;
  let rest: string | undefined;
  let last: Piece | undefined;
  for await (const piece of piecesOf(resource, reading)) {
    last = piece;
    count += piece.records.length;
    if (rest !== undefined) continue;
    kept.push(...piece.records);
    for (const {value} of piece.records) size += value.length;
    if (piece.next === undefined || count === limit || size < (limit ? keptBytes : reading.bytes)) continue;
    rest = piece.next;
    if (limit === 0) break;
  }
  const {revision, next} = last!;
  const read = kept.length;
  const listed = {
    revision,
    isWhole: rest === undefined,
    first: kept,
    pieces(): AsyncIterableIterator<readonly StoredRecord[], undefined> {
      const begun = kept.splice(0);
      const from = begun.length > 0 ? {start: rest, limit: limit && limit - read} : {start: reading.start, limit};
      return new RecordPieces(begun, from.start === undefined ? undefined : piecesOf(resource, {...reading, ...from, start: from.start, revision}));
    },
  };
  if (limit === 0 || count < limit || next === undefined) return listed;
  const token = encodeContinue(resource.settings.naming, prefix, {revision, start: next});
  return {...listed, continue: token, ...(filter.all ? {remaining: await resource.settings.store.count(next, reading.end, revision)} : {})};
};
