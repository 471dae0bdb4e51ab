import {LinkedQueue, type Linked} from './collections/linked-queue.js';

/** The size of a cache as metrics show it. */
export interface CacheStatistics {
  readonly name: string;
  readonly bytes: number;
  readonly maxBytes: number;
}

/** A map whose entries count towards a bound. */
export interface Bounded {
  /** When its least recently used entry was used, by the count of uses of the bound; undefined when it is empty. */
  readonly oldestUse: number | undefined;
  /** Evicts the least recently used entry. Returns false when the map is empty. */
  dropOldest(): boolean;
}

/** The bytes of one map within a bound. */
export interface Share extends Linked<Share> {
  bytes: number;
  isListed: boolean;
  readonly map: WeakRef<Bounded>;
}

const registered = new Map<string, () => CacheStatistics>();

const register = (name: string, statistics: () => CacheStatistics): void => {
  if (registered.has(name)) throw new Error(`there is a cache ${name} already`);
  registered.set(name, statistics);
};

/** Returns the statistics of every cache of this process, by name. */
export const caches = (): CacheStatistics[] =>
  [...registered.values()].map(statistics => statistics()).sort((a, b) => (a.name < b.name ? -1 : 1));

/** The caches of which less is kept while the process is idle. */
const shrinking: CacheBound[] = [];

/** Evicts what caches keep only while the process is at work. */
export const shrinkCaches = (): void => {
  for (const bound of shrinking) bound.shrink();
};

/** Of how many maps one loses its oldest entry. */
const candidates = 8;

/**
 * Bounds the bytes of one cache in this process; a cache may consist of several maps. When the bound is exceeded, the
 * least recently used entry of all maps is evicted, or of some in turn where there are many: a map that seldom grows
 * keeps what is used often. Created once, at module level: all planes of a process share it.
 */
export class CacheBound {
  readonly name: string;
  readonly maxBytes: number;
  readonly #idleBytes: number;
  /**
   * The maps that hold something; those that were looked at last are at the end. In a set, finding the first ones takes
   * longer the more were removed before them.
   */
  readonly #shares = new LinkedQueue<Share>();
  readonly #gone = new FinalizationRegistry<Share>(share => {
    if (this.#unlist(share)) this.#bytes -= share.bytes;
  });
  #bytes = 0;
  #uses = 0;

  /**
   * `idleBytes` are kept while the process is idle; all unless given. Throws for a name in use or a bound that is not
   * positive and finite.
   */
  constructor(name: string, maxBytes: number, {idleBytes}: {readonly idleBytes?: number} = {}) {
    if (!(maxBytes > 0 && maxBytes < Infinity)) throw new Error(`the cache ${name} has no bound`);
    this.name = name;
    this.maxBytes = maxBytes;
    this.#idleBytes = idleBytes ?? maxBytes;
    register(name, () => this);
    if (idleBytes !== undefined) shrinking.push(this);
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Returns the number of a use, which is higher than that of any before. Called by maps. */
  use(): number {
    return ++this.#uses;
  }

  /** Adds a map to the cache. Called by maps. */
  join(map: Bounded): Share {
    const share: Share = {bytes: 0, isListed: false, map: new WeakRef(map), previous: undefined, next: undefined};
    this.#gone.register(map, share);
    return share;
  }

  /** Adds to the bytes of a map; negative when it shrank. Called by maps. */
  account(share: Share, bytes: number): void {
    share.bytes += bytes;
    this.#bytes += bytes;
    if (bytes <= 0) return;
    this.#list(share);
    if (this.#bytes > this.maxBytes) this.#fit(this.maxBytes);
  }

  /** Evicts all but what is kept while the process is idle. */
  shrink(): void {
    this.#fit(this.#idleBytes);
  }

  #list(share: Share): void {
    if (share.isListed) return;
    share.isListed = true;
    this.#shares.push(share);
  }

  /** Returns whether the share was listed. */
  #unlist(share: Share): boolean {
    if (!share.isListed) return false;
    share.isListed = false;
    this.#shares.remove(share);
    return true;
  }

  #fit(most: number): void {
    while (this.#bytes > most && this.#shares.first) this.#leastUsed()?.dropOldest();
  }

  /**
   * Returns the map whose oldest entry was used least recently; undefined if those that were looked at hold nothing.
   */
  #leastUsed(): Bounded | undefined {
    let least: Bounded | undefined;
    let leastUse = Infinity;
    let firstKept: Share | undefined;
    for (let count = 0; count < candidates; count++) {
      const share = this.#shares.first;
      if (!share || share === firstKept) break;
      const map = share.map.deref();
      const use = map?.oldestUse;
      this.#unlist(share);
      if (!map) this.#bytes -= share.bytes;
      if (use === undefined) continue;
      this.#list(share);
      firstKept ??= share;
      if (use >= leastUse) continue;
      least = map;
      leastUse = use;
    }
    return least;
  }
}

/** Statistics of a cache with a bound of its own in each owner, summed over all of them. */
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

  /** Counts an owner until it is garbage-collected. */
  add(owner: T): void {
    const ref = new WeakRef(owner);
    this.#owners.add(ref);
    this.#gone.register(owner, ref);
  }
}
