import type {CoreEvent} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import {CacheBound} from '#src/base/cache-bound.js';
import {Lru} from '#src/base/lru.js';
import {TokenBucket} from '#src/base/token-bucket.js';

/** Limits of the Events of one source about one object, and of the caches behind them. */
const limits = {
  maxEntries: 4096,
  /** This many different messages of one group within the interval stay apart; further ones are aggregated. */
  similarMessages: 10,
  similarWithinMs: 600_000,
  burst: 25,
  refillPerSecond: 1 / 300,
} as const;

const combinedPrefix = '(combined from similar events): ';

interface Group {
  readonly messages: Set<string>;
  lastMs: number;
}
interface Observation {
  count: number;
  readonly name: string;
  readonly firstTimestamp: string;
}

const bound = new CacheBound('event_correlation', 16 << 20);

const bytesOfGroup = ({messages}: Group): number => {
  let bytes = 200;
  for (const message of messages) bytes += 50 + message.length;
  return bytes;
};

/** What is to be done with an event: create it, raise the count of an earlier one, or drop it. */
export type Correlated =
  | {readonly kind: 'create'; readonly key: string; readonly event: CoreEvent}
  | {readonly kind: 'count'; readonly key: string; readonly event: CoreEvent}
  | {readonly kind: 'drop'};

/** Returns one text for several. The last may hold anything; the others are names, which have no line breaks. */
const joined = (...parts: readonly (string | undefined)[]): string => parts.join('\n');

const objectKey = ({source, involvedObject: {kind, namespace, name, uid, apiVersion}}: CoreEvent): string =>
  joined(source?.component, source?.host, kind, namespace, name, uid, apiVersion);

/**
 * Limits the Events of a source, as client-go does: an event equal to an earlier one except for its time raises that
 * one's count, many that differ only in their message are aggregated, and too many about one object are dropped (spam
 * filter).
 */
export class EventCorrelator {
  readonly #clock: Clock;
  readonly #groups = new Lru<string, Group>(bound, {bytesOf: bytesOfGroup, maxEntries: limits.maxEntries});
  readonly #observed = new Lru<string, Observation>(bound, {bytesOf: ({name}) => 100 + name.length, maxEntries: limits.maxEntries});
  readonly #buckets = new Lru<string, TokenBucket>(bound, {bytesOf: () => 100, maxEntries: limits.maxEntries});

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  correlate(event: CoreEvent): Correlated {
    const object = objectKey(event);
    const {event: grouped, key} = this.#group(event, object);
    const seen = this.#observed.get(key);
    const count = (seen?.count ?? 0) + 1;
    const metadata = {...grouped.metadata, ...(seen ? {name: seen.name} : {})};
    const merged: CoreEvent = {...grouped, metadata, count, ...(seen ? {firstTimestamp: seen.firstTimestamp} : {})};
    this.#observed.set(key, {count, name: metadata.name ?? '', firstTimestamp: merged.firstTimestamp ?? ''});
    if (!this.#isWithinRateLimit(object)) return {kind: 'drop'};
    return {kind: count > 1 ? 'count' : 'create', key, event: merged};
  }

  /** Called when the event is not on the server, so that the next one like it is created anew. */
  forget(key: string): void {
    this.#observed.delete(key);
  }

  #group(event: CoreEvent, object: string): {event: CoreEvent; key: string} {
    const groupKey = joined(object, event.type, event.reason, event.reportingComponent, event.reportingInstance);
    const now = this.#clock.monotonic();
    const known = this.#groups.get(groupKey);
    const group = known && now - known.lastMs <= limits.similarWithinMs ? known : {messages: new Set<string>(), lastMs: now};
    group.lastMs = now;
    const {size} = group.messages;
    group.messages.add(event.message ?? '');
    if (group.messages.size > size) this.#groups.set(groupKey, group); // Stored again because its size has changed.
    if (group.messages.size < limits.similarMessages) return {event, key: joined(groupKey, event.involvedObject.fieldPath, event.message)};
    for (const oldest of group.messages) {
      group.messages.delete(oldest);
      break;
    }
    return {event: {...event, message: `${combinedPrefix}${event.message ?? ''}`}, key: groupKey};
  }

  #isWithinRateLimit(object: string): boolean {
    let bucket = this.#buckets.get(object);
    if (!bucket) this.#buckets.set(object, (bucket = new TokenBucket(this.#clock, limits.refillPerSecond, limits.burst)));
    return bucket.tryTake();
  }
}
