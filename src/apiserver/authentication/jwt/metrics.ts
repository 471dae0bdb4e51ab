import type {Clock} from '#src/base/clock.js';
import type {Meter} from '#src/base/meter.js';
import {labelHash} from '#src/observe/label-hash.js';

/** Metrics of token verification. */
export interface JwtMetrics {
  verified(issuer: string, result: 'success' | 'failure', seconds: number): void;
  /** An issuer's key set was fetched, or could not be. */
  fetched(issuer: string, outcome: {readonly keySet: string} | {readonly error: Error}): void;
  /** The issuer is no longer configured. */
  removed(issuer: string): void;
}

export interface JwtMetricsOptions {
  readonly meter: Meter;
  readonly clock: Clock;
  /** The server's identity, which labels show hashed. */
  readonly server: string;
  /** Whether fetches of key sets are recorded. */
  readonly keySets: boolean;
}

/** Creates the metrics of token verification. */
export const jwtMetrics = (options: JwtMetricsOptions): JwtMetrics => {
  const latency = options.meter.histogram({
    name: 'apiserver_authentication_jwt_authenticator_latency_seconds',
    help: 'Latency of jwt authentication operations in seconds. This is the time spent authenticating a token for cache miss only (i.e. when the token is not found in the cache).',
    labels: ['result', 'jwt_issuer_hash'],
    buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  });
  return {
    verified: (issuer, result, seconds) => latency.observe(seconds, {result, jwt_issuer_hash: labelHash(issuer)}),
    ...(options.keySets ? keySetMetrics(options) : {fetched() {}, removed() {}}),
  };
};

const keySetMetrics = ({meter, clock, server}: JwtMetricsOptions): Pick<JwtMetrics, 'fetched' | 'removed'> => {
  const last = meter.gauge({
    name: 'apiserver_authentication_jwt_authenticator_jwks_fetch_last_timestamp_seconds',
    help: 'Timestamp of the last successful or failed JWKS fetch split by result, api server identity and jwt issuer for the JWT authenticator.',
    labels: ['result', 'jwt_issuer_hash', 'apiserver_id_hash'],
  });
  const info = meter.gauge({
    name: 'apiserver_authentication_jwt_authenticator_jwks_fetch_last_key_set_info',
    help: 'Information about the last JWKS fetched by the JWT authenticator with hash as label, split by api server identity and jwt issuer.',
    labels: ['jwt_issuer_hash', 'apiserver_id_hash', 'hash'],
  });
  const hashes = new Map<string, string>();
  const labelsOf = (issuer: string) => ({jwt_issuer_hash: labelHash(issuer), apiserver_id_hash: labelHash(server)});
  const forget = (issuer: string): void => {
    const hash = hashes.get(issuer);
    if (hash !== undefined) info.remove({...labelsOf(issuer), hash});
    hashes.delete(issuer);
  };
  return {
    fetched(issuer, outcome) {
      const isFetched = 'keySet' in outcome;
      last.set(clock.now() / 1000, {...labelsOf(issuer), result: isFetched ? 'success' : 'failure'});
      if (!isFetched) return;
      forget(issuer);
      const hash = labelHash(outcome.keySet);
      hashes.set(issuer, hash);
      info.set(1, {...labelsOf(issuer), hash});
    },
    removed(issuer) {
      forget(issuer);
      for (const result of ['success', 'failure']) last.remove({...labelsOf(issuer), result});
    },
  };
};
