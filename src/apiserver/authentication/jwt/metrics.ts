import type {Meter} from '#src/base/meter.js';
import {labelHash} from '#src/observe/label-hash.js';

/** Metrics of token verification. */
export interface JwtMetrics {
  verified(issuer: string, result: 'success' | 'failure', seconds: number): void;
}

/** Creates the metrics of token verification. */
export const jwtMetrics = (meter: Meter): JwtMetrics => {
  const latency = meter.histogram({
    name: 'apiserver_authentication_jwt_authenticator_latency_seconds',
    help: 'Latency of jwt authentication operations in seconds. This is the time spent authenticating a token for cache miss only (i.e. when the token is not found in the cache).',
    labels: ['result', 'jwt_issuer_hash'],
    buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  });
  return {verified: (issuer, result, seconds) => latency.observe(seconds, {result, jwt_issuer_hash: labelHash(issuer)})};
};
