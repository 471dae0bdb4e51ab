import type {Log} from '#src/base/log.js';
import type {TracingOptions} from '#src/operator/tracing/managed-tracing.js';
import {targetOf, tracingErrors} from '#src/transport/otlp/target.js';
import type {Environment} from './environment.js';
import type {ProgramOptions} from './flags.js';

/**
 * Returns where a program sends its traces: as its flag says, or the variables of OpenTelemetry. What these ask for and
 * cannot be done is logged: they may be set for all programs of a cluster.
 */
export const tracingBy = (
  {tracingEndpoint, tracingSamplingRatePerMillion: samplingRatePerMillion}: ProgramOptions,
  env: Environment,
  log: Log,
): TracingOptions | undefined => {
  if (tracingEndpoint !== '') return {endpoint: tracingEndpoint, samplingRatePerMillion};
  const endpoint = env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] || env['OTEL_EXPORTER_OTLP_ENDPOINT'];
  if (!endpoint || env['OTEL_SDK_DISABLED'] === 'true') return undefined;
  const protocol = env['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'] || env['OTEL_EXPORTER_OTLP_PROTOCOL'] || 'grpc';
  const [error] = tracingErrors({endpoint: targetOf(endpoint), samplingRatePerMillion});
  if (!error && protocol === 'grpc') return {endpoint, samplingRatePerMillion};
  log.warn({endpoint, protocol}, 'no traces are sent: only OTLP over gRPC without TLS is supported');
  return undefined;
};
