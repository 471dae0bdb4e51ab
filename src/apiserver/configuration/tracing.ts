// The file of `--tracing-config-file`: a `TracingConfiguration`, which names the collector of spans and how many
// requests are sampled.

import type {Naming} from '#src/api/naming.js';
import {collectorOf, defaultEndpoint, tracingErrors} from '#src/transport/otlp/target.js';
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
  const errors = tracingErrors({endpoint, samplingRatePerMillion});
  if (errors.length > 0) {
    const texts = errors.map(({path, detail}) => `${path}: ${detail}`);
    throw new Error(texts.length === 1 ? texts[0] : `[${texts.join(', ')}]`);
  }
  return {server: collectorOf(endpoint), samplingRatePerMillion};
};
