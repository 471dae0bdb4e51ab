import {endOfPrefix} from '#src/storage/store.js';
import type {EngineChange} from './engine.js';
import {isKeyInRange} from './keys.js';

interface RangeWatcher {
  readonly query: {readonly start: string; readonly end: string};
}

/** The watchers of one range. */
interface WatcherGroup<L> {
  readonly start: string;
  readonly end: string;
  readonly watchers: Set<L>;
}

const rangeName = (start: string, end: string): string => `${start}\0\0${end}`;

/**
 * Indexes watchers by range, so that a few lookups find those affected by a change: ranges of one key are found
 * by the key, ranges of a prefix that ends in a slash by the key's prefixes; only other ranges are tested one by one.
 */
export class WatcherIndex<L extends RangeWatcher> {
  readonly #groups = new Map<string, WatcherGroup<L>>();
  readonly #byKey = new Map<string, WatcherGroup<L>>();
  readonly #byPrefix = new Map<string, WatcherGroup<L>>();
  readonly #others = new Set<WatcherGroup<L>>();

  add(watcher: L): void {
    const {start, end} = watcher.query;
    const name = rangeName(start, end);
    let group = this.#groups.get(name);
    if (!group) {
      group = {start, end, watchers: new Set()};
      this.#groups.set(name, group);
      if (end === `${start}\0`) this.#byKey.set(start, group);
      else if (start.endsWith('/') && end === endOfPrefix(start)) this.#byPrefix.set(start, group);
      else this.#others.add(group);
    }
    group.watchers.add(watcher);
  }

  delete(watcher: L): void {
    const {start, end} = watcher.query;
    const group = this.#groups.get(rangeName(start, end));
    if (!group?.watchers.delete(watcher) || group.watchers.size > 0) return;
    this.#groups.delete(rangeName(start, end));
    if (this.#byKey.get(start) === group) this.#byKey.delete(start);
    if (this.#byPrefix.get(start) === group) this.#byPrefix.delete(start);
    this.#others.delete(group);
  }

  clear(): void {
    for (const index of [this.#groups, this.#byKey, this.#byPrefix, this.#others]) index.clear();
  }

  *all(): Iterable<L> {
    for (const group of this.#groups.values()) yield* group.watchers;
  }

  /** Returns the affected groups of watchers, each with the changes in its range, in order. */
  affectedBy(changes: readonly EngineChange[]): [L[], EngineChange[]][] {
    const affected = new Map<WatcherGroup<L>, EngineChange[]>();
    if (this.#groups.size === 0) return [];
    for (const change of changes) {
      for (const group of this.#groupsOf(change.key)) {
        const known = affected.get(group);
        if (known) known.push(change);
        else affected.set(group, [change]);
      }
    }
    return Array.from(affected, ([group, its]) => [[...group.watchers], its]);
  }

  #groupsOf(key: string): WatcherGroup<L>[] {
    const found: WatcherGroup<L>[] = [];
    const exact = this.#byKey.get(key);
    if (exact) found.push(exact);
    if (this.#byPrefix.size > 0) {
      for (let slash = key.indexOf('/'); slash >= 0; slash = key.indexOf('/', slash + 1)) {
        const group = this.#byPrefix.get(key.slice(0, slash + 1));
        if (group) found.push(group);
      }
    }
    for (const group of this.#others) if (isKeyInRange(key, group.start, group.end)) found.push(group);
    return found;
  }
}
