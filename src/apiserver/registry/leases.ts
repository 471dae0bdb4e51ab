import {isPending} from '#src/base/eventually.js';
import type {Clock} from '#src/base/clock.js';
import type {LeaseId, Store} from '#src/storage/store.js';

/** Leases of the store, shared by writes below one prefix within `reuseSeconds` of each other. */
export class Leases {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #reuseSeconds: number;
  readonly #recent = new Map<string, {id: LeaseId | Promise<LeaseId>; until: number}>();

  constructor(store: Store, clock: Clock, reuseSeconds: number) {
    this.#store = store;
    this.#clock = clock;
    this.#reuseSeconds = reuseSeconds;
  }

  /**
   * Returns a lease for keys that begin with `root`, of at least `seconds`, and at most a twentieth (or the reuse time)
   * longer.
   */
  for(seconds: number, root: string): LeaseId | Promise<LeaseId> {
    const now = this.#clock.monotonic();
    const of = `${seconds} ${root}`;
    const known = this.#recent.get(of);
    if (known && known.until > now) return known.id;
    const spare = Math.min(this.#reuseSeconds, seconds * 0.05);
    const id = this.#store.lease(seconds + spare, root);
    const entry = {id, until: now + spare * 1000};
    this.#recent.set(of, entry);
    // A lease that was not granted must not be reused.
    if (isPending(id)) id.catch(() => this.#recent.get(of) === entry && this.#recent.delete(of));
    return id;
  }

  /** Grants no more of the leases known so far: one of them has ended before its time. */
  forget(): void {
    this.#recent.clear();
  }
}
