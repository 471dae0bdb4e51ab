// The common composition of components that use an API server: managers with leader election, metrics, health, configz
// and a port of their own. A `Component` describes the differences; a `ComponentConnection` is the way to the server,
// in process or over HTTPS.

import type {Naming} from '#src/api/naming.js';
import type {VersionInfo} from '#src/api/version.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Random} from '#src/base/random.js';
import {HealthChecks} from '#src/observe/health.js';
import type {MetricsRegistry} from '#src/observe/metrics.js';
import type {Verbosity} from '#src/observe/verbosity.js';
import type {FlagTable, OptionsOf} from '#src/options/flag.js';
import {flagValues} from '#src/options/flag-values.js';
import type {LeaderElectionOptions} from '#src/options/controller-manager/general.js';
import type {Parsed} from '#src/options/parse.js';
import {gateOf, versionInfoOf} from '#src/options/parsed-options.js';
import type {DebugPages} from '#src/runtime/controller.js';
import {Manager, type RunOutcome, type ManagerOptions} from '#src/runtime/manager.js';
import {runWithLeaderMigration} from '#src/runtime/leader-migration.js';
import type {ComponentConnection, ReviewerOptions} from './connection.js';
import {electionOf} from './election.js';
import type {MetricOptions} from './metrics.js';
import type {PortOptions} from './port.js';

/** The flags that every component has. */
export type ComponentOptions = LeaderElectionOptions &
  PortOptions &
  ReviewerOptions &
  MetricOptions & {readonly platApiQps: number; readonly platApiBurst: number};

/** The plan of one manager of a component. */
export type ManagerPlan = Pick<
  ManagerOptions,
  'controllers' | 'clientFor' | 'startIntervalMs' | 'shutdownTimeoutMs' | 'minResyncMs' | 'cloud'
>;

/** The inputs of a component's plan. */
export interface PlanContext<R> {
  readonly options: OptionsOf<R>;
  readonly connection: ComponentConnection;
  readonly clock: Clock;
  readonly log: Log;
}

/** The lock of the second manager, and the name of its health check. */
export interface SecondLock {
  readonly name: string;
  readonly check: string;
}

/** The specific parts of one component of a control plane. `createComponent` adds the common ones. */
export interface Component<R> {
  /** The program's name in files, Events and locks. */
  readonly program: string;
  /** For example `scheduler`; `naming.component(role)` is its name on its own pages and in metrics. */
  readonly role: string;
  readonly flags: FlagTable<R>;
  /** Throws an error of one line for unusable flags. Sends no requests. */
  check(options: OptionsOf<R>): void;
  /** Returns the manager to run, and a second one where leader migration moves some controllers to another lock. */
  plan(context: PlanContext<R>): Promise<{readonly first: ManagerPlan; readonly second?: ManagerPlan & {readonly lock: SecondLock}}>;
  /** Returns the effective configuration, for `/configz`. */
  configuration(options: OptionsOf<R>, naming: Naming): Promise<() => Readonly<Record<string, unknown>>>;
}

export interface ComponentEnvironment {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: MetricsRegistry;
  /** Ends the background work besides the managers: following files, writing Events. */
  readonly signal: AbortSignal;
  /** The component's health checks, if they are shown elsewhere too; its own by default. */
  readonly checks?: HealthChecks;
  /** The log verbosity, if it can be changed over the port. */
  readonly verbosity?: Verbosity;
  /** Whether cached objects are deeply frozen. */
  readonly freeze?: boolean;
}

/** A component, ready to run. */
export interface RunnableComponent {
  readonly version: VersionInfo;
  readonly checks: HealthChecks;
  /** The manager under the component's own lock. */
  readonly manager: Manager;
  /** Runs until the signal aborts or a lock is lost. */
  readonly run: (signal: AbortSignal) => Promise<RunOutcome>;
  /** Opens the component's own port if its flags require one. Returns a function that closes it. */
  readonly openPort: () => Promise<(() => Promise<void>) | undefined>;
}

/** Composes a component over a connection. Nothing runs and no port is open yet. Throws as `check` does. */
export const createComponent = async <R>(
  component: Component<R>,
  parsed: Parsed<R>,
  connection: ComponentConnection,
  environment: ComponentEnvironment,
): Promise<RunnableComponent> => {
  const options = parsed.options as OptionsOf<R> & ComponentOptions;
  const {set} = parsed;
  const {naming} = connection;
  const {program} = component;
  const {clock, random, log, metrics, signal, freeze = false, checks = new HealthChecks(log)} = environment;
  const shared = {clock, random, log};
  const version = versionInfoOf(parsed);
  const gate = gateOf(parsed);
  const name = naming.component(component.role);
  const debugPages = new Map<string, DebugPages>();
  const lockClient = (part: string, timeoutMs?: number) => connection.lockClient(part, timeoutMs === undefined ? {} : {timeoutMs});
  const managerOf = ({lock, ...plan}: ManagerPlan & {readonly lock?: SecondLock}): Manager => {
    const coordination = {emulated: parsed.versions.emulated, coordinated: gate('CoordinatedLeaderElection')};
    const own = {program, options, set, signal, meter: metrics, client: lockClient, watchSeconds: connection.watchSeconds};
    const election = electionOf({...shared, ...own, ...coordination, ...(lock ? {second: lock} : {})});
    return new Manager({
      ...shared,
      ...plan,
      name,
      naming,
      options,
      checks,
      debugPages,
      freeze,
      meter: metrics,
      gates: {enabled: gate},
      release: parsed.versions.emulated,
      client: connection.client('shared-informers'),
      ...(connection.host === undefined ? {} : {host: connection.host}),
      ...(connection.authority === undefined ? {} : {serverAuthority: connection.authority}),
      ...(connection.watchSeconds === undefined ? {} : {watchSeconds: connection.watchSeconds}),
      ...(election ? {election} : {}),
    });
  };
  const plans = await component.plan({options, connection, clock, log});
  const manager = managerOf(plans.first);
  const second = plans.second && managerOf(plans.second);
  return {
    version,
    checks,
    manager,
    run: stopping => (second ? runWithLeaderMigration(manager, second, stopping) : manager.run(stopping)),
    async openPort() {
      if (options.securePort === 0 || (connection.opensPortOnlyOnRequest && !set.has('secure-port'))) return undefined;
      const {openPort} = await import('./port.js');
      const port = await openPort({
        ...shared,
        ...(await connection.reviewers(options)),
        program,
        options,
        component: name,
        version,
        flags: () => flagValues(component.flags, options),
        configuration: await component.configuration(options, naming),
        naming,
        checks,
        metrics,
        debugPages,
        verbosity: environment.verbosity,
        signal,
        gate,
      });
      log.info({address: port.address, port: port.port, component: name}, 'serving');
      return () => port.close();
    },
  };
};
