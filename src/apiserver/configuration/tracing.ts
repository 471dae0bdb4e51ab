// The file of `--tracing-config-file`: a `TracingConfiguration`, which names the collector of spans and how many requests are sampled.

import {invalid, type FieldError} from '#src/api/field-error.js';
import type {Naming} from '#src/api/naming.js';
import {readConfiguration} from './document.js';
import {integer, text} from './fields.js';

export interface TracingConfiguration {
  /** The collector, as `http://host:port` or `unix:///path`. */
  readonly server: string;
  readonly samplingRatePerMillion: number;
}

interface Fields {
  readonly endpoint?: string;
  readonly samplingRatePerMillion?: number;
}

const defaultEndpoint = 'localhost:4317';

/** Reads the file's content. Throws an error of one line with all that is wrong. */
export const readTracingConfiguration = (source: string, naming: Naming): TracingConfiguration => {
  const {endpoint = defaultEndpoint, samplingRatePerMillion = 0} = readConfiguration<Fields>(source, [
    {
      group: naming.group('apiserver.config'),
      versions: ['v1', 'v1beta1', 'v1alpha1'],
      kind: 'TracingConfiguration',
      fields: {endpoint: text, samplingRatePerMillion: integer},
    },
  ]);
  const errors = [...rateErrors(samplingRatePerMillion), ...endpointErrors(endpoint)];
  if (errors.length > 0) {
    const texts = errors.map(({path, detail}) => `${path}: ${detail}`);
    throw new Error(texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`);
  }
  return {server: serverOf(endpoint), samplingRatePerMillion};
};

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
  else if (!URL.canParse(serverOf(endpoint))) yield invalid('endpoint', endpoint, 'must be host:port');
}

/** The server of a gRPC target: `dns:[//authority/]host:port`, `unix:path`, `unix:///path` or `host:port`. */
const serverOf = (endpoint: string): string => {
  if (schemeOf(endpoint) === 'unix') return `unix://${encodeURI(endpoint.replace(/^unix:(\/\/)?/, ''))}`;
  return `http://${endpoint.replace(/^dns:(\/\/[^/]*\/)?/, '')}`;
};
