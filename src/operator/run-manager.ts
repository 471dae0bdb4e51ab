// The program of an operator: flags, environment, connection, signals and ports of a manager.

import {basename} from 'node:path';
import type {Clock} from '#src/base/clock.js';
import {systemRandom as random} from '#src/base/random.js';
import type {Log} from '#src/base/log.js';
import {Undo} from '#src/base/undo.js';
import type {Client as ResourceClients} from '#src/client/client.js';
import type {Client} from './client/client.js';
import type {Check} from '#src/observe/health.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {runProgram, type Invocation} from '#src/program/program.js';
import {parseBindAddress} from '#src/serving/plain-listener.js';
import type {OperatorController} from './controller.js';
import type {LeaderElectionOptions} from './leader-election-options.js';
import type {WebhookOptions} from './managed-webhooks.js';
import {assembleManager, type Manager} from './manager.js';
import type {Runnable} from './runnables.js';
import {parseCluster, type ClusterSetting} from './program/clusters.js';
import {connectOperator, type OperatorConnection} from './program/connection.js';
import {openEndpoints} from './program/endpoints.js';
import {clusterOf} from './sources.js';
import {withEnvironment, type Environment} from './program/environment.js';
import {tracingBy} from './program/tracing.js';
import {managerFlags, type ManagerFlags, type ProgramOptions} from './program/flags.js';

/** The argument of `begin`. */
export interface ProgramContext {
  readonly manager: Manager;
  readonly client: Client;
  /** The clients of the clusters that `--cluster` names. */
  readonly clusters: Readonly<Record<string, Client>>;
  readonly clock: Clock;
  readonly log: Log;
  /** Aborts when the program has to stop. */
  readonly signal: AbortSignal;
}

/** The webhooks of a program. */
export type ProgramWebhooks = Pick<WebhookOptions, 'handlers' | 'configurations' | 'hosts'> & {
  /** The Service of the webhooks, for which the certificate is issued. Default: the name of the program. */
  readonly service?: string;
  /** The Secret of the certificate. Default: the name of the program with `-webhook-cert`. */
  readonly secret?: string;
};

/** The options of a program. Its users configure it by flags. */
export interface RunManagerOptions {
  /** The name in help, logs, metrics, Events, the user agent and the Lease. Default: the name of the script. */
  readonly name?: string;
  /** A sentence for `--help`. */
  readonly summary?: string;
  readonly controllers?: readonly OperatorController[];
  /** Work beside the controllers. */
  readonly runnables?: readonly Runnable[];
  /** Webhooks to serve. Their address and a certificate directory can be set by flags. */
  readonly webhooks?: ProgramWebhooks;
  /** Your own health checks by name. A check passes by returning and fails by throwing. */
  readonly healthChecks?: Readonly<Record<string, Check>>;
  /** Your own ready checks by name. */
  readonly readyChecks?: Readonly<Record<string, Check>>;
  /**
   * Called once before the manager runs: to create metrics, add controllers, and start other work. A rejection ends the
   * program.
   */
  begin?(context: ProgramContext): void | Promise<void>;
  /** The command line. Default: that of the process. */
  readonly argv?: readonly string[];
  /** The environment. Default: that of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** Runs an operator as a program, as the public `runManager` says. */
export const runManager = async (options: RunManagerOptions): Promise<void> => {
  const {name = nameOfScript(), controllers = [], argv = process.argv.slice(2), env = process.env} = options;
  const named = {...options, name};
  const summary = options.summary ?? `Runs the controllers ${controllers.map(each => each.name).join(', ') || 'that are added to it'}.`;
  const table = managerFlags(name, summary);
  await runProgram(
    table,
    () => withEnvironment(table, argv, env),
    invocation => runOperator(named, invocation, env),
  );
};

const nameOfScript = (): string => basename(process.argv[1] ?? '', '.js').replace(/\.[cm]?[jt]s$/, '') || 'operator';

/** Runs an operator until it is stopped. Resolves to the exit code. */
const runOperator = async (
  options: RunManagerOptions & {readonly name: string},
  {parsed, clock, log, unhandled, version, stopping, ready}: Invocation<ManagerFlags['rows']>,
  env: Environment,
): Promise<number> => {
  const {name, controllers = [], runnables = [], begin} = options;
  const flags = parsed.options;
  checkClusters(
    controllers,
    flags.cluster.flatMap(text => parseCluster(text) ?? []),
  );
  await using undo = new Undo();
  const metrics = new MetricsRegistry({process: true});
  unhandled.countIn(metrics);
  const connection = await connectOperator({name, options: flags, version, env, clock, meter: metrics, log, signal: stopping});
  undo.defer(() => connection[Symbol.asyncDispose]());
  const {client, clusters, server, naming} = connection;
  const tracing = tracingBy(flags, env, log);
  const {manager, health, readiness} = assembleManager(
    {
      name,
      controllers,
      runnables,
      warmup: flags.warmup,
      client,
      clusters,
      clock,
      random,
      log,
      namespaces: flags.namespaces,
      gracePeriod: flags.gracePeriod,
      ...(flags.concurrency > 0 ? {concurrency: flags.concurrency} : {}),
      ...(flags.reconcileTimeout > 0 ? {reconcileTimeout: flags.reconcileTimeout} : {}),
      ...(tracing ? {tracing} : {}),
      ...(flags.leaderElect ? {leaderElection: electionOf(name, flags, connection)} : {}),
      ...(options.webhooks ? {webhooks: webhooksOf(name, options.webhooks, flags, connection.namespace)} : {}),
      ...(options.healthChecks ? {healthChecks: options.healthChecks} : {}),
      ...(options.readyChecks ? {readyChecks: options.readyChecks} : {}),
    },
    metrics,
  );
  const reviewer = connection.reviewClient;
  const endpoints = await openEndpoints({options: flags, health, readiness, metrics, reviewer, clock, random, log});
  undo.defer(() => endpoints[Symbol.asyncDispose]());
  await begin?.({manager, client, clusters, clock, log, signal: stopping});
  manager.ready.then(
    () => ready(`${name} against ${server} (${naming.name} naming)`),
    () => {},
  );
  const outcome = await manager.run(stopping);
  if (outcome === 'lost') log.error('the lead was lost');
  return outcome === 'stopped' ? 0 : 1;
};

/** Throws an error of one line if a controller watches a cluster that is not given. */
const checkClusters = (controllers: readonly OperatorController[], given: readonly ClusterSetting[]): void => {
  for (const {name, sources} of controllers) {
    const missing = sources.map(clusterOf).find(cluster => cluster !== undefined && !given.some(each => each.name === cluster));
    if (missing !== undefined) throw new Error(`controller ${name} watches the cluster "${missing}": give --cluster=${missing}=KUBECONFIG`);
  }
};

/** Returns the leader election configured by flags. */
const electionOf = (
  name: string,
  flags: ProgramOptions,
  {leaseClient, namespace}: OperatorConnection,
): LeaderElectionOptions & {readonly client: ResourceClients} => {
  return {
    namespace: flags.leaderElectResourceNamespace || namespace,
    name: flags.leaderElectResourceName || name,
    leaseDuration: flags.leaderElectLeaseDuration,
    renewDeadline: flags.leaderElectRenewDeadline,
    retryPeriod: flags.leaderElectRetryPeriod,
    client: leaseClient,
  };
};

/** Returns the webhooks as configured by flags. */
const webhooksOf = (
  name: string,
  {handlers, configurations = [], hosts = [], service = name, secret = `${name}-webhook-cert`}: ProgramWebhooks,
  {webhookBindAddress, webhookCertDir}: ProgramOptions,
  namespace: string,
): WebhookOptions => ({
  handlers,
  configurations,
  ...parseBindAddress(webhookBindAddress),
  hosts: [...hosts, `${service}.${namespace}.svc`, `${service}.${namespace}.svc.cluster.local`],
  certificate: webhookCertDir ? {folder: webhookCertDir} : {secret, namespace},
});
