/** What metrics and tests see of a cache. */
export interface CacheStatistics {
  readonly name: string;
  readonly bytes: number;
  readonly maxBytes: number;
}

/** Something that holds entries within a bound. */
export interface Bounded {
  /** Forgets the entry that was not used for longest. Returns false where there is none. */
  dropOldest(): boolean;
}

/** What one map takes of a bound. */
export interface Share {
  bytes: number;
  readonly map: WeakRef<Bounded>;
}

const registered = new Map<string, () => CacheStatistics>();

const register = (name: string, statistics: () => CacheStatistics): void => {
  if (registered.has(name)) throw new Error(`there is a cache ${name} already`);
  registered.set(name, statistics);
};

/** Every cache of this process whose module is loaded, in order of name. */
export const caches = (): CacheStatistics[] => [...registered.values()].map(statistics => statistics()).sort((a, b) => (a.name < b.name ? -1 : 1));

/**
 * The bytes that one cache, which may be several maps, takes at most in this process. Beyond it, the map that grew longest ago loses what it did not use for longest.
 * Made once, at module level: all planes of a process share it.
 */
export class CacheBound {
  readonly name: string;
  readonly maxBytes: number;
  /** The one that grew last is at the end. */
  readonly #shares = new Set<Share>();
  readonly #gone = new FinalizationRegistry<Share>(share => {
    if (this.#shares.delete(share)) this.#bytes -= share.bytes;
  });
  #last: Share | undefined;
  #bytes = 0;

  /** Throws for a name that is taken, or bytes that are no bound. */
  constructor(name: string, maxBytes: number) {
    if (!(maxBytes > 0 && maxBytes < Infinity)) throw new Error(`the cache ${name} has no bound`);
    this.name = name;
    this.maxBytes = maxBytes;
    register(name, () => this);
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** For maps: takes part in the bound. */
  join(map: Bounded): Share {
    const share: Share = {bytes: 0, map: new WeakRef(map)};
    this.#gone.register(map, share);
    return share;
  }

  /** For maps: so many bytes more are held, or fewer where negative. */
  account(share: Share, bytes: number): void {
    share.bytes += bytes;
    this.#bytes += bytes;
    if (bytes <= 0) return;
    if (this.#last !== share) {
      this.#shares.delete(share);
      this.#shares.add(share);
      this.#last = share;
    }
    if (this.#bytes > this.maxBytes) this.#fit();
  }

  #fit(): void {
    for (const share of this.#shares) {
      while (this.#bytes > this.maxBytes && share.map.deref()?.dropOldest());
      if (this.#bytes <= this.maxBytes) return;
      this.#shares.delete(share);
      if (!share.map.deref()) this.#bytes -= share.bytes;
    }
    this.#last = undefined;
  }
}

/** A cache that keeps to a bound of its own in each of its owners: it is shown with what all of them take. */
export class OwnedCaches<T extends object> {
  readonly #owners = new Set<WeakRef<T>>();
  readonly #gone = new FinalizationRegistry<WeakRef<T>>(owner => void this.#owners.delete(owner));

  constructor(name: string, statistics: (owner: T) => Omit<CacheStatistics, 'name'>) {
    register(name, () => {
      let [bytes, maxBytes] = [0, 0];
      for (const ref of this.#owners) {
        const owner = ref.deref();
        if (!owner) continue;
        const of = statistics(owner);
        bytes += of.bytes;
        maxBytes += of.maxBytes;
      }
      return {name, bytes, maxBytes};
    });
  }

  /** Shows what an owner takes for as long as somebody else knows it. */
  add(owner: T): void {
    const ref = new WeakRef(owner);
    this.#owners.add(ref);
    this.#gone.register(owner, ref);
  }
}
