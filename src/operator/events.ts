// Event sources outside of the cluster: an async iterable or an Observable.

import type {Frozen, ObjectKey} from '#src/api/key.js';
import type {KubeObject} from '#src/api/types.js';
import type {EventSource as RuntimeSource, SourceContext} from '#src/runtime/event-source.js';
import type {Caches} from './caches.js';
import type {Mapped} from './triggers/mapping-retries.js';
import {keysIn} from './watches.js';

/** The used part of an Observable (rxjs, or any library with that protocol). */
export interface SubscribableEvents<E> {
  subscribe(observer: {next(event: E): void; error(error: unknown): void; complete(): void}): {unsubscribe(): void};
}

/** A stream of events: an async iterable or an Observable. */
export type Events<E> = AsyncIterable<E> | SubscribableEvents<E>;

/** The argument of the function that opens a source. */
export interface OpenContext {
  /** Aborts when the source has to end. */
  readonly signal: AbortSignal;
}

/** The mapping of events to keys. */
export interface EventsOptions<E> {
  /** The name in logs. Default `events`. */
  readonly name?: string;
  /** Returns the keys or objects that an event concerns. Absent: each event is itself a key or an object. */
  readonly keys?: (event: E, context: {readonly caches: Caches}) => Iterable<ObjectKey | Frozen<KubeObject>>;
}

/** A source of keys besides the watches of a controller. */
export interface EventSource {
  readonly name: string;
  /** Follows the source until it ends, fails, or the signal aborts. */
  follow(context: SourceContext, mapping: EventMapping): Promise<void>;
}

/** What events are mapped to keys with, now or later. */
export interface EventMapping {
  readonly caches: Caches;
  /** Maps an event, now and after each failure until it succeeds. */
  attempt<E>(mapped: Mapped<E>, event: E): void;
}

/**
 * Queues keys for events from outside of the cluster: `sources: [fromEvents(({signal}) => changesOfBuckets(signal),
 * {keys: bucket => [bucket.owner]})]`. The source is opened once the controller's caches are synced. A source that
 * fails is opened again with backoff (1 s to 1 min): by calling `events` if it is a function, otherwise by iterating or
 * subscribing again. A source that ends is not opened again. An event for which `keys` throws is mapped again with the
 * same backoff. An async iterable is paused while a thousand keys are queued; an Observable cannot be paused, but a key
 * is queued only once.
 */
export const fromEvents = <E>(events: Events<E> | ((context: OpenContext) => Events<E>), options: EventsOptions<E> = {}): EventSource => {
  const {name = 'events', keys = event => [event as ObjectKey]} = options;
  return {
    name,
    follow({enqueue, signal}, {caches, attempt}) {
      let room: Promise<void> | undefined;
      const mapped: Mapped<E> = {
        kind: name,
        map(event) {
          for (const key of keysIn(keys(event, {caches}))) room = enqueue(key) ?? room;
        },
      };
      const queue = (event: E): Promise<void> | undefined => {
        room = undefined;
        attempt(mapped, event);
        return room;
      };
      const opened = typeof events === 'function' ? events({signal}) : events;
      return Symbol.asyncIterator in opened ? iterated(opened, queue, signal) : subscribed(opened, queue, signal);
    },
  };
};

/** Converts a source for the runtime. */
export const runtimeSource = ({name, follow}: EventSource, mapping: () => EventMapping): RuntimeSource => ({
  name,
  run: context => follow(context, mapping()),
});

const iterated = async <E>(
  events: AsyncIterable<E>,
  queue: (event: E) => Promise<void> | undefined,
  signal: AbortSignal,
): Promise<void> => {
  const iterator = events[Symbol.asyncIterator]();
  const aborted = new Promise<undefined>(resolve => {
    if (signal.aborted) resolve(undefined);
    signal.addEventListener('abort', () => resolve(undefined), {once: true});
  });
  try {
    for (;;) {
      // An iterable that ignores the signal must not delay a stop.
      const step = await Promise.race([iterator.next(), aborted]);
      if (!step || step.done) return;
      await Promise.race([queue(step.value), aborted]);
    }
  } finally {
    if (signal.aborted) Promise.resolve(iterator.return?.()).catch(() => {});
    else await iterator.return?.();
  }
};

const subscribed = <E>(events: SubscribableEvents<E>, queue: (event: E) => unknown, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    let subscription: {unsubscribe(): void} | undefined;
    let isOver = false;
    const end = (settle: () => void) => {
      if (isOver) return;
      isOver = true;
      signal.removeEventListener('abort', abort);
      subscription?.unsubscribe();
      settle();
    };
    const abort = () => end(resolve);
    signal.addEventListener('abort', abort, {once: true});
    subscription = events.subscribe({
      next(event) {
        try {
          if (!isOver) queue(event);
        } catch (error) {
          end(() => reject(error as Error));
        }
      },
      error: error => end(() => reject(error as Error)),
      complete: () => end(resolve),
    });
    if (isOver) subscription.unsubscribe();
    if (signal.aborted) abort();
  });
