import {readFile} from 'node:fs/promises';
import type {Naming} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import type {Tracer} from '#src/observe/tracer.js';
import type {ApiserverOptions} from '#src/options/programs/apiserver.js';
import {dialer} from '#src/transport/dial.js';
import type {Egress} from './egress.js';

export interface TracingParts {
  readonly options: Pick<ApiserverOptions, 'tracingConfigFile'>;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly log: Log;
  readonly egress: Egress;
  /** The identity of this server. */
  readonly serverId: string;
}

/** The tracing of a server. */
export interface Tracing {
  readonly tracer: Tracer;
  /** Sends the last spans. */
  close(): Promise<void>;
}

/** Opens the tracing that `--tracing-config-file` configures, if it is given. Rejects with an error of one line that names the flag; the collector is reached later. */
export const openTracing = async ({options, naming, clock, log, egress, serverId}: TracingParts): Promise<Tracing | undefined> => {
  const {tracingConfigFile: path} = options;
  if (path === '') return undefined;
  const [{readTracingConfiguration}, {Tracer}, {otlpExporter}] = await Promise.all([
    import('#src/apiserver/configuration/tracing.js'),
    import('#src/observe/tracer.js'),
    import('#src/transport/otlp/exporter.js'),
  ]);
  const {server, samplingRatePerMillion} = await readFile(path, 'utf8')
    .then(content => readTracingConfiguration(content, naming))
    .catch((cause: unknown) => {
      throw new Error(`--tracing-config-file: ${path}: ${messageOf(cause)}`, {cause});
    });
  const exporter = otlpExporter({
    server,
    dial: dialer(egress.network('controlplane'), clock),
    clock,
    resource: {'service.name': 'apiserver', 'service.instance.id': serverId},
  });
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
