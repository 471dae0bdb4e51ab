import type {Naming} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import type {Client as ResourceClients} from '#src/client/client.js';
import {connectedClient} from '#src/client/connected.js';
import type {Client} from '#src/operator/client/client.js';
import {clientOf} from '#src/operator/client/client-of.js';
import {reachServer} from '#src/program/reach.js';
import {loadSettings} from '#src/transport/kubeconfig/load-settings.js';
import type {ConnectionSettings} from '#src/transport/settings.js';
import {userAgent} from '#src/transport/user-agent.js';
import type {Environment} from './environment.js';
import type {ProgramOptions} from './flags.js';

export interface OperatorConnectionParts {
  readonly name: string;
  readonly options: Pick<ProgramOptions, 'kubeconfig' | 'context' | 'master' | 'naming' | 'qps' | 'burst'>;
  readonly version: {readonly gitVersion: string; readonly gitCommit: string};
  readonly env: Environment;
  /** The prefix of the service account directory: `/` except in tests. */
  readonly root?: string;
  readonly clock: Clock;
  readonly meter: Meter;
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** The connection of an operator to its API server. */
export interface OperatorConnection extends AsyncDisposable {
  readonly server: string;
  readonly naming: Naming;
  readonly client: Client;
  /** A client without a rate limit, for the lease: a busy operator must not lose it. */
  readonly leaseClient: ResourceClients;
  /** A client without a rate limit, for reviews of those who read metrics. */
  readonly reviewClient: ResourceClients;
  /** The namespace of the pod or of the kubeconfig's context; `default` without one. */
  readonly namespace: string;
}

/**
 * Returns the settings of the server that a program connects to: those of the given file, of the file that `KUBECONFIG`
 * names, or of the pod. Rejects with a one-line error.
 */
export const operatorSettings = (
  {kubeconfig, context, master = ''}: {readonly kubeconfig: string; readonly context: string; readonly master?: string},
  {env, root = ''}: {readonly env: Environment; readonly root?: string},
): Promise<ConnectionSettings> => {
  const fromEnvironment = master ? undefined : env['KUBECONFIG']?.split(':').find(Boolean);
  return loadSettings({
    file: kubeconfig || fromEnvironment,
    fileFlag: kubeconfig || !fromEnvironment ? '--kubeconfig' : 'KUBECONFIG',
    master,
    context: context || undefined,
    env,
    root,
  });
};

/**
 * Connects to the API server given by flags, `KUBECONFIG` or the service account of the pod. Rejects with a one-line
 * error.
 */
export const connectOperator = async ({
  name,
  options,
  version,
  env,
  root = '',
  clock,
  meter,
  log,
  signal,
}: OperatorConnectionParts): Promise<OperatorConnection> => {
  const {qps, burst} = options;
  const settings = await operatorSettings(options, {env, root});
  const agent = (part: string) => userAgent({program: name, version: version.gitVersion, commit: version.gitCommit}, part);
  const {connection, naming} = await reachServer(settings, {naming: options.naming, clock, meter, log, userAgent: agent('naming'), signal});
  const typed = (low: ResourceClients): Client => clientOf(low, {clock, fieldManager: name});
  const common = {clock, meter, naming, watchList: true};
  return {
    server: settings.server,
    naming,
    client: typed(connectedClient(connection, {...common, userAgent: agent('controllers'), ...(qps > 0 ? {rateLimit: {qps, burst}} : {})})),
    leaseClient: connectedClient(connection, {...common, userAgent: agent('leader-election')}),
    reviewClient: connectedClient(connection, {...common, userAgent: agent('metrics')}),
    namespace: env['POD_NAMESPACE'] || settings.namespace || 'default',
    [Symbol.asyncDispose]: () => connection[Symbol.asyncDispose](),
  };
};
