import {CacheBound} from '#src/base/cache-bound.js';
import {Lru} from '#src/base/lru.js';
import type {CacheType} from '#src/dns/metrics/metrics.js';
import type {ResourceRecord} from '#src/dns/wire/message.js';
import type {Response} from '#src/dns/wire/read.js';
import {lifetimeOf} from './lifetime.js';

const bound = new CacheBound('forwarded_dns_responses', 32 << 20);

/** Each of the two caches has so many entries at most. */
const maxEntries = 10_000;

/** About what an object of a record takes besides its texts. */
const recordBytes = 150;

interface Entry {
  readonly response: Response;
  readonly storedMs: number;
  readonly seconds: number;
}

/** A response, with the rest of its time in every record. */
export interface Cached {
  readonly type: CacheType;
  readonly response: Response;
}

const withTtl = (response: Response, ttl: number): Response => {
  const all = (records: readonly ResourceRecord[]) => records.map(record => ({...record, ttl}));
  return {...response, answers: all(response.answers), authority: all(response.authority), additional: all(response.additional)};
};

const bytesOf = ({response: {answers, authority, additional}}: Entry): number =>
  [...answers, ...authority, ...additional].reduce((sum, {name, data}) => sum + recordBytes + name.length + data.length, recordBytes);

/**
 * The responses of resolvers, for as long as their records say within a limit: what exists and what does not, in caches
 * of their own, so that made-up names do not drive out the others.
 */
export class ResponseCache {
  readonly #longest: number;
  readonly #caches: Readonly<Record<CacheType, Lru<string, Entry>>>;

  /** `longestSeconds` of 0 caches nothing. */
  constructor(longestSeconds: number, onEvict: (type: CacheType) => void) {
    this.#longest = longestSeconds;
    const lru = (type: CacheType) => new Lru<string, Entry>(bound, {bytesOf, maxEntries, onEvict: () => onEvict(type)});
    this.#caches = {success: lru('success'), denial: lru('denial')};
  }

  size(type: CacheType): number {
    return this.#caches[type].size;
  }

  get(key: string, nowMs: number): Cached | undefined {
    for (const type of ['denial', 'success'] as const) {
      const entry = this.#caches[type].get(key);
      if (!entry) continue;
      const left = entry.seconds - Math.floor((nowMs - entry.storedMs) / 1000);
      if (left > 0) return {type, response: withTtl(entry.response, left)};
      this.#caches[type].delete(key);
    }
    return undefined;
  }

  /** Stores a response if it may be cached. Returns it with the time that it is cached for in every record. */
  put(key: string, response: Response, nowMs: number): Response {
    const lifetime = this.#longest > 0 ? lifetimeOf(response, this.#longest) : undefined;
    if (!lifetime) return response;
    const {type, seconds} = lifetime;
    this.#caches[type].set(key, {response, storedMs: nowMs, seconds});
    this.#caches[type === 'success' ? 'denial' : 'success'].delete(key);
    return withTtl(response, seconds);
  }

  clear(): void {
    this.#caches.success.clear();
    this.#caches.denial.clear();
  }
}
