// The common composition of components that use an API server: managers with leader election, metrics, health, configz
// and a port of their own. A `Component` describes the differences; a `ComponentConnection` is the way to the server,
// in process or over HTTPS.

import type {Naming} from '#src/api/naming.js';
import type {VersionInfo} from '#src/api/version.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Random} from '#src/base/random.js';
import type {FlightRecorder} from '#src/observe/flight-recorder.js';
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
  /** Where reconciles and decisions are reported; undefined if they are not. */
  readonly recorder?: FlightRecorder | undefined;
  /** Whether cached objects are deeply frozen. */
  readonly freeze?: boolean;
  /** The controllers that run before the caches of the others are filled. */
  readonly first?: ManagerOptions['first'];
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

/** What the managers and the port of one component work with. */
interface Composition<R> {
  readonly component: Component<R>;
  readonly parsed: Parsed<R>;
  readonly connection: ComponentConnection;
  readonly environment: ComponentEnvironment;
  readonly checks: HealthChecks;
  readonly debugPages: Map<string, DebugPages>;
}

const optionsOf = <R>({options}: Parsed<R>) => options as OptionsOf<R> & ComponentOptions;

const electionIn = <R>({component, parsed, connection, environment}: Composition<R>, lock: SecondLock | undefined) => {
  const {clock, random, log, metrics, signal} = environment;
  return electionOf({
    clock,
    random,
    log,
    program: component.program,
    options: optionsOf(parsed),
    set: parsed.set,
    signal,
    meter: metrics,
    client: (part, timeoutMs) => connection.lockClient(part, timeoutMs === undefined ? {} : {timeoutMs}),
    watchSeconds: connection.watchSeconds,
    emulated: parsed.versions.emulated,
    coordinated: gateOf(parsed)('CoordinatedLeaderElection'),
    ...(lock ? {second: lock} : {}),
  });
};

const managerOf = <R>(composition: Composition<R>, {lock, ...plan}: ManagerPlan & {readonly lock?: SecondLock}): Manager => {
  const {component, parsed, connection, environment, checks, debugPages} = composition;
  const {clock, random, log, metrics, recorder, freeze = false, first} = environment;
  const {naming} = connection;
  const election = electionIn(composition, lock);
  return new Manager({
    recorder,
    clock,
    random,
    log,
    ...plan,
    name: naming.component(component.role),
    naming,
    options: optionsOf(parsed),
    checks,
    debugPages,
    freeze,
    first,
    meter: metrics,
    gates: {enabled: gateOf(parsed)},
    release: parsed.versions.emulated,
    client: connection.client('shared-informers'),
    ...(connection.host === undefined ? {} : {host: connection.host}),
    ...(connection.authority === undefined ? {} : {serverAuthority: connection.authority}),
    ...(connection.watchSeconds === undefined ? {} : {watchSeconds: connection.watchSeconds}),
    ...(election ? {election} : {}),
  });
};

/** Opens the port of a component, if its flags require one. Returns what closes it. */
const openPortOf = async <R>(composition: Composition<R>): Promise<(() => Promise<void>) | undefined> => {
  const {component, parsed, connection, environment, checks, debugPages} = composition;
  const {clock, random, log, metrics, verbosity, signal} = environment;
  const options = optionsOf(parsed);
  if (options.securePort === 0 || (connection.opensPortOnlyOnRequest && !parsed.set.has('secure-port'))) return undefined;
  const {openPort} = await import('./port.js');
  const name = connection.naming.component(component.role);
  const port = await openPort({
    clock,
    random,
    log,
    ...(await connection.reviewers(options)),
    program: component.program,
    options,
    component: name,
    version: versionInfoOf(parsed),
    flags: () => flagValues(component.flags, options),
    configuration: await component.configuration(options, connection.naming),
    naming: connection.naming,
    checks,
    metrics,
    debugPages,
    verbosity,
    signal,
    gate: gateOf(parsed),
  });
  log.info({address: port.address, port: port.port, component: name}, 'serving');
  return () => port.close();
};

/** Composes a component over a connection. Nothing runs and no port is open yet. Throws as `check` does. */
export const createComponent = async <R>(
  component: Component<R>,
  parsed: Parsed<R>,
  connection: ComponentConnection,
  environment: ComponentEnvironment,
): Promise<RunnableComponent> => {
  const {clock, log, checks = new HealthChecks(log)} = environment;
  const composition: Composition<R> = {component, parsed, connection, environment, checks, debugPages: new Map()};
  const plans = await component.plan({options: optionsOf(parsed), connection, clock, log});
  const manager = managerOf(composition, plans.first);
  const second = plans.second && managerOf(composition, plans.second);
  return {
    version: versionInfoOf(parsed),
    checks,
    manager,
    run: stopping => (second ? runWithLeaderMigration(manager, second, stopping) : manager.run(stopping)),
    openPort: () => openPortOf(composition),
  };
};
