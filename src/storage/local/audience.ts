import {endOfPrefix, type Change} from '#src/storage/store.js';
import {within} from './keys.js';

interface Listener {
  readonly query: {readonly start: string; readonly end: string};
}

/** Listeners of the same range, who hear the same changes. */
interface Circle<L> {
  readonly start: string;
  readonly end: string;
  readonly listeners: Set<L>;
}

const rangeName = (start: string, end: string): string => `${start}\0\0${end}`;

/**
 * Listeners by range, so that a change finds whom it concerns by a few look-ups, however many listen: ranges of one key are found
 * by the key, ranges of a prefix that ends in a slash by the key's own prefixes; only others are tried one by one.
 */
export class Audience<L extends Listener> {
  readonly #circles = new Map<string, Circle<L>>();
  readonly #byKey = new Map<string, Circle<L>>();
  readonly #byPrefix = new Map<string, Circle<L>>();
  readonly #others = new Set<Circle<L>>();

  add(listener: L): void {
    const {start, end} = listener.query;
    const name = rangeName(start, end);
    let circle = this.#circles.get(name);
    if (!circle) {
      circle = {start, end, listeners: new Set()};
      this.#circles.set(name, circle);
      if (end === `${start}\0`) this.#byKey.set(start, circle);
      else if (start.endsWith('/') && end === endOfPrefix(start)) this.#byPrefix.set(start, circle);
      else this.#others.add(circle);
    }
    circle.listeners.add(listener);
  }

  delete(listener: L): void {
    const {start, end} = listener.query;
    const circle = this.#circles.get(rangeName(start, end));
    if (!circle?.listeners.delete(listener) || circle.listeners.size > 0) return;
    this.#circles.delete(rangeName(start, end));
    if (this.#byKey.get(start) === circle) this.#byKey.delete(start);
    if (this.#byPrefix.get(start) === circle) this.#byPrefix.delete(start);
    this.#others.delete(circle);
  }

  clear(): void {
    for (const index of [this.#circles, this.#byKey, this.#byPrefix, this.#others]) index.clear();
  }

  *all(): Iterable<L> {
    for (const circle of this.#circles.values()) yield* circle.listeners;
  }

  /** The listeners as they are now, each group with the changes that concern it, in their order. */
  concernedBy(changes: readonly Change[]): [L[], Change[]][] {
    const concerned = new Map<Circle<L>, Change[]>();
    if (this.#circles.size === 0) return [];
    for (const change of changes) {
      for (const circle of this.#circlesOf(change.key)) {
        const known = concerned.get(circle);
        if (known) known.push(change);
        else concerned.set(circle, [change]);
      }
    }
    return Array.from(concerned, ([circle, its]) => [[...circle.listeners], its]);
  }

  #circlesOf(key: string): Circle<L>[] {
    const found: Circle<L>[] = [];
    const exact = this.#byKey.get(key);
    if (exact) found.push(exact);
    if (this.#byPrefix.size > 0) {
      for (let slash = key.indexOf('/'); slash >= 0; slash = key.indexOf('/', slash + 1)) {
        const circle = this.#byPrefix.get(key.slice(0, slash + 1));
        if (circle) found.push(circle);
      }
    }
    for (const circle of this.#others) if (within(key, circle.start, circle.end)) found.push(circle);
    return found;
  }
}
