import type {Clock} from '#src/base/clock.js';
import {Heap} from '#src/base/heap.js';
import {LeaseNotFound} from '#src/storage/errors.js';
import type {LeaseId} from '#src/storage/store.js';
import type {GrantedLease} from './engine.js';

interface Lease extends GrantedLease {
  /** When it ends by the monotonic clock: jumps of the wall clock end no lease of a running store. */
  readonly endsAt: number;
  /** Whether a commit has stored it. */
  stored: boolean;
}

/** Delay after which failed deletions of an expired lease are retried. */
const retryAfterMs = 10_000;

/** The active leases. An expired lease is passed to `expire` until that succeeds. */
export class Leases {
  readonly #clock: Clock;
  readonly #expire: (lease: LeaseId) => Promise<void>;
  readonly #granted = new Map<LeaseId, Lease>();
  readonly #due = new Heap<Pick<Lease, 'id' | 'endsAt'>>((a, b) => a.endsAt - b.endsAt);
  #timer: Disposable | undefined;
  #timerAt = Infinity;
  #last = 0;
  #stopped = false;

  constructor(clock: Clock, stored: Iterable<GrantedLease>, expire: (lease: LeaseId) => Promise<void>) {
    this.#clock = clock;
    this.#expire = expire;
    for (const lease of stored) this.#add({...lease, endsAt: clock.monotonic() + lease.expiresAt - clock.now(), stored: true});
    this.#arm();
  }

  grant(seconds: number): LeaseId {
    if (!(seconds > 0)) throw new RangeError(`a lease must last longer than ${seconds} seconds`);
    const id = this.#last + 1;
    const ms = seconds * 1000;
    this.#add({id, expiresAt: this.#clock.now() + ms, endsAt: this.#clock.monotonic() + ms, stored: false});
    this.#arm();
    return id;
  }

  /** Returns the active leases, for a copy of the store. */
  active(): GrantedLease[] {
    const [now, monotonic] = [this.#clock.now(), this.#clock.monotonic()];
    return [...this.#granted.values()].map(({id, endsAt}) => ({id, expiresAt: now + endsAt - monotonic}));
  }

  /** Returns the lease if the next commit must store it. Throws `LeaseNotFound` for an inactive one. */
  use(id: LeaseId): GrantedLease | undefined {
    const lease = this.#granted.get(id);
    if (!lease || lease.endsAt <= this.#clock.monotonic()) throw new LeaseNotFound(`there is no lease ${id}`);
    if (lease.stored) return undefined;
    lease.stored = true;
    return lease;
  }

  /** Called when the commit of these leases failed. */
  unstore(leases: readonly GrantedLease[]): void {
    for (const {id} of leases) {
      const lease = this.#granted.get(id);
      if (lease) lease.stored = false;
    }
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.[Symbol.dispose]();
  }

  #add(lease: Lease): void {
    this.#last = Math.max(this.#last, lease.id);
    this.#granted.set(lease.id, lease);
    this.#due.push(lease);
  }

  #arm(): void {
    const next = this.#due.peek();
    if (this.#stopped || !next || next.endsAt >= this.#timerAt) return;
    this.#timer?.[Symbol.dispose]();
    this.#timerAt = next.endsAt;
    this.#timer = this.#clock.schedule(next.endsAt - this.#clock.monotonic(), () => {
      this.#timerAt = Infinity;
      this.#runOut();
      this.#arm();
    });
  }

  #runOut(): void {
    const now = this.#clock.monotonic();
    for (let due = this.#due.peek(); due && due.endsAt <= now; due = this.#due.peek()) {
      this.#due.pop();
      void this.#end(due.id);
    }
  }

  async #end(id: LeaseId): Promise<void> {
    this.#granted.delete(id);
    try {
      await this.#expire(id);
    } catch {
      if (this.#stopped) return;
      this.#due.push({id, endsAt: this.#clock.monotonic() + retryAfterMs});
      this.#arm();
    }
  }
}
