import {catchError, defer, from, Observable, repeat, retry, tap} from 'rxjs';
import {isOlderVersion} from '#src/api/resource-version.js';
import {hasCause, isGone, StatusError} from '#src/api/status.js';
import type {KubeObject} from '#src/api/types.js';
import {aborted} from '#src/base/signals.js';
import {Backoff} from './backoff.js';
import type {ListOptions} from '#src/client/client.js';
import {UnreadableEvent} from '#src/client/errors.js';
import type {ListerWatcher} from './lister-watcher.js';
import type {Followed, FollowOptions} from './following.js';
import {isBrokenConnection, StreamFault} from './stream-fault.js';
import {watched, watchListed} from './streams.js';
import {afterDelay} from './timing.js';

/**
 * A watch that lasted this long was served, however it ended: the backoff is reset, so that occasional broken
 * connections do not make the cache stale.
 */
const servedAfterMs = 5_000;

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
    let isOver = false;
    const all = async () => {
      try {
        return await listOnce(alive, position, options, abort.signal);
      } finally {
        isOver = true;
      }
    };
    subscriber.add(() => {
      if (!isOver) abort.abort(aborted);
    });
    subscriber.add(from(all()).subscribe(subscriber));
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
  const ahead = isAhead(error);
  if (!isGone(error) && !ahead) return;
  if (position.watchFrom === undefined || ahead) {
    position.listFrom = '';
    position.unpaged = true;
  }
  position.watchFrom = undefined;
};

/** Whether the list can only be of the newest version: a later one was seen than the server has. */
const isAhead = (error: unknown): boolean =>
  hasCause(error, 'ResourceVersionTooLarge') || (error instanceof StreamFault && error.fault === 'rewound');

/**
 * Whether the objects there are may be streamed by another attempt: the server was not reached, is busy, or has other
 * versions.
 */
const isStreamedLater = (error: unknown): boolean =>
  error instanceof StatusError
    ? error.code === 429 || isGone(error) || isAhead(error)
    : !(error instanceof StreamFault || error instanceof UnreadableEvent);

/**
 * Lists a collection and watches it from there, indefinitely. Where the API has watch lists, the list is the beginning
 * of the watch, and a request of its own only if the server refuses that. Resumes the watch after a closed connection,
 * a restart of the server or a silence; lists again after 410 Gone. Never completes and never errors: each failure is
 * passed to `onError` and retried after a backoff. `keep` returns what is kept of an object of a streamed list, given
 * the number of those before it.
 */
export const follow = <T extends KubeObject>(
  api: ListerWatcher<T>,
  options: FollowOptions,
  keep?: (object: T, held: number) => T,
): Observable<Followed<T>> =>
  defer(() => {
    const {clock, random, onError} = options;
    const backoff = new Backoff(clock, random);
    let begunAt = 0;
    const position: Position = {watchFrom: undefined, listFrom: '0', unpaged: false};
    const attempt = defer(() => {
      begunAt = clock.monotonic();
      return attempted(api, position, options, keep);
    });
    return attempt.pipe(
      tap(event => {
        advance(position, event);
        if (event.type !== 'listed') backoff.progressed();
      }),
      repeat(), // A finished list leads to a watch, a closed watch to the next.
      retry({
        delay(error) {
          if (position.watchFrom !== undefined && clock.monotonic() - begunAt >= servedAfterMs) backoff.progressed();
          const waitMs = backoff.next({isBroken: isBrokenConnection(error)});
          retreat(position, error);
          onError?.(error, waitMs);
          return afterDelay(clock, waitMs);
        },
      }),
    );
  });

/** The next attempt: a watch from the position, or the list. */
const attempted = <T extends KubeObject>(
  api: ListerWatcher<T>,
  position: Position,
  options: FollowOptions,
  keep?: (object: T, held: number) => T,
): Observable<Followed<T>> => {
  const {onAttempt, onFallback} = options;
  const list = () => {
    onAttempt?.('list');
    return listed(api, position, options);
  };
  if (position.watchFrom === undefined && !api.initialEventsEnd) return list();
  onAttempt?.('watch');
  if (position.watchFrom !== undefined) return watched(api, position.watchFrom, options);
  const newest = position.listFrom === '0';
  return watchListed(api, newest ? '' : position.listFrom, options, keep).pipe(
    catchError((error: unknown) => {
      if (position.watchFrom !== undefined || isStreamedLater(error)) throw error;
      onFallback?.(error);
      return list();
    }),
  );
};
