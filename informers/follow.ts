import {defer, from, Observable, repeat, retry, switchMap, tap} from 'rxjs';
import {isOlderVersion} from '#src/api/resource-version.js';
import {hasCause, isGone, StatusError} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {WatchEvent} from '#src/api/watch.js';
import type {Clock} from '#src/base/clock.js';
import type {Random} from '#src/base/random.js';
import {Backoff} from './backoff.js';
import type {ListOptions} from '#src/client/client.js';
import {UnreadableEvent} from '#src/client/errors.js';
import type {ListerWatcher} from './lister-watcher.js';
import {afterDelay, neverSilentFor} from './timing.js';

/** An event of a list and watch: the whole list, or one watch event. Bookmarks only show that the server is alive. */
export type Followed<T extends KubeObject> =
  | {readonly type: 'listed'; readonly items: readonly T[]; readonly resourceVersion: string}
  | WatchEvent<T>;

/** A fault of a list or watch that the server did not report as an error. */
export class StreamFault extends Error {
  override readonly name = 'StreamFault';
  readonly fault: 'silent' | 'short' | 'slow' | 'rewound';

  constructor(fault: StreamFault['fault'], message: string) {
    super(message);
    this.fault = fault;
  }
}

/** Returns whether a watch failed because it ended at once, as it does when its collection is removed. */
export const isShort = (error: unknown): boolean => error instanceof StreamFault && error.fault === 'short';

export interface FollowOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Called with every failure and the delay before the next attempt. */
  readonly onError?: (error: unknown, waitMs: number) => void;
  /** Called at the start of every attempt. */
  readonly onAttempt?: (what: 'list' | 'watch') => void;
  /**
   * How long a watch may send nothing, not even a bookmark (servers send one a minute), before the connection counts as
   * dead.
   */
  readonly silenceMs?: number;
  /**
   * The minimum `timeoutSeconds` of a watch, 300 by default; random up to twice that, so that watches do not all end
   * together.
   */
  readonly watchSeconds?: number;
  /** How long one page of a list may take. */
  readonly pageMs?: number;
  readonly pageSize?: number;
}

/** A watch that ends sooner without an event is a failure, so that the next one is delayed. */
const shortWatchMs = 1_000;

/**
 * A watch that lasted this long was served, however it ended: the backoff is reset, so that occasional broken
 * connections do not make the cache stale.
 */
const servedAfterMs = 5_000;

/**
 * The longest delay, before jitter, after a connection that failed or could not be made. Only a server that answers is
 * spared more: a cache is to be right soon after a network is.
 */
const mostAfterBreakMs = 4_000;

/** Returns whether a failure is none that the server reported, and not the immediate end of a watch. */
const isBrokenConnection = (error: unknown): boolean =>
  error instanceof StreamFault ? error.fault === 'silent' || error.fault === 'slow' : !(error instanceof StatusError);

/**
 * The minimum `timeoutSeconds` of a watch whose connection is not probed, randomly up to half longer. The server ends
 * such a watch on time, after a last bookmark: if the end is late, the connection is dead.
 */
const unprobedWatchSeconds = 20;
/** How late the end of such a watch may be. */
const lateEndMs = 5_000;

/** The state of the loop: where its next list or watch begins. */
interface Position {
  /** The resource version to watch from; undefined if a list is next. */
  watchFrom: string | undefined;
  /** The minimum resource version of the list: `0` for any, empty for the most recent. */
  listFrom: string;
  /** Whether the next list is not paged, because pages of the last one expired. */
  unpaged: boolean;
}

/**
 * Returns the version options of a list. A resource version without a match would mean exactly that version together
 * with a limit.
 */
const versionOf = ({listFrom}: Position): Pick<ListOptions, 'resourceVersion' | 'resourceVersionMatch'> => {
  if (listFrom === '') return {};
  return listFrom === '0' ? {resourceVersion: '0'} : {resourceVersion: listFrom, resourceVersionMatch: 'NotOlderThan'};
};

const listOnce = async <T extends KubeObject>(
  api: ListerWatcher<T>,
  position: Position,
  options: FollowOptions,
  signal: AbortSignal,
): Promise<Followed<T>> => {
  const items: T[] = [];
  let next: string | undefined;
  for (;;) {
    const list = await api.list({
      signal,
      ...(position.unpaged ? {} : {limit: options.pageSize ?? 500}),
      ...(next ? {continue: next} : versionOf(position)),
    });
    for (const item of list.items) items.push(item);
    next = list.metadata?.continue || undefined;
    if (!next) return {type: 'listed', items, resourceVersion: list.metadata?.resourceVersion ?? ''};
  }
};

/** Lists all pages. Aborted when the subscriber leaves or a page takes longer than `pageMs`. */
const listed = <T extends KubeObject>(api: ListerWatcher<T>, position: Position, options: FollowOptions): Observable<Followed<T>> =>
  new Observable(subscriber => {
    const abort = new AbortController();
    const alive: ListerWatcher<T> = {...api, list: page => slowIsAnError(api.list(page), options, abort)};
    subscriber.add(() => abort.abort());
    subscriber.add(from(listOnce(alive, position, options, abort.signal)).subscribe(subscriber));
  });

const slowIsAnError = async <T>(page: Promise<T>, {clock, pageMs = 120_000}: FollowOptions, abort: AbortController): Promise<T> => {
  let timer: Disposable | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = clock.schedule(pageMs, () => {
      const fault = new StreamFault('slow', `the server did not answer a list within ${pageMs} ms`);
      reject(fault);
      abort.abort(fault);
    });
  });
  try {
    return await Promise.race([page, late]);
  } finally {
    timer?.[Symbol.dispose]();
  }
};

/** How long a watch lasts, and how long it may be silent. */
interface WatchTimes {
  readonly timeoutSeconds: number;
  readonly silenceMs: number;
}

const watchTimes = (isProbed: boolean, {random, silenceMs = 240_000, watchSeconds = 300}: FollowOptions): WatchTimes => {
  if (isProbed) return {timeoutSeconds: Math.floor(watchSeconds * (1 + random.float())), silenceMs};
  const timeoutSeconds = Math.floor(Math.min(watchSeconds, unprobedWatchSeconds) * (1 + random.float() / 2));
  return {timeoutSeconds, silenceMs: Math.min(silenceMs, timeoutSeconds * 1000 + lateEndMs)};
};

/** One watch until it ends. Faults of the stream become errors. */
const watched = <T extends KubeObject>(api: ListerWatcher<T>, resourceVersion: string, options: FollowOptions): Observable<Followed<T>> => {
  if (!api.isProbed) return watchedFor(api, resourceVersion, options.clock, watchTimes(true, options));
  return from(api.isProbed()).pipe(switchMap(isProbed => watchedFor(api, resourceVersion, options.clock, watchTimes(isProbed, options))));
};

const watchedFor = <T extends KubeObject>(
  api: ListerWatcher<T>,
  resourceVersion: string,
  clock: Clock,
  {timeoutSeconds, silenceMs}: WatchTimes,
): Observable<Followed<T>> =>
  defer(() => {
    const since = clock.monotonic();
    let events = 0;
    return api.watch({resourceVersion, allowWatchBookmarks: true, timeoutSeconds}).pipe(
      neverSilentFor(clock, silenceMs, () => new StreamFault('silent', `nothing came from a watch for ${silenceMs} ms`)),
      tap({
        next: ({type}) => void (events += type === 'BOOKMARK' ? 0 : 1),
        complete() {
          if (events === 0 && clock.monotonic() - since < shortWatchMs)
            throw new StreamFault('short', 'a watch ended at once, without an event');
        },
      }),
    );
  });

/**
 * Advances the position past an event. Throws for a bookmark older than the position: the store was restored to an
 * earlier state, and later events are lost.
 */
const advance = (position: Position, event: Followed<KubeObject>): void => {
  const version = event.type === 'listed' ? event.resourceVersion : event.object.metadata?.resourceVersion;
  if (event.type === 'listed') position.unpaged = false;
  if (version === undefined) return;
  if (event.type === 'BOOKMARK' && isOlderVersion(version, position.watchFrom ?? ''))
    throw new StreamFault('rewound', `the server is at version ${version}, and was at ${position.watchFrom}`);
  position.watchFrom = version;
  if (version) position.listFrom = version;
};

/**
 * Resets the position after a failure. After 410 Gone, and after an event that cannot be read, a list is next; if the
 * list itself failed, or the version is ahead of the server, the most recent list, unpaged.
 */
const retreat = (position: Position, error: unknown): void => {
  if (error instanceof UnreadableEvent) position.watchFrom = undefined;
  const ahead = hasCause(error, 'ResourceVersionTooLarge') || (error instanceof StreamFault && error.fault === 'rewound');
  if (!isGone(error) && !ahead) return;
  if (position.watchFrom === undefined || ahead) {
    position.listFrom = '';
    position.unpaged = true;
  }
  position.watchFrom = undefined;
};

/**
 * Lists a collection and watches it from there, indefinitely. Resumes the watch after a closed connection, a restart of
 * the server or a silence; lists again after 410 Gone. Never completes and never errors: each failure is passed to
 * `onError` and retried after a backoff.
 */
export const follow = <T extends KubeObject>(api: ListerWatcher<T>, options: FollowOptions): Observable<Followed<T>> =>
  defer(() => {
    const {clock, random, onError, onAttempt} = options;
    const backoff = new Backoff(clock, random);
    let begunAt = 0;
    const position: Position = {watchFrom: undefined, listFrom: '0', unpaged: false};
    const attempt = defer(() => {
      begunAt = clock.monotonic();
      onAttempt?.(position.watchFrom === undefined ? 'list' : 'watch');
      return position.watchFrom === undefined ? listed(api, position, options) : watched(api, position.watchFrom, options);
    });
    return attempt.pipe(
      tap(event => {
        advance(position, event);
        if (event.type !== 'listed') backoff.reset();
      }),
      repeat(), // A finished list leads to a watch, a closed watch to the next.
      retry({
        delay(error) {
          if (position.watchFrom !== undefined && clock.monotonic() - begunAt >= servedAfterMs) backoff.reset();
          const waitMs = backoff.next(isBrokenConnection(error) ? mostAfterBreakMs : Infinity);
          retreat(position, error);
          onError?.(error, waitMs);
          return afterDelay(clock, waitMs);
        },
      }),
    );
  });
