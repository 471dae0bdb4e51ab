import type {Naming} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import type {Meter} from '#src/base/meter.js';
import {Undo} from '#src/base/undo.js';
import type {Client as ResourceClients} from '#src/client/client.js';
import {connectedClient} from '#src/client/connected.js';
import type {RateLimit} from '#src/client/limits.js';
import type {Client} from '#src/operator/client/client.js';
import {clientOf} from '#src/operator/client/client-of.js';
import {reachServer} from '#src/program/reach.js';
import {loadSettings} from '#src/transport/kubeconfig/load-settings.js';
import type {ConnectionSettings} from '#src/transport/settings.js';
import {userAgent} from '#src/transport/user-agent.js';
import type {Environment} from './environment.js';
import {parseCluster} from './clusters.js';
import type {ProgramOptions} from './flags.js';

export interface OperatorConnectionParts {
  readonly name: string;
  readonly options: Pick<ProgramOptions, 'kubeconfig' | 'context' | 'master' | 'naming' | 'qps' | 'burst' | 'cluster'>;
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
  /** The clients of other clusters by their names, each with the same rate limit. */
  readonly clusters: Readonly<Record<string, Client>>;
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
  {
    kubeconfig,
    context,
    master = '',
    flag = '--kubeconfig',
  }: {readonly kubeconfig: string; readonly context: string; readonly master?: string; readonly flag?: string},
  {env, root = ''}: {readonly env: Environment; readonly root?: string},
): Promise<ConnectionSettings> => {
  const fromEnvironment = master ? undefined : env['KUBECONFIG']?.split(':').find(Boolean);
  return loadSettings({
    file: kubeconfig || fromEnvironment,
    fileFlag: kubeconfig || !fromEnvironment ? flag : 'KUBECONFIG',
    master,
    context: context || undefined,
    env,
    root,
  });
};

/**
 * Connects to the API server given by flags, `KUBECONFIG` or the service account of the pod, and to the other clusters.
 * Rejects with a one-line error.
 */
export const connectOperator = async (parts: OperatorConnectionParts): Promise<OperatorConnection> => {
  const {options, env, root = ''} = parts;
  await using undo = new Undo();
  const settings = await operatorSettings(options, {env, root});
  const own = await reached(parts, settings, options.naming);
  undo.defer(() => own.connection[Symbol.asyncDispose]());
  const clusters: Record<string, Client> = {};
  for (const {name, kubeconfig, context} of options.cluster.flatMap(text => parseCluster(text) ?? [])) {
    const flag = `--cluster ${name}`;
    if (!(kubeconfig || options.kubeconfig || env['KUBECONFIG'])) throw new Error(`${flag}: a context needs --kubeconfig`);
    const there = await operatorSettings({kubeconfig: kubeconfig || options.kubeconfig, context, flag}, {env, root});
    const other = await reached(parts, there, 'auto').catch((cause: unknown) => {
      throw new Error(`${flag}: ${messageOf(cause)}`, {cause});
    });
    undo.defer(() => other.connection[Symbol.asyncDispose]());
    clusters[name] = other.client();
  }
  const ending = undo.move();
  return {
    server: settings.server,
    naming: own.naming,
    client: own.client(),
    clusters,
    leaseClient: own.unlimited('leader-election'),
    reviewClient: own.unlimited('metrics'),
    namespace: env['POD_NAMESPACE'] || settings.namespace || 'default',
    [Symbol.asyncDispose]: () => ending[Symbol.asyncDispose](),
  };
};

/** Connects to the server of one cluster. */
const reached = async (
  {name, options: {qps, burst}, version, clock, meter, log, signal}: OperatorConnectionParts,
  settings: ConnectionSettings,
  wanted: ProgramOptions['naming'],
) => {
  const agent = (part: string) => userAgent({program: name, version: version.gitVersion, commit: version.gitCommit}, part);
  const {connection, naming} = await reachServer(settings, {naming: wanted, clock, meter, log, userAgent: agent('naming'), signal});
  const unlimited = (part: string, limits: {readonly rateLimit?: RateLimit} = {}): ResourceClients =>
    connectedClient(connection, {clock, meter, naming, watchList: true, userAgent: agent(part), ...limits});
  return {
    connection,
    naming,
    unlimited,
    client: () => clientOf(unlimited('controllers', qps > 0 ? {rateLimit: {qps, burst}} : {}), {clock, fieldManager: name}),
  };
};
