import {readFile} from 'node:fs/promises';
import type {Naming} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import type {ApiserverOptions} from '#src/options/programs/apiserver.js';
import type {Tracing} from '#src/transport/otlp/tracing.js';
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

/**
 * Opens the tracing that `--tracing-config-file` configures, if it is given. Rejects with an error of one line that
 * names the flag; the collector is reached later.
 */
export const openTracing = async ({options, naming, clock, log, egress, serverId}: TracingParts): Promise<Tracing | undefined> => {
  const {tracingConfigFile: path} = options;
  if (path === '') return undefined;
  const [{readTracingConfiguration}, {tracingTo}] = await Promise.all([
    import('#src/apiserver/configuration/tracing.js'),
    import('#src/transport/otlp/tracing.js'),
  ]);
  const {server, samplingRatePerMillion} = await readFile(path, 'utf8')
    .then(content => readTracingConfiguration(content, naming))
    .catch((cause: unknown) => {
      throw new Error(`--tracing-config-file: ${path}: ${messageOf(cause)}`, {cause});
    });
  const resource = {'service.name': 'apiserver', 'service.instance.id': serverId};
  return tracingTo({server, samplingRatePerMillion, resource, network: egress.network('controlplane'), clock, log});
};
