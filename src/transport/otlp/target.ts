// Where spans are sent, as configurations name it, and how many traces are sampled.

import {invalid, type FieldError} from '#src/api/field-error.js';

/** Where spans are sent unless something else is configured. */
export const defaultEndpoint = 'localhost:4317';

/**
 * Returns what is wrong with a configuration. Fields are named below a path, which ends in a dot unless it is empty.
 */
export const tracingErrors = (
  {endpoint, samplingRatePerMillion}: {readonly endpoint: string; readonly samplingRatePerMillion: number},
  path = '',
): readonly FieldError[] =>
  [...rateErrors(samplingRatePerMillion), ...endpointErrors(endpoint)].map(error => ({...error, path: `${path}${error.path}`}));

function* rateErrors(rate: number): Iterable<FieldError> {
  if (rate < 0) yield invalid('samplingRatePerMillion', rate, 'sampling rate must be positive');
  if (rate > 1_000_000)
    yield invalid('samplingRatePerMillion', rate, 'sampling rate per million must be less than or equal to one million');
}

const schemeOf = (endpoint: string): string => /^([a-z-]+):\/\//.exec(endpoint)?.[1] ?? (endpoint.startsWith('unix:') ? 'unix' : 'dns');

function* endpointErrors(endpoint: string): Iterable<FieldError> {
  const scheme = schemeOf(endpoint);
  if (!['dns', 'unix', 'unix-abstract'].includes(scheme)) {
    const options = 'Options are none, dns, unix, or unix-abstract.  See https://github.com/grpc/grpc/blob/master/doc/naming.md';
    yield invalid('endpoint', endpoint, `unsupported scheme: ${scheme}.  ${options}`);
  } else if (scheme === 'unix-abstract') yield invalid('endpoint', endpoint, 'abstract sockets are not supported: use unix');
  else if (!URL.canParse(collectorOf(endpoint))) yield invalid('endpoint', endpoint, 'must be host:port');
}

/** Returns the gRPC target of an endpoint that may be a URL without TLS, as the variables of OpenTelemetry have it. */
export const targetOf = (endpoint: string): string =>
  endpoint.startsWith('http://') ? endpoint.slice('http://'.length).replace(/\/$/, '') : endpoint;

/** Returns the server of a gRPC target: `dns:[//authority/]host:port`, `unix:path`, `unix:///path` or `host:port`. */
export const collectorOf = (endpoint: string): string => {
  if (schemeOf(endpoint) === 'unix') return `unix://${encodeURI(endpoint.replace(/^unix:(\/\/)?/, ''))}`;
  return `http://${endpoint.replace(/^dns:(\/\/[^/]*\/)?/, '')}`;
};
