import {CacheBound} from '#src/base/cache-bound.js';
import type {Clock} from '#src/base/clock.js';
import {Lru} from '#src/base/lru.js';
import {exponentialBuckets, type Meter} from '#src/base/meter.js';
import {labelHash} from '#src/observe/label-hash.js';
import type {Direction, KmsObserver} from '#src/storage/encryption/kms-observer.js';
import {codeName, GrpcError} from '#src/transport/grpc/channel.js';

interface KeyUse {
  readonly labels: Readonly<Record<string, string>>;
  readonly keyId: string;
  count: number;
  /** In s since the epoch. */
  lastAt: number;
}

/** Bounds the keys whose use is counted, of all services. */
const bound = new CacheBound('kms_key_uses', 256 << 10);

const codeOf = (error: unknown): string => {
  if (error === undefined) return 'OK';
  return error instanceof GrpcError ? codeName(error.code) : 'unknown-non-grpc';
};

const name = (rest: string): string => `apiserver_envelope_encryption_${rest}`;

interface KmsMetricParts {
  readonly meter: Meter;
  readonly clock: Clock;
  readonly serverId: string;
}

/** Counts the uses and the reports of keys by their ids. */
const keyUses = ({meter, clock, serverId}: KmsMetricParts) => {
  const uses = new Lru<string, KeyUse>(bound, {bytesOf: ({keyId}) => 500 + 2 * keyId.length});
  const reports = new Lru<string, KeyUse>(bound, {bytesOf: ({keyId}) => 500 + 2 * keyId.length});
  const server = labelHash(serverId);
  const keyLabels = ['transformation_type', 'provider_name', 'key_id_hash', 'apiserver_id_hash'];
  const series = (of: Lru<string, KeyUse>, value: (use: KeyUse) => number) =>
    function* () {
      for (const use of of.values())
        yield [{...use.labels, key_id_hash: labelHash(use.keyId), apiserver_id_hash: server}, value(use)] as const;
    };
  meter.observed(
    {
      name: name('key_id_hash_total'),
      type: 'counter',
      help: 'Number of times a keyID is used split by transformation type, provider, and apiserver identity.',
      labels: keyLabels,
    },
    series(uses, ({count}) => count),
  );
  meter.observed(
    {name: name('key_id_hash_last_timestamp_seconds'), help: 'The last time in seconds when a keyID was used.', labels: keyLabels},
    series(uses, ({lastAt}) => lastAt),
  );
  meter.observed(
    {
      name: name('key_id_hash_status_last_timestamp_seconds'),
      help: 'The last time in seconds when a keyID was returned by the Status RPC call.',
      labels: keyLabels.slice(1),
    },
    series(reports, ({lastAt}) => lastAt),
  );
  const count = (of: Lru<string, KeyUse>, keyId: string, labels: Readonly<Record<string, string>>): void => {
    const key = `${Object.values(labels).join(' ')} ${keyId}`;
    const known = of.get(key);
    if (known) known.count += 1;
    if (known) known.lastAt = clock.now() / 1000;
    else of.set(key, {labels, keyId, count: 1, lastAt: clock.now() / 1000});
  };
  return {
    used: (labels: Readonly<Record<string, string>>, keyId: string) => count(uses, keyId, labels),
    reported: (labels: Readonly<Record<string, string>>, keyId: string) => count(reports, keyId, labels),
  };
};

/** Creates the metrics of key management services. Returns the observer of each service by its name. */
export const kmsMetrics = (parts: KmsMetricParts) => {
  const {meter, clock} = parts;
  const keys = keyUses(parts);
  const refused = meter.counter({
    name: name('invalid_key_id_from_status_total'),
    help: 'Number of times an invalid keyID is returned by the Status RPC call split by error.',
    labels: ['provider_name', 'error'],
  });
  const calls = meter.histogram({
    name: name('kms_operations_latency_seconds'),
    help: 'KMS operation duration with gRPC error code status total.',
    labels: ['provider_name', 'method_name', 'grpc_status_code'],
    buckets: exponentialBuckets(0.0001, 2, 20),
  });
  const size = meter.gauge({
    name: name('dek_source_cache_size'),
    help: 'Number of records in data encryption key (DEK) source cache. On a restart, this value is an approximation of the number of decrypt RPC calls the server will make to the KMS plugin.',
    labels: ['provider_name'],
  });
  const fill = meter.gauge({
    name: name('dek_cache_fill_percent'),
    help: 'Percent of the cache slots currently occupied by cached DEKs.',
  });
  const arrivals = meter.histogram({
    name: name('dek_cache_inter_arrival_time_seconds'),
    help: 'Time (in seconds) of inter arrival of transformation requests.',
    labels: ['transformation_type'],
    buckets: exponentialBuckets(60, 2, 10),
  });
  const lastArrival: Partial<Record<Direction, number>> = {};
  return (provider: string): KmsObserver => ({
    arrived(direction) {
      const now = clock.monotonic();
      const last = lastArrival[direction];
      if (last !== undefined) arrivals.observe((now - last) / 1000, {transformation_type: direction});
      lastArrival[direction] = now;
    },
    used: (direction, keyId) => keys.used({transformation_type: direction, provider_name: provider}, keyId),
    reported: keyId => keys.reported({provider_name: provider}, keyId),
    refused: error => refused.add({provider_name: provider, error}),
    called: (method, ms, error) =>
      calls.observe(ms / 1000, {provider_name: provider, method_name: method, grpc_status_code: codeOf(error)}),
    kept(entries, share) {
      if (share === undefined) size.set(entries, {provider_name: provider});
      else fill.set(share);
    },
  });
};
