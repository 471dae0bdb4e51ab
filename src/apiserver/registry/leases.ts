import type {Clock} from '#src/base/clock.js';
import type {LeaseId, Store} from '#src/storage/store.js';

/** Leases of the store, shared by what is written within `reuseSeconds` of each other. */
export class Leases {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #reuseSeconds: number;
  readonly #recent = new Map<number, {id: LeaseId | Promise<LeaseId>; until: number}>();

  constructor(store: Store, clock: Clock, reuseSeconds: number) {
    this.#store = store;
    this.#clock = clock;
    this.#reuseSeconds = reuseSeconds;
  }

  /** A lease that lasts at least `seconds`, and at most a twentieth (or the reuse time) longer. */
  for(seconds: number): LeaseId | Promise<LeaseId> {
    const now = this.#clock.monotonic();
    const known = this.#recent.get(seconds);
    if (known && known.until > now) return known.id;
    const spare = Math.min(this.#reuseSeconds, seconds * 0.05);
    const id = this.#store.lease(seconds + spare);
    const made = {id, until: now + spare * 1000};
    this.#recent.set(seconds, made);
    // One that was not granted is of no use to the next.
    if (id instanceof Promise) id.catch(() => this.#recent.get(seconds) === made && this.#recent.delete(seconds));
    return id;
  }
}
