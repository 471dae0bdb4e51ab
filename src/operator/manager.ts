// Runs controllers against an API server, in process or over a connection.

import {systemClock, type Clock} from '#src/base/clock.js';
import {createLog} from '#src/observe/log.js';
import type {FlightRecorder} from '#src/observe/flight-recorder.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import {systemRandom, type Random} from '#src/base/random.js';
import {unlessAborted} from '#src/base/signals.js';
import type {Client} from '#src/client/client.js';
import {HealthChecks, type Check, type HealthAnswer} from '#src/observe/health.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {Manager as RuntimeManager} from '#src/runtime/manager.js';
import type {OperatorController} from './controller.js';
import {ManagedTracing, type TracingOptions} from './tracing/managed-tracing.js';
import {ManagedWebhooks, type WebhookOptions} from './managed-webhooks.js';
import {electionOf} from './leader-election.js';
import type {LeaderElectionOptions} from './leader-election-options.js';
import type {Runnable} from './runnables.js';
import {managedOf} from './runtime-of.js';
import {msOf, type Duration} from './result.js';

/** The options of a manager. */
export interface ManagerOptions {
  /** The name in metrics, Events and the user agent. Default `operator`. */
  readonly name?: string;
  readonly controllers: readonly OperatorController[];
  /**
   * Work beside the controllers, on this replica while it leads, or always. It begins with them, and ends with them.
   */
  readonly runnables?: readonly Runnable[];
  /** The client of caches and controllers, such as `plane.client()` in tests. */
  readonly client: Client;
  /**
   * The clients of other clusters by their names, such as those of `createClient`: `on('edge', Pod)` is a source of
   * controllers, and `client.cluster('edge')` writes there. Leader election, Events and webhooks are in the cluster of
   * `client`.
   */
  readonly clusters?: Readonly<Record<string, Client>>;
  /**
   * Restricts the caches, and therefore the controllers, to these namespaces. Cluster-scoped kinds are not restricted.
   * Default: all namespaces.
   */
  readonly namespaces?: readonly string[];
  /** The number of keys that each controller reconciles concurrently, overriding its declaration. */
  readonly concurrency?: number;
  /** The time limit of a reconcile of controllers that declare none. Default: none. */
  readonly reconcileTimeout?: Duration;
  /** Enables leader election: the controllers run only on the leader. Default: they run at once. */
  readonly leaderElection?: LeaderElectionOptions;
  /**
   * With leader election: whether the caches are filled before this replica leads, so that it reconciles at once when
   * it does. Costs the memory and the watches of a leader. Default false.
   */
  readonly warmup?: boolean;
  /** Your own health checks by name. A check passes by returning and fails by throwing. */
  readonly healthChecks?: Readonly<Record<string, Check>>;
  /** Your own ready checks by name. */
  readonly readyChecks?: Readonly<Record<string, Check>>;
  /**
   * Webhooks to serve: validation, defaulting and conversion. Every replica serves them, whether it is the leader or
   * not.
   */
  readonly webhooks?: WebhookOptions;
  /** Sends a trace of each reconcile, with the requests of its client, to a collector. Default: none. */
  readonly tracing?: TracingOptions;
  /** The grace period for reconciles in progress at a stop. Default 30 s. */
  readonly gracePeriod?: Duration;
  /**
   * Where reconciles are recorded, with their causes, writes and errors: `plane.recorder` in a test, or
   * `recordTo(file)`. Default: nowhere.
   */
  readonly recorder?: FlightRecorder | undefined;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly log?: Log;
  /** Whether cached objects are deeply frozen, so that tests detect code that changes them. */
  readonly freeze?: boolean;
}

/**
 * How a run ended: as requested, because the lease was lost, or with reconciles that did not end within the grace
 * period.
 */
export type RunOutcome = 'stopped' | 'lost' | 'stuck';

/** Runs controllers. */
export interface Manager {
  /**
   * Resolves once every controller has started, with all its caches synced. Rejects if the run ends before that, and
   * with the server's refusal if it keeps refusing a list that a controller needs: the run goes on then, and tries
   * again.
   */
  readonly ready: Promise<void>;
  /** Whether the controllers of this replica may run: it is the leader, or leader election is disabled. */
  readonly isLeader: boolean;
  /**
   * Resolves to the port of the webhooks once it is open; to undefined without webhooks. Rejects if it cannot be
   * opened.
   */
  readonly webhookPort: Promise<number | undefined>;
  /** Creates your own metrics, which `metrics` includes. */
  readonly meter: Meter;
  /**
   * Runs until the signal aborts, and then waits for reconciles in progress and runnables. Rejects if a controller
   * cannot be started, and with the error of a runnable that fails.
   */
  run(signal: AbortSignal): Promise<RunOutcome>;
  /**
   * Adds a controller or a runnable, also to a running manager. Resolves once it has started, with its caches synced;
   * before `run`, at once. Caches are shared between controllers. Rejects if the name is taken by another controller or
   * a health check.
   */
  add(controller: OperatorController | Runnable): Promise<void>;
  /**
   * Stops a controller or a runnable, and informers that no other controller uses. Resolves once its reconciles have
   * ended; to false if they did not within the grace period.
   */
  remove(name: string): Promise<boolean>;
  /**
   * Returns the response of `/healthz`: status 500 if a health check fails, for example that of a leader which cannot
   * renew its Lease and does not exit.
   */
  health(): Promise<HealthAnswer>;
  /**
   * Returns the response of `/readyz`: status 500 if a ready check fails, or while the caches of a leader are not
   * synced. A replica on standby is ready.
   */
  readiness(): Promise<HealthAnswer>;
  /** Returns the response of `/metrics`: all metrics in the Prometheus text format. */
  metrics(): Promise<{readonly contentType: string; readonly body: string}>;
}

/** The ready check of the controllers' caches. */
const cachesCheck = 'caches';

/** A manager with the parts that its program serves. */
export interface AssembledManager {
  readonly manager: Manager;
  readonly health: HealthChecks;
  readonly readiness: HealthChecks;
}

/** Creates a manager. Nothing runs and nothing is requested before `run`. Throws a `TypeError` for invalid options. */
export const createManager = (options: ManagerOptions): Manager => assembleManager(options, new MetricsRegistry()).manager;

/** The options with their defaults. Throws a `TypeError` for an invalid one. */
const checkedOptions = (options: ManagerOptions) => {
  const {name = 'operator', namespaces = [], concurrency, clock = systemClock, random = systemRandom} = options;
  if (concurrency !== undefined && (!Number.isInteger(concurrency) || concurrency < 1))
    throw new TypeError('concurrency must be a positive integer');
  const {log = createLog({clock, program: name})} = options;
  const {clusters = {}, reconcileTimeout} = options;
  const reconcileTimeoutMs = reconcileTimeout === undefined ? undefined : msOf(reconcileTimeout);
  if (reconcileTimeoutMs !== undefined && reconcileTimeoutMs <= 0) throw new TypeError('reconcileTimeout must be above 0');
  const scope = {
    namespaces,
    clusters,
    ...(concurrency === undefined ? {} : {concurrency}),
    ...(reconcileTimeoutMs === undefined ? {} : {reconcileTimeoutMs}),
  };
  return {...options, name, clock, random, log, scope};
};

type CheckedOptions = ReturnType<typeof checkedOptions>;

interface RuntimeParts {
  readonly checks: HealthChecks;
  readonly meter: MetricsRegistry;
  readonly tracing: ManagedTracing | undefined;
  readonly signal: AbortSignal;
}

const runtimeManagerOf = (options: CheckedOptions, {checks, meter, tracing, signal}: RuntimeParts): RuntimeManager => {
  const {name, client, clock, random, log, scope, leaderElection, recorder, warmup = false, runnables = []} = options;
  return new RuntimeManager({
    name,
    controllers: [...options.controllers, ...runnables].map(controller => managedOf(controller, scope)),
    client,
    clusters: scope.clusters,
    clientFor: () => client,
    clock,
    random,
    log,
    recorder,
    freeze: options.freeze ?? false,
    meter,
    ...(tracing ? {tracer: tracing} : {}),
    queueLabels: 'controller-runtime',
    checks,
    naming: client.naming,
    options: {},
    gates: {enabled: () => true},
    startIntervalMs: 0,
    shutdownTimeoutMs: msOf(options.gracePeriod ?? '30s'),
    minResyncMs: 0,
    ...(leaderElection ? {election: {...electionOf(leaderElection, {program: name, client, clock, random, log, signal}), warmup}} : {}),
  });
};

/** What runs with a manager. */
interface Accompanying {
  readonly serving: ManagedWebhooks | undefined;
  readonly tracing: ManagedTracing | undefined;
}

/** Runs a manager, its webhooks and its tracing. `ending` is aborted at the end. */
const runWith = async (
  manager: RuntimeManager,
  {serving, tracing}: Accompanying,
  {scope}: CheckedOptions,
  {ending, signal}: {readonly ending: AbortController; readonly signal: AbortSignal},
): Promise<RunOutcome> => {
  try {
    await tracing?.open();
    // Caches of converted kinds need the conversion webhook.
    const keepers = serving ? await unlessAborted(serving.open(ending.signal), signal) : [];
    for (const keeper of keepers) await manager.add(managedOf(keeper, scope));
    return await manager.run(signal);
  } catch (error) {
    if (signal.aborted) return 'stopped'; // Stopped while the webhooks were being opened.
    throw error;
  } finally {
    ending.abort();
    await serving?.close();
    await tracing?.close();
  }
};

/** Creates a manager that records metrics in `meter`. Throws a `TypeError` for invalid options. */
export const assembleManager = (given: ManagerOptions, meter: MetricsRegistry): AssembledManager => {
  const options = checkedOptions(given);
  const {name, client, healthChecks = {}, readyChecks = {}, clock, random, log, webhooks} = options;
  const ending = new AbortController();
  const taken = ['leaderElection', ...[...options.controllers, ...(options.runnables ?? [])].map(each => each.name)];
  const health = checksOf('healthChecks', healthChecks, taken, log);
  const readiness = checksOf('readyChecks', readyChecks, [cachesCheck], log);
  const serving = webhooks && new ManagedWebhooks(webhooks, {name, client, clock, random, log, meter});
  const tracing = options.tracing && new ManagedTracing(options.tracing, {name, clock, log});
  const manager = runtimeManagerOf(options, {checks: health, meter, tracing, signal: ending.signal});
  addCachesCheck(readiness, manager);
  return {
    health,
    readiness,
    manager: {
      ready: manager.ready,
      get isLeader() {
        return manager.isLeader;
      },
      webhookPort: serving?.port ?? Promise.resolve(undefined),
      meter,
      run: signal => runWith(manager, {serving, tracing}, options, {ending, signal}),
      async add(controller) {
        if (controller.name in healthChecks) throw new TypeError(`there is a health check named ${controller.name}`);
        await manager.add(managedOf(controller, options.scope));
      },
      remove: controller => manager.remove(controller),
      health: () => health.all('healthz'),
      readiness: () => readiness.all('readyz'),
      metrics: () => meter.exposition(),
    },
  };
};

/** Adds the check that a leader has synced its caches. */
const addCachesCheck = (readiness: HealthChecks, manager: RuntimeManager): void => {
  let isSynced = false;
  manager.started.then(
    () => (isSynced = true),
    () => {},
  );
  readiness.add(cachesCheck, () => {
    if (manager.isLeader && !isSynced) throw new Error('the caches of the controllers are not synced');
  });
};

/** Returns the user's checks. Throws if a name is in `taken`. */
const checksOf = (option: string, checks: Readonly<Record<string, Check>>, taken: readonly string[], log: Log): HealthChecks => {
  const all = new HealthChecks(log);
  for (const [name, check] of Object.entries(checks)) {
    if (taken.includes(name)) throw new TypeError(`${option}: the manager has a check named ${name}`);
    all.add(name, check);
  }
  return all;
};
