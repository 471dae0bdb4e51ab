// Runs users' controllers against an API server, in process or over a connection.

import {systemClock, type Clock} from '#src/base/clock.js';
import {createLog} from '#src/observe/log.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import {systemRandom, type Random} from '#src/base/random.js';
import {unlessAborted} from '#src/base/signals.js';
import type {Client} from '#src/client/client.js';
import {HealthChecks, type Check, type HealthAnswer} from '#src/observe/health.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {Manager as RuntimeManager} from '#src/runtime/manager.js';
import type {OperatorController} from './controller.js';
import {ManagedWebhooks, type WebhookOptions} from './managed-webhooks.js';
import {electionOf} from './leader-election.js';
import type {LeaderElectionOptions} from './leader-election-options.js';
import {runtimeOf} from './runtime-of.js';
import {msOf, type Duration} from './result.js';

/** What a manager runs, and how. */
export interface ManagerOptions {
  /** The name in metrics, Events and the user agent. Default `operator`. */
  readonly name?: string;
  readonly controllers: readonly OperatorController[];
  /** The client that caches and controllers use, such as `plane.client()` in tests. */
  readonly client: Client;
  /**
   * Limits the caches to these namespaces, and with them what controllers see. Cluster-scoped kinds are cached as a
   * whole. Default: all namespaces.
   */
  readonly namespaces?: readonly string[];
  /** How many keys each controller reconciles at a time, instead of what it declares. */
  readonly concurrency?: number;
  /** Makes the controllers run only while this replica leads. Default: they run at once. */
  readonly leaderElection?: LeaderElectionOptions;
  /** Health checks of your own, by name. A check passes by returning and fails by throwing. */
  readonly healthChecks?: Readonly<Record<string, Check>>;
  /** Ready checks of your own, by name. */
  readonly readyChecks?: Readonly<Record<string, Check>>;
  /** Webhooks to serve: validation, defaults and conversions. Every replica serves them, whether it leads or not. */
  readonly webhooks?: WebhookOptions;
  /** How long a stop waits for reconciles in progress. Default 30 s. */
  readonly gracePeriod?: Duration;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly log?: Log;
  /** Whether cached objects are deeply frozen, so that tests find code that changes them. */
  readonly freeze?: boolean;
}

/** How a run ended: as requested, because the lead was lost, or with reconciles that did not end in time. */
export type RunOutcome = 'stopped' | 'lost' | 'stuck';

/** Runs controllers. */
export interface Manager {
  /** Resolves once every controller works, with all its caches synced. */
  readonly ready: Promise<void>;
  /** Whether the controllers of this replica may run: it leads, or leaders are not elected. */
  readonly isLeader: boolean;
  /**
   * Resolves to the port of the webhooks once it is open; to undefined without webhooks. Rejects if it cannot be
   * opened.
   */
  readonly webhookPort: Promise<number | undefined>;
  /** Creates metrics of your own, which `metrics` returns too. */
  readonly meter: Meter;
  /** Runs until the signal aborts, and finishes what is in progress. Rejects when a controller cannot be started. */
  run(signal: AbortSignal): Promise<RunOutcome>;
  /**
   * Adds a controller, also while the others run. Resolves once it works, with its caches synced; before `run`, at
   * once. It shares the caches of the others. Rejects for a name that another controller or a health check has.
   */
  add(controller: OperatorController): Promise<void>;
  /**
   * Stops a controller, and the informers that no other uses. Resolves once its reconciles have ended, to false if they
   * did not within the grace period.
   */
  remove(name: string): Promise<boolean>;
  /**
   * Returns the response of `/healthz`: status 500 if a health check fails, such as that of a leader which cannot renew
   * its Lease and does not end.
   */
  health(): Promise<HealthAnswer>;
  /**
   * Returns the response of `/readyz`: status 500 if a ready check fails, or while a replica that leads waits for its
   * caches. A replica that stands by is ready.
   */
  readiness(): Promise<HealthAnswer>;
  /** Returns the response of `/metrics`: all metrics in the text format of Prometheus. */
  metrics(): Promise<{readonly contentType: string; readonly body: string}>;
}

/** The ready check of the controllers' caches. */
const cachesCheck = 'caches';

/** A manager with what its program serves. */
export interface AssembledManager {
  readonly manager: Manager;
  readonly health: HealthChecks;
  readonly readiness: HealthChecks;
}

/**
 * Creates a manager. Nothing runs and nothing is requested until `run`. Throws a `TypeError` for options that cannot
 * work.
 */
export const createManager = (options: ManagerOptions): Manager => assembleManager(options, new MetricsRegistry()).manager;

/** Creates a manager that records its metrics in `meter`. Throws a `TypeError` for options that cannot work. */
export const assembleManager = (options: ManagerOptions, meter: MetricsRegistry): AssembledManager => {
  const {name = 'operator', client, namespaces = [], concurrency, healthChecks = {}, readyChecks = {}, clock = systemClock} = options;
  const {random = systemRandom, log = createLog({clock, program: name})} = options;
  if (concurrency !== undefined && (!Number.isInteger(concurrency) || concurrency < 1))
    throw new TypeError('concurrency must be a positive integer');
  const scope = {namespaces, ...(concurrency === undefined ? {} : {concurrency})};
  const ending = new AbortController();
  const taken = ['leaderElection', ...options.controllers.map(controller => controller.name)];
  const health = checksOf('healthChecks', healthChecks, taken, log);
  const readiness = checksOf('readyChecks', readyChecks, [cachesCheck], log);
  const {leaderElection, webhooks} = options;
  const serving = webhooks && new ManagedWebhooks(webhooks, {name, client, clock, random, log, meter});
  const manager = new RuntimeManager({
    name,
    controllers: options.controllers.map(controller => runtimeOf(controller, scope)),
    client,
    clientFor: () => client,
    clock,
    random,
    log,
    freeze: options.freeze ?? false,
    meter,
    queueLabels: 'controller-runtime',
    checks: health,
    naming: client.naming,
    options: {},
    gates: {enabled: () => true},
    startIntervalMs: 0,
    shutdownTimeoutMs: msOf(options.gracePeriod ?? '30s'),
    minResyncMs: 0,
    ...(leaderElection ? {election: electionOf(leaderElection, {program: name, client, clock, random, log, signal: ending.signal})} : {}),
  });
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
      async run(signal) {
        try {
          // Caches of kinds that are converted need the conversion.
          const keepers = serving ? await unlessAborted(serving.open(ending.signal), signal) : [];
          for (const keeper of keepers) await manager.add(runtimeOf(keeper, scope));
          return await manager.run(signal);
        } catch (error) {
          if (signal.aborted) return 'stopped'; // While the webhooks were opened.
          throw error;
        } finally {
          ending.abort();
          await serving?.close();
        }
      },
      async add(controller) {
        if (controller.name in healthChecks) throw new TypeError(`there is a health check named ${controller.name}`);
        await manager.add(runtimeOf(controller, scope));
      },
      remove: controller => manager.remove(controller),
      health: () => health.all('healthz'),
      readiness: () => readiness.all('readyz'),
      metrics: () => meter.exposition(),
    },
  };
};

/** Adds the check that a replica which leads has synced its caches. */
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

/** Returns the checks that a user adds under names that are not `taken`. */
const checksOf = (option: string, checks: Readonly<Record<string, Check>>, taken: readonly string[], log: Log): HealthChecks => {
  const all = new HealthChecks(log);
  for (const [name, check] of Object.entries(checks)) {
    if (taken.includes(name)) throw new TypeError(`${option}: the manager has a check named ${name}`);
    all.add(name, check);
  }
  return all;
};
