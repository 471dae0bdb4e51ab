// Runs users' controllers against an API server, in process or over a connection.

import {systemClock, type Clock} from '#src/base/clock.js';
import {createLog} from '#src/observe/log.js';
import type {Log} from '#src/base/log.js';
import type {Meter} from '#src/base/meter.js';
import {systemRandom, type Random} from '#src/base/random.js';
import type {Client} from '#src/client/client.js';
import {HealthChecks, type Check, type HealthAnswer} from '#src/observe/health.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {Manager as RuntimeManager} from '#src/runtime/manager.js';
import type {OperatorController} from './controller.js';
import {electionOf} from './leader-election.js';
import type {LeaderElectionOptions} from './leader-election-options.js';
import {runtimeOf} from './runtime-of.js';
import {msOf, type Duration} from './result.js';

export interface ManagerOptions {
  /** The name in metrics, Events and the user agent. Default `operator`. */
  readonly name?: string;
  readonly controllers: readonly OperatorController[];
  /** The client that caches and controllers use, such as `plane.client()` in tests. */
  readonly client: Client;
  /** Makes the controllers run only while this replica leads. Default: they run at once. */
  readonly leaderElection?: LeaderElectionOptions;
  /** Health checks of your own, by name. A check passes by returning and fails by throwing. */
  readonly healthChecks?: Readonly<Record<string, Check>>;
  /** Ready checks of your own, by name. */
  readonly readyChecks?: Readonly<Record<string, Check>>;
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
  /** Creates metrics of your own, which `metrics` returns too. */
  readonly meter: Meter;
  /** Runs until the signal aborts, and finishes what is in progress. Rejects when a controller cannot be started. */
  run(signal: AbortSignal): Promise<RunOutcome>;
  /** Returns the response of `/healthz`: status 500 if a health check fails, such as that of a leader which cannot renew its Lease and does not end. */
  health(): Promise<HealthAnswer>;
  /** Returns the response of `/readyz`: status 500 if a ready check fails, or while a replica that leads waits for its caches. A replica that stands by is ready. */
  readiness(): Promise<HealthAnswer>;
  /** Returns the response of `/metrics`: all metrics in the text format of Prometheus. */
  metrics(): Promise<{readonly contentType: string; readonly body: string}>;
}

/** The ready check of the controllers' caches. */
const cachesCheck = 'caches';

/** Creates a manager. Nothing runs and nothing is requested until `run`. Throws a `TypeError` for options that cannot work. */
export const createManager = ({
  name = 'operator',
  controllers,
  client,
  leaderElection,
  healthChecks = {},
  readyChecks = {},
  gracePeriod = '30s',
  clock = systemClock,
  random = systemRandom,
  log = createLog({clock, program: name}),
  freeze = false,
}: ManagerOptions): Manager => {
  const ending = new AbortController();
  const meter = new MetricsRegistry();
  const health = checksOf('healthChecks', healthChecks, ['leaderElection', ...controllers.map(controller => controller.name)], log);
  const readiness = checksOf('readyChecks', readyChecks, [cachesCheck], log);
  const manager = new RuntimeManager({
    name,
    controllers: controllers.map(runtimeOf),
    client,
    clientFor: () => client,
    clock,
    random,
    log,
    freeze,
    meter,
    checks: health,
    naming: client.naming,
    options: {},
    gates: {enabled: () => true},
    startIntervalMs: 0,
    shutdownTimeoutMs: msOf(gracePeriod),
    minResyncMs: 0,
    ...(leaderElection ? {election: electionOf(leaderElection, {program: name, client, clock, random, log, signal: ending.signal})} : {}),
  });
  let isSynced = false;
  manager.started.then(
    () => (isSynced = true),
    () => {},
  );
  readiness.add(cachesCheck, () => {
    if (manager.isLeader && !isSynced) throw new Error('the caches of the controllers are not synced');
  });
  return {
    ready: manager.ready,
    get isLeader() {
      return manager.isLeader;
    },
    meter,
    async run(signal) {
      try {
        return await manager.run(signal);
      } finally {
        ending.abort();
      }
    },
    health: () => health.all('healthz'),
    readiness: () => readiness.all('readyz'),
    metrics: () => meter.exposition(),
  };
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
