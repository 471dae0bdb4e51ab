import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {SpanAttributes} from '#src/base/span.js';
import {Tracer} from '#src/observe/tracer.js';
import {dialer} from '#src/transport/dial.js';
import type {Network} from '#src/transport/network.js';
import {otlpExporter} from './exporter.js';

export interface TracingParts {
  /** The collector, as `http://host:port` or `unix:///path`. */
  readonly server: string;
  readonly samplingRatePerMillion: number;
  /** The attributes of this process. */
  readonly resource: SpanAttributes;
  readonly network: Network;
  readonly clock: Clock;
  readonly log: Log;
}

/** The tracing of a program. */
export interface Tracing {
  readonly tracer: Tracer;
  /** Sends the last spans. */
  close(): Promise<void>;
}

/** Opens the tracing of a program. The collector is reached later. */
export const tracingTo = ({server, samplingRatePerMillion, resource, network, clock, log}: TracingParts): Tracing => {
  const exporter = otlpExporter({server, dial: dialer(network, clock), clock, resource});
  const tracer = new Tracer({
    clock,
    samplingRatePerMillion,
    export: spans => exporter.export(spans),
    onDropped: (error, count) => log.warn({collector: server, err: error, count}, 'spans of traces were dropped'),
  });
  return {
    tracer,
    async close() {
      await tracer.close();
      await exporter[Symbol.asyncDispose]();
    },
  };
};
