// Every watcher gets every event once, in order, across all its streams. What a watcher received is kept as segments: a
// segment begins with a list or with initial events, and goes on through any number of resumed streams until its
// history is gone.

import {isSame, shown, type Content} from '#test/faults/history/content.js';
import type {EventReceived, EventType, Item, RevisionReceived, WatchRecord} from '#test/faults/history/records.js';
import type {Covered, Version, Versions} from './versions.js';

interface Received {
  readonly event: EventType;
  readonly key: string;
  readonly revision: number;
  readonly content: Content;
}

export interface Segment {
  readonly watcher: string;
  readonly color: string | undefined;
  /** The revision after which events are expected; undefined until initial events are complete. */
  after: number | undefined;
  /** All events up to here were received. */
  to: number;
  readonly events: Received[];
  /** With initial events: what they add up to. */
  readonly initial: Map<string, Item> | undefined;
}

/** Collects what one watcher receives. */
export class WatcherLog {
  readonly segments: Segment[] = [];
  readonly problems: string[] = [];
  #current: Segment | undefined;

  add(record: WatchRecord): void {
    const {watcher} = record;
    const segment = this.#current;
    switch (record.what) {
      case 'from':
        this.#begin({watcher, color: record.color, after: record.after, to: record.after, events: [], initial: undefined});
        return;
      case 'initial':
        this.#begin({watcher, color: record.color, after: undefined, to: 0, events: [], initial: new Map()});
        return;
      case 'resumed':
        if (!segment || record.after !== segment.to)
          this.problems.push(`${watcher} resumed after ${record.after}, but it had reached ${segment?.to}`);
        return;
      case 'ended':
        if (record.gone || segment?.after === undefined) this.#current = undefined;
        return;
      case 'synced':
        if (segment) segment.after = segment.to = record.revision;
        return;
      default:
        if (segment) this.#receive(segment, record);
        else this.problems.push(`${watcher} received ${record.what} outside a stream`);
    }
  }

  #begin(segment: Segment): void {
    this.#current = segment;
    this.segments.push(segment);
  }

  #receive(segment: Segment, record: EventReceived | RevisionReceived): void {
    if (record.what !== 'event') {
      if (record.revision < segment.to) this.problems.push(`${record.watcher} was told of ${record.revision} after ${segment.to}`);
      segment.to = Math.max(segment.to, record.revision);
      return;
    }
    const {event, key, revision, content} = record;
    if (segment.initial && segment.after === undefined) {
      if (event === 'DELETED') segment.initial.delete(key);
      else segment.initial.set(key, {key, revision, content});
      return;
    }
    if (revision <= segment.to) this.problems.push(`${record.watcher} received ${event} ${key} at ${revision} after ${segment.to}`);
    segment.to = Math.max(segment.to, revision);
    segment.events.push({event, key, revision, content});
  }
}

/** Returns the intervals of which a watcher of all objects received all events. */
export const coveredBy = (segments: readonly Segment[]): Covered[] =>
  segments.flatMap(({after, to, color}) => (after === undefined || color !== undefined ? [] : [{after, to}]));

/** The event that a watcher of a colour, or of all objects, receives for a version. */
const eventOf = (
  {content, previous}: Version,
  color: string | undefined,
): {readonly event: EventType; readonly content: Content} | undefined => {
  const isIn = (one: Content | undefined) => one !== undefined && (color === undefined || one.color === color);
  const before = previous?.content;
  if (isIn(content)) return {event: isIn(before) ? 'MODIFIED' : 'ADDED', content: content!};
  // An object that leaves a selection is sent as it was in it.
  return isIn(before) ? {event: 'DELETED', content: before!} : undefined;
};

/** Finds events that are missing, that should not be there, or that say something else than happened. */
export function* checkSegment({watcher, color, after, to, events}: Segment, versions: Versions): Generator<string> {
  if (after === undefined) return;
  const {all} = versions;
  let next = 0;
  for (let index = versions.firstAfter(after); index < all.length && all[index]!.revision <= to; index++) {
    const version = all[index]!;
    const expected = eventOf(version, color);
    if (!expected) continue;
    const {key, revision} = version;
    while (next < events.length && events[next]!.revision < revision)
      yield `${watcher} received ${told(events[next++]!)}, which did not happen`;
    const received = events[next];
    if (received?.revision !== revision) {
      yield `${watcher} missed ${expected.event} ${key} at ${revision}: ${shown(expected.content)}`;
      continue;
    }
    next++;
    const isTypeKnown = versions.isCovered(version.previous?.revision ?? 0, revision);
    if (received.key !== key || (isTypeKnown && received.event !== expected.event) || !isSame(received.content, expected.content))
      yield `${watcher} received ${told(received)} instead of ${expected.event} ${key}: ${shown(expected.content)}`;
  }
  for (; next < events.length; next++) yield `${watcher} received ${told(events[next]!)}, which did not happen or came twice`;
}

const told = ({event, key, revision, content}: Received): string => `${event} ${key} at ${revision}: ${shown(content)}`;
