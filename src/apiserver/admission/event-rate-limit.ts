import {statusError} from '#src/api/status.js';
import type {CoreEvent} from '#src/api/types.js';
import type {Clock} from '#src/base/clock.js';
import {CacheBound} from '#src/base/cache-bound.js';
import {Lru} from '#src/base/lru.js';
import {TokenBucket} from '#src/base/token-bucket.js';
import type {AdmissionAttributes, AdmissionPlugin} from './admission.js';
import {combinedMessage} from './request-kind.js';

/** The scopes in which events can be limited. */
export const limitTypes = ['Namespace', 'Server', 'SourceAndObject', 'User'] as const;

/** The limit of events in one scope. */
export interface EventLimit {
  readonly type: (typeof limitTypes)[number];
  readonly qps: number;
  readonly burst: number;
  /** The number of cached buckets; the least recently used one is dropped. */
  readonly cacheSize?: number;
}

const defaultCacheSize = 4096;
const bound = new CacheBound('event_rate_limit', 16 << 20);

const keys: Readonly<Record<EventLimit['type'], (attributes: AdmissionAttributes) => string>> = {
  Server: () => '',
  Namespace: ({namespace}) => namespace,
  User: ({user}) => user.name,
  SourceAndObject({object}) {
    const {source = {}, involvedObject = {}} = object as CoreEvent;
    const {kind, namespace, name, uid, apiVersion} = involvedObject;
    return [source.component, source.host, kind, namespace, name, uid, apiVersion].map(part => part ?? '').join('');
  },
};

/**
 * Limits events by token buckets: one for the server, each namespace, each user, or each source and object. Dry runs do
 * not count.
 */
export const eventRateLimit = (limits: readonly EventLimit[], clock: Clock): AdmissionPlugin => {
  const buckets = limits.map(limit => ({
    limit,
    kept: new Lru<string, TokenBucket>(bound, {bytesOf: () => 100, maxEntries: limit.cacheSize || defaultCacheSize}),
  }));
  return {
    name: 'EventRateLimit',
    handles: {operations: ['CREATE', 'UPDATE'], targets: [{group: '', resource: 'events', subresource: '*'}]},
    validate(attributes) {
      if (attributes.dryRun) return;
      const reached: string[] = [];
      for (const {limit, kept} of buckets) {
        const key = keys[limit.type](attributes);
        let bucket = kept.get(key);
        if (!bucket) kept.set(key, (bucket = new TokenBucket(clock, limit.qps, limit.burst)));
        if (!bucket.tryTake()) reached.push(`limit reached on type ${limit.type} for key ${key}`);
      }
      if (reached.length > 0) throw statusError('TooManyRequests', combinedMessage(reached));
    },
  };
};
