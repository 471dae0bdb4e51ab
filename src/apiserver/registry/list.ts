import {badRequest, expired, statusError} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {sleep} from '#src/base/clock.js';
import {Compacted, FutureRevision} from '#src/storage/errors.js';
import {endOfPrefix, type Store, type StoredRecord} from '#src/storage/store.js';
import {behind, decodeContinue, encodeContinue} from './continue-token.js';
import type {Filter, ListOptions} from './options.js';
import {objectOf} from './read.js';
import type {Resource} from './registry.js';

/** How long a read waits for a revision the store has not reached. */
const futureWaitMs = 3000;
const pollMs = 20;
/** How many records a filtered page reads at a time. */
const chunk = 1000;

export interface Listed {
  readonly records: readonly StoredRecord[];
  /** Parsed where the filter had to look; else on demand. */
  object(record: StoredRecord): Readonly<KubeObject>;
  readonly revision: number;
  readonly continue?: string;
  readonly remaining?: number;
}

/** Waits until the store has reached `revision`. Throws 504 when it does not come. */
export const reached = async ({settings}: Resource, revision: number): Promise<void> => {
  const {store, clock} = settings;
  const deadline = clock.monotonic() + futureWaitMs;
  for (;;) {
    const current = await store.revision();
    if (current >= revision) return;
    if (clock.monotonic() >= deadline) throw tooLarge(revision, current);
    await sleep(clock, pollMs);
  }
};

const tooLarge = (asked: number, current: number) =>
  statusError('Timeout', `Timeout: Too large resource version: ${asked}, current: ${current}`, {
    details: {retryAfterSeconds: 1, causes: [{reason: 'ResourceVersionTooLarge', message: 'Too large resource version'}]},
  });

const oldList = 'The resourceVersion for the provided list is too old.';

/** Reads one page of a collection as the options ask (the API reference, resource versions and chunking). */
export const listObjects = async (resource: Resource, namespace: string, filter: Filter, options: ListOptions): Promise<Listed> => {
  const prefix = resource.prefixOf(namespace);
  const scope = scopeOf(resource, namespace, filter);
  const plan = await planOf(resource, prefix, scope, options);
  try {
    return await readPage(resource, prefix, plan, filter);
  } catch (error) {
    if (error instanceof FutureRevision) throw tooLarge(plan.revision ?? 0, error.current);
    if (!(error instanceof Compacted)) throw error;
    if (!options.continue) throw expired(oldList);
    throw expired(interrupted, {continue: encodeContinue(resource.settings.naming, prefix, {revision: -1, start: plan.start})});
  }
};

const interrupted =
  'The continue parameter is too old: what the list began with is no longer kept. Begin a new list without the parameter for a consistent result, or go on with the token in this response, which continues behind the same object in the present state: changes made since the list began may then be missing or show up.';

interface Plan {
  readonly start: string;
  readonly end: string;
  readonly limit: number;
  readonly revision: number | undefined;
}

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
  const {match, resourceVersion: asked, limit} = options;
  if (options.continue) {
    if (asked) throw badRequest('specifying resource version is not allowed when using continue');
    const {revision, start: from} = decodeContinue(resource.settings.naming, prefix, options.continue);
    return {start: from, end, limit, revision: revision > 0 ? revision : undefined};
  }
  if (asked === undefined) return {start, end, limit, revision: undefined};
  if (asked === 0) return {start, end, limit: resource.settings.isCached(resource.ref) ? 0 : limit, revision: undefined};
  if (match === 'Exact' || (match === '' && limit > 0)) {
    await reached(resource, asked);
    return {start, end, limit, revision: asked};
  }
  await reached(resource, asked);
  return {start, end, limit, revision: undefined};
};

const readPage = async (resource: Resource, prefix: string, {start, end, limit, revision}: Plan, filter: Filter): Promise<Listed> => {
  const {store, naming} = resource.settings;
  const object = (record: StoredRecord) => objectOf(resource, record);
  const at = (from: string, most: number, exact: number | undefined) =>
    store.range({start: from, end, ...(most ? {limit: most} : {}), ...(exact === undefined ? {} : {revision: exact})});
  if (filter.all) {
    const {records, revision: read, more} = await at(start, limit, revision);
    if (!more) return {records, object, revision: read};
    const next = behind(records.at(-1)!.key);
    return {records, object, revision: read, continue: encodeContinue(naming, prefix, {revision: read, start: next}), remaining: await countAt(store, next, end, read)};
  }
  const found: StoredRecord[] = [];
  let from = start;
  let exact = revision;
  for (;;) {
    const page = await at(from, limit ? Math.max(limit, chunk) : 0, exact);
    exact = page.revision;
    for (const [index, record] of page.records.entries()) {
      if (!filter.matches(object(record))) continue;
      found.push(record);
      if (found.length === limit && (page.more || index < page.records.length - 1)) {
        return {records: found, object, revision: exact, continue: encodeContinue(naming, prefix, {revision: exact, start: behind(record.key)})};
      }
    }
    if (!page.more) return {records: found, object, revision: exact};
    from = behind(page.records.at(-1)!.key);
  }
};

/** How many keys there were at a revision. A store counts its newest state without reading records; for an older one they are read. */
const countAt = async (store: Store, start: string, end: string, revision: number): Promise<number> => {
  const count = await store.count(start, end);
  if ((await store.revision()) === revision) return count;
  return (await store.range({start, end, revision})).records.length;
};
