// The watches of a followed collection: from a version, or from the objects there are (a watch list, KEP-3157).

import {defer, filter, from, map, type Observable, switchMap, tap} from 'rxjs';
import {keyOf, keyText} from '#src/api/key.js';
import type {KubeObject} from '#src/api/types.js';
import type {WatchEvent} from '#src/api/watch.js';
import type {Clock} from '#src/base/clock.js';
import type {Followed, FollowOptions} from './following.js';
import type {ListerWatcher} from './lister-watcher.js';
import {StreamFault} from './stream-fault.js';
import {neverSilentFor} from './timing.js';

/** A watch that ends sooner without an event is a failure, so that the next one is delayed. */
const shortWatchMs = 1_000;

/**
 * The minimum `timeoutSeconds` of a watch whose connection is not probed, randomly up to half longer. The server ends
 * such a watch on time, after a last bookmark: if the end is late, the connection is dead.
 */
const unprobedWatchSeconds = 20;
/** How late the end of such a watch may be. */
const lateEndMs = 5_000;

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

/** A watch with the times for its connection. */
const timed = <T extends KubeObject>(
  {isProbed}: ListerWatcher<T>,
  options: FollowOptions,
  watch: (times: WatchTimes) => Observable<Followed<T>>,
): Observable<Followed<T>> =>
  isProbed ? from(isProbed()).pipe(switchMap(probed => watch(watchTimes(probed, options)))) : watch(watchTimes(true, options));

const neverSilent = <T>(clock: Clock, silenceMs: number) =>
  neverSilentFor<T>(clock, silenceMs, () => new StreamFault('silent', `nothing came from a watch for ${silenceMs} ms`));

/** One watch until it ends. Faults of the stream become errors. */
export const watched = <T extends KubeObject>(
  api: ListerWatcher<T>,
  resourceVersion: string,
  options: FollowOptions,
): Observable<Followed<T>> => timed(api, options, times => watchedFor(api, resourceVersion, options.clock, times));

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
      neverSilent(clock, silenceMs),
      tap({
        next: ({type}) => void (events += type === 'BOOKMARK' ? 0 : 1),
        complete() {
          if (events === 0 && clock.monotonic() - since < shortWatchMs)
            throw new StreamFault('short', 'a watch ended at once, without an event');
        },
      }),
    );
  });

/** The objects with which a stream begins: nobody sees them before the bookmark that marks their end. */
class InitialObjects<T extends KubeObject> {
  readonly #ends: readonly string[];
  readonly #keep: (object: T, held: number) => T;
  readonly #objects = new Map<string, T>();
  isComplete = false;

  constructor(ends: readonly string[], keep: (object: T, held: number) => T = object => object) {
    this.#ends = ends;
    this.#keep = keep;
  }

  /** Returns what follows from an event: nothing before the end, the objects at it, and the event itself after it. */
  take(event: WatchEvent<T>): Followed<T> | undefined {
    if (this.isComplete) return event;
    const {type, object} = event;
    if (type === 'BOOKMARK') return this.#marksEnd(object) ? this.#listed(object) : undefined;
    const key = keyText(keyOf(object));
    if (type === 'DELETED') this.#objects.delete(key);
    else this.#objects.set(key, this.#keep(object, this.#objects.size));
    return undefined;
  }

  #marksEnd({metadata}: T): boolean {
    return this.#ends.some(key => metadata?.annotations?.[key] === 'true');
  }

  #listed({metadata}: T): Followed<T> {
    const items = [...this.#objects.values()];
    this.#objects.clear();
    this.isComplete = true;
    return {type: 'listed', items, resourceVersion: metadata?.resourceVersion ?? ''};
  }
}

/**
 * A watch that begins with the objects there are, not older than the version, or the newest where it is empty. They are
 * emitted as one list, and what changes afterwards as events. Fails if it ends before they are complete.
 */
export const watchListed = <T extends KubeObject>(
  api: ListerWatcher<T>,
  resourceVersion: string,
  options: FollowOptions,
  keep?: (object: T, held: number) => T,
): Observable<Followed<T>> =>
  timed(api, options, ({timeoutSeconds, silenceMs}) =>
    defer(() => {
      const initial = new InitialObjects<T>(api.initialEventsEnd ?? [], keep);
      const version = resourceVersion ? {resourceVersion} : {};
      return api
        .watch({...version, resourceVersionMatch: 'NotOlderThan', sendInitialEvents: true, allowWatchBookmarks: true, timeoutSeconds})
        .pipe(
          neverSilent(options.clock, silenceMs),
          map(event => initial.take(event)),
          filter(followed => followed !== undefined),
          tap({
            complete() {
              if (!initial.isComplete) throw new StreamFault('unfinished', 'a watch ended before it had sent the objects there were');
            },
          }),
        );
    }),
  );
