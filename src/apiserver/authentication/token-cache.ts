// The cache of users by token, with upstream's metrics: requests by hit and miss, fetches by result, and what is in
// progress.

import {createHash} from 'node:crypto';
import type {CacheBound} from '#src/base/cache-bound.js';
import type {Clock} from '#src/base/clock.js';
import type {Meter} from '#src/base/meter.js';
import {ResultCache} from '#src/serving/delegation.js';

export interface TokenCacheOptions {
  readonly bound: CacheBound;
  readonly clock: Clock;
  readonly meter: Meter;
  readonly ttlMs: number;
}

/**
 * Results of authentication by token and audiences, for a time. Tokens are held hashed; failures are not cached;
 * concurrent callers share one fetch.
 */
export class TokenCache<T> {
  readonly #clock: Clock;
  readonly #results: ResultCache<T>;
  readonly #metrics: ReturnType<typeof metricsOf>;

  constructor({bound, clock, meter, ttlMs}: TokenCacheOptions) {
    this.#clock = clock;
    this.#results = new ResultCache(bound, clock, () => ttlMs);
    this.#metrics = metricsOf(meter);
  }

  async get(token: string, audiences: readonly string[], lookUp: () => Promise<T>): Promise<T> {
    const {requests, seconds, active} = this.#metrics;
    const key = createHash('sha256')
      .update(JSON.stringify([token, audiences]))
      .digest('base64');
    const begin = this.#clock.monotonic();
    const isHit = this.#results.has(key);
    const status = isHit ? 'hit' : 'miss';
    if (!isHit) active.add({status: 'blocked'});
    try {
      return await this.#results.get(key, () => this.#fetched(lookUp));
    } finally {
      if (!isHit) active.add({status: 'blocked'}, -1);
      requests.add({status});
      seconds.observe((this.#clock.monotonic() - begin) / 1000, {status});
    }
  }

  async #fetched(lookUp: () => Promise<T>): Promise<T> {
    const {fetches, active} = this.#metrics;
    let status = 'error';
    active.add({status: 'in_flight'});
    try {
      const result = await lookUp();
      status = 'ok';
      return result;
    } finally {
      active.add({status: 'in_flight'}, -1);
      fetches.add({status});
    }
  }
}

const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const metricsOf = (meter: Meter) => {
  const labels = ['status'];
  return {
    requests: meter.counter({name: 'authentication_token_cache_request_total', help: '', labels}),
    seconds: meter.histogram({name: 'authentication_token_cache_request_duration_seconds', help: '', labels, buckets}),
    fetches: meter.counter({name: 'authentication_token_cache_fetch_total', help: '', labels}),
    active: meter.gauge({name: 'authentication_token_cache_active_fetch_count', help: '', labels}),
  };
};
