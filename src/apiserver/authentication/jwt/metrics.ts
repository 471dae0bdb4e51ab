import {createHash} from 'node:crypto';
import type {Meter} from '#src/base/meter.js';

/** Returns the hash by which metrics name an issuer, a server or a configuration. */
export const metricHash = (text: string): string => (text ? `sha256:${createHash('sha256').update(text).digest('hex')}` : '');

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
  return {verified: (issuer, result, seconds) => latency.observe(seconds, {result, jwt_issuer_hash: metricHash(issuer)})};
};

/** Metrics of the configuration file. */
export interface ReloadMetrics {
  /** A configuration is in force, with this text. */
  applied(text: string): void;
  /** An attempt to reload ended at `now`, in ms since the epoch. */
  reloaded(status: 'success' | 'failure', now: number): void;
}

/** Creates the metrics of the configuration file of a server. */
export const reloadMetrics = (meter: Meter, server: string): ReloadMetrics => {
  const prefix = 'apiserver_authentication_config_controller';
  const labels = ['status', 'apiserver_id_hash'];
  const own = {apiserver_id_hash: metricHash(server)};
  const total = meter.counter({
    name: `${prefix}_automatic_reloads_total`,
    help: 'Total number of automatic reloads of authentication configuration split by status and apiserver identity.',
    labels,
  });
  const last = meter.gauge({
    name: `${prefix}_automatic_reload_last_timestamp_seconds`,
    help: 'Timestamp of the last automatic reload of authentication configuration split by status and apiserver identity.',
    labels,
  });
  const info = meter.gauge({
    name: `${prefix}_last_config_info`,
    help: 'Information about the last applied authentication configuration with hash as label, split by apiserver identity.',
    labels: ['apiserver_id_hash', 'hash'],
  });
  let shown: string | undefined;
  return {
    applied(text) {
      if (shown !== undefined) info.remove({...own, hash: shown});
      shown = metricHash(text);
      info.set(1, {...own, hash: shown});
    },
    reloaded(status, now) {
      total.add({...own, status});
      last.set(now / 1000, {...own, status});
    },
  };
};
