import {hostname} from 'node:os';
import type {Naming} from '#src/api/naming.js';
import type {Clock} from '#src/base/clock.js';
import {systemFiles} from '#src/base/files.js';
import {systemRandom as random} from '#src/base/random.js';
import {Undo} from '#src/base/undo.js';
import {HealthChecks} from '#src/observe/health.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {controllerManagerFlags, type ControllerManagerOptions} from '#src/options/controller-manager.js';
import {flagValues} from '#src/options/flag-values.js';
import {OptionError} from '#src/options/option-error.js';
import {gateOf} from '#src/options/parsed.js';
import {electionOf, placeOfLock} from '#src/plane/component/election.js';
import {addBuildMetrics} from '#src/plane/component/metrics.js';
import {openPort} from '#src/plane/component/port.js';
import {configuration} from '#src/plane/controller-manager/configuration.js';
import type {Migration} from '#src/plane/controller-manager/migration.js';
import {selectControllers} from '#src/runtime/selection.js';
import type {Controller} from '#src/runtime/controller.js';
import {Manager, type ManagerOptions} from '#src/runtime/manager.js';
import {runWithLeaderMigration} from '#src/runtime/leader-migration.js';
import type {Invocation} from '#src/cli/program.js';
import {openConnection, type ServerConnection} from '#src/cli/connection.js';
import {ownManagerOf} from './doubled.js';

type Given = Invocation<(typeof controllerManagerFlags)['rows']>;

const program = 'plat-controller-manager';

/** `plat-controller-manager`: runs the chosen controllers, while it leads, until it is asked to stop. The answer is its exit code. */
export const runControllerManager = async ({parsed, log, clock, unhandled, version, verbosity, stopping, ready}: Given): Promise<number> => {
  const {options, set} = parsed;
  const {controllers} = await import('#controllers/index.js');
  const {selected, missing} = selectControllers(controllers, options.controllers);
  if (missing.length > 0) log.v(1).info({controllers: missing.join(',')}, 'controllers that are not part of this build are passed over');
  log.info({version: version.gitVersion}, 'starting');
  for (const flag of set) log.v(1).info({flag}, 'flag is set');

  await using undo = new Undo();
  const metrics = new MetricsRegistry({process: true, disabled: options.disabledMetrics});
  unhandled.countIn(metrics);
  const gate = gateOf(parsed);
  const connection = await openConnection({program, options, version, clock, meter: metrics, log, env: process.env, signal: stopping, gate});
  undo.defer(() => connection[Symbol.asyncDispose]());
  addBuildMetrics(metrics, parsed, connection.naming);
  const ending = new AbortController();
  undo.defer(() => ending.abort());
  const checks = new HealthChecks(log);
  const debugPages: NonNullable<ManagerOptions['debugPages']> = new Map();
  const shared = {options, connection, clock, random, log, gate, signal: ending.signal};
  const migration = options.enableLeaderMigration && options.leaderElect ? await migrationIn(options, connection.naming) : undefined;
  const under = (place: ReturnType<Migration['placeOf']>) => selected.filter(({name}) => (migration ? placeOf(migration, name) : 'own') === place);
  const parts = {...shared, checks, metrics, debugPages, set, release: parsed.versions.emulated};
  const manager = new Manager(managerOptions({...parts, chosen: under('own')}));
  const second = migration && new Manager(managerOptions({...parts, chosen: under('migrated'), second: {name: migration.leaderName, check: migrationCheck}}));
  if (options.securePort !== 0) {
    const delegate = (file: string, flag: string) => (file ? connection.delegate(file, flag) : undefined);
    const port = await openPort({
      ...shared,
      program,
      component: connection.naming.component('controller-manager'),
      version,
      flags: () => flagValues(controllerManagerFlags, options),
      configuration: () => configuration(options, connection.naming),
      checks,
      metrics,
      debugPages,
      verbosity,
      naming: connection.naming,
      authentication: await delegate(options.authenticationKubeconfig, '--authentication-kubeconfig'),
      authorization: await delegate(options.authorizationKubeconfig, '--authorization-kubeconfig'),
    });
    undo.defer(() => port.close());
    log.info({address: port.address, port: port.port}, 'serving');
  }
  manager.ready.then(
    () => ready(`${checks.names.filter(name => name !== 'leaderElection' && name !== migrationCheck).length} controllers at work against ${connection.server} (${connection.naming.name} naming)`),
    () => {},
  );
  await warnOfDoubles({...shared, chosen: selected, set});
  const end = await (second ? runWithLeaderMigration(manager, second, stopping) : manager.run(stopping));
  if (end === 'lost') log.error('the lead was lost');
  return end === 'stopped' ? 0 : 1;
};

interface Parts {
  readonly options: ControllerManagerOptions;
  readonly connection: ServerConnection;
  readonly checks: HealthChecks;
  readonly debugPages: NonNullable<ManagerOptions['debugPages']>;
  readonly metrics: MetricsRegistry;
  readonly clock: Clock;
  readonly log: Given['log'];
  readonly chosen: readonly Controller[];
  readonly set: ReadonlySet<string>;
  /** Given where these controllers run under a lock of their own. */
  readonly second?: {readonly name: string; readonly check: string};
  readonly signal: AbortSignal;
  /** The release that is emulated. */
  readonly release: string;
  gate(name: string): boolean;
}

const managerOptions = (parts: Parts): ManagerOptions => {
  const {options, connection, checks, debugPages, metrics, clock, log, chosen, gate, release} = parts;
  const client = (part: string, timeoutMs?: number) => connection.client(part, timeoutMs === undefined ? {} : {timeoutMs});
  const election = electionOf({...parts, program, client, random});
  return {
    name: program,
    options,
    naming: connection.naming,
    clock,
    random,
    log,
    meter: metrics,
    gates: {enabled: gate},
    release,
    checks,
    debugPages,
    controllers: chosen,
    client: connection.client('shared-informers'),
    clientFor: ({controller, serviceAccount, qpsFactor, burstFactor}) => {
      const allowance = {qpsFactor, burstFactor};
      return options.useServiceAccountCredentials && serviceAccount ? connection.accountClient(serviceAccount, controller, allowance) : connection.client(controller, allowance);
    },
    host: hostname(),
    serverAuthority: connection.authority,
    startIntervalMs: options.controllerStartInterval,
    shutdownTimeoutMs: options.controllerShutdownTimeout,
    minResyncMs: options.minResyncPeriod,
    ...(election ? {election} : {}),
  };
};

const migrationCheck = 'leaderElection-migration';

/** What is made first and for all stays with the manager, whatever a file says. */
const alwaysOwn = 'serviceaccount-token-controller';
const placeOf = (migration: Migration, name: string) => (name === alwaysOwn ? 'own' : migration.placeOf(name));

const migrationIn = async ({leaderMigrationConfig: path}: ControllerManagerOptions, naming: Naming): Promise<Migration> => {
  const {migrationOf} = await import('#src/plane/controller-manager/migration.js');
  try {
    const content = path ? await systemFiles.read(path) : undefined;
    if (path && content === undefined) throw new Error('there is no such file');
    return migrationOf(content?.toString(), naming, program);
  } catch (error) {
    throw new OptionError(`--leader-migration-config: ${path}: ${(error as Error).message}`, {cause: error});
  }
};

/** Tells of each controller that a manager of the cluster's own runs already, under another lock than ours. Nothing is tried to find out more. */
const warnOfDoubles = async ({clock, log, ...parts}: Pick<Parts, 'options' | 'connection' | 'set' | 'chosen' | 'clock' | 'log'>): Promise<void> => {
  try {
    const holder = await ownManagerOf(parts.connection.client('doubled', {timeoutMs: 5000}), clock, parts.options.leaderElect ? placeOfLock(parts.options, parts.set, parts.connection.naming.systemNamespace) : undefined);
    if (holder === undefined) return;
    for (const {name} of parts.chosen) log.warn({controller: name, manager: holder}, 'the cluster has a manager of its own that runs this controller too');
  } catch (error) {
    log.v(1).info({err: error}, 'whether the cluster has a manager of its own is unknown');
  }
};
