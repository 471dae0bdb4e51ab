import type {Clock} from '#src/base/clock.js';
import type {Meter} from '#src/base/meter.js';
import {codeName, GrpcError} from '#src/transport/grpc/channel.js';

/** Metrics of the external signer. */
export interface SignerMetrics {
  /** Records the duration of a call. */
  called(method: string, seconds: number, error?: unknown): void;
  signed(error?: unknown): void;
  fetched(error?: unknown): void;
  /** Records when the fetched keys were read from their source, in s since the epoch. */
  dataAt(seconds: number): void;
}

/** The gRPC code of an error or of one of its causes. */
const codeOf = (error: unknown): string => {
  if (error === undefined) return 'OK';
  for (let at: unknown = error; at instanceof Error; at = at.cause) if (at instanceof GrpcError) return codeName(at.code);
  return 'unknown-non-grpc';
};

/** Creates the metrics of the external signer. */
export const signerMetrics = (meter: Meter, clock: Clock): SignerMetrics => {
  const name = (rest: string): string => `apiserver_externaljwt_${rest}`;
  const durations = meter.histogram({
    name: name('request_duration_seconds'),
    help: 'Request duration and time for calls to external-jwt-signer',
    labels: ['method', 'code'],
    buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
  });
  const signs = meter.counter({name: name('sign_request_total'), help: 'Total attempts at signing JWT', labels: ['code']});
  const fetches = meter.counter({
    name: name('fetch_keys_request_total'),
    help: 'Total attempts at syncing supported JWKs',
    labels: ['code'],
  });
  const fetchedAt = meter.gauge({
    name: name('fetch_keys_success_timestamp'),
    help: 'Unix Timestamp in seconds of the last successful FetchKeys request',
  });
  const dataAt = meter.gauge({
    name: name('fetch_keys_data_timestamp'),
    help: 'Unix Timestamp in seconds of the last successful FetchKeys data_timestamp value returned by the external signer',
  });
  return {
    called: (method, seconds, error) => durations.observe(seconds, {method, code: codeOf(error)}),
    signed: error => signs.add({code: codeOf(error)}),
    fetched(error) {
      fetches.add({code: codeOf(error)});
      if (error === undefined) fetchedAt.set(clock.now() / 1000);
    },
    dataAt: seconds => dataAt.set(seconds),
  };
};
