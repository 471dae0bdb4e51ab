import {defer, from, map, Observable, repeat, retry, switchMap, tap} from 'rxjs';
import {isOlderVersion} from '#src/api/resource-version.js';
import {hasCause, isGone} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import type {WatchEvent} from '#src/api/watch.js';
import type {Clock} from '#src/base/clock.js';
import type {Random} from '#src/base/random.js';
import {Backoff} from './backoff.js';
import type {ListOptions} from '#src/client/client.js';
import type {ListerWatcher} from './lister-watcher.js';
import {after, neverSilentFor} from './timing.js';

/** What a followed collection tells: all of it at once, or one change. Bookmarks only say that the server is alive. */
export type Followed<T extends KubeObject> =
  | {readonly type: 'listed'; readonly items: readonly T[]; readonly resourceVersion: string}
  | WatchEvent<T>;

/** Why a stream was given up although nobody reported an error. */
export class StreamFault extends Error {
  override readonly name = 'StreamFault';
  readonly fault: 'silent' | 'short' | 'slow' | 'rewound';

  constructor(fault: StreamFault['fault'], message: string) {
    super(message);
    this.fault = fault;
  }
}

/** Whether a watch failed because it ended at once, as it does when its collection goes. */
export const isShort = (error: unknown): boolean => error instanceof StreamFault && error.fault === 'short';

export interface FollowOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Told of every failure, with the wait until the next attempt. */
  readonly onError?: (error: unknown, waitMs: number) => void;
  /** Told of every attempt. */
  readonly onAttempt?: (what: 'list' | 'watch') => void;
  /** How long a watch may say nothing, not even a bookmark (servers send one a minute), before the connection counts as dead. */
  readonly silenceMs?: number;
  /** The least time the server is asked to keep a watch; up to twice that by chance, so that not all end together. Five minutes unless given. */
  readonly watchSeconds?: number;
  /** How long one page of a list may take. */
  readonly pageMs?: number;
  readonly pageSize?: number;
}

/** A watch that ends sooner without an event is a failure: the next one may not follow at once. */
const shortWatchMs = 1_000;

/** A watch that lasted so long was served, whatever ended it: the backoff begins anew, so that connections that are cut now and then do not let the cache grow old. */
const servedAfterMs = 5_000;

/**
 * The least time of a watch whose connection nobody probes, up to half of it longer by chance. The server ends such a watch on time, after a last bookmark: when the end is
 * late the connection is dead.
 */
const unprobedWatchSeconds = 20;
/** How late the end of such a watch may be. */
const lateEndMs = 5_000;

/** Where a follower stands. */
interface Position {
  /** The version to watch from; undefined: a list is due. */
  watchFrom: string | undefined;
  /** The list may be as old as this: `0` whatever the server has at hand, empty for what is newest. */
  listFrom: string;
  /** A list was too long in coming for its pages to stay valid: take the next one whole. */
  unpaged: boolean;
}

/** A version alone would mean exactly that version as soon as there is a limit. */
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

/** One whole list, all pages, aborted when nobody waits for it any more or a page does not come. */
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

/** How long a watch is to last, and how long it may be silent. */
interface WatchTimes {
  readonly timeoutSeconds: number;
  readonly silenceMs: number;
}

const watchTimes = (isProbed: boolean, {random, silenceMs = 240_000, watchSeconds = 300}: FollowOptions): WatchTimes => {
  if (isProbed) return {timeoutSeconds: Math.floor(watchSeconds * (1 + random.float())), silenceMs};
  const timeoutSeconds = Math.floor(Math.min(watchSeconds, unprobedWatchSeconds) * (1 + random.float() / 2));
  return {timeoutSeconds, silenceMs: Math.min(silenceMs, timeoutSeconds * 1000 + lateEndMs)};
};

/** One watch until it ends, with its faults made errors. */
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
      map((event): Followed<T> => event),
    );
  });

/** Takes the position past what came. Throws for a bookmark below what was seen before: the store went back, and what it held since then is in no history. */
const advance = (position: Position, event: Followed<KubeObject>): void => {
  const version = event.type === 'listed' ? event.resourceVersion : event.object.metadata?.resourceVersion;
  if (event.type === 'listed') position.unpaged = false;
  if (version === undefined) return;
  if (event.type === 'BOOKMARK' && isOlderVersion(version, position.watchFrom ?? ''))
    throw new StreamFault('rewound', `the server is at version ${version}, and was at ${position.watchFrom}`);
  position.watchFrom = version;
  if (version) position.listFrom = version;
};

/** What a failure means for the way on. History that is gone asks for a list; one that cannot be had at that version, for the newest. */
const retreat = (position: Position, error: unknown): void => {
  const ahead = hasCause(error, 'ResourceVersionTooLarge') || (error instanceof StreamFault && error.fault === 'rewound');
  if (!isGone(error) && !ahead) return;
  if (position.watchFrom === undefined || ahead) {
    position.listFrom = '';
    position.unpaged = true;
  }
  position.watchFrom = undefined;
};

/**
 * Follows a collection for ever: lists it, watches it from there, and picks up where it left off after a closed connection, a restart of
 * the server or a silence; lists again when history is gone. Never completes and never errors: each failure is told to `onError` and waited out.
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
          const waitMs = backoff.next();
          retreat(position, error);
          onError?.(error, waitMs);
          return after(clock, waitMs);
        },
      }),
    );
  });
