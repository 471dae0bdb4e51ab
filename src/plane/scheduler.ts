import {readFileSync} from 'node:fs';
import {parse} from 'yaml';
import type {ApiHandler} from '#src/api/request.js';
import type {Naming} from '#src/api/naming.js';
import type {VersionInfo} from '#src/api/version.js';
import {wellKnown, type UserInfo} from '#src/api/user.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Random} from '#src/base/random.js';
import type {Client} from '#src/client/client.js';
import {HealthChecks} from '#src/observe/health.js';
import type {MetricsRegistry} from '#src/observe/metrics.js';
import type {SchedulerOptions} from '#src/options/scheduler.js';
import {Manager, type ManagerOptions} from '#src/runtime/manager.js';
import {schedulerController} from '#src/scheduler/controller.js';
import {defaultSettings, type Settings} from '#src/scheduler/settings.js';
import {componentClients} from './component/clients.js';
import {electionOf} from './component/election.js';
import {watchSecondsInProcess} from './watch-seconds.js';
import {settingsOf} from '#src/scheduler/configuration/settings.js';

const program = 'plat-scheduler';

/** What a scheduler is told by its flags, and by the file one of them names. Throws one line that names flag and file. */
export const schedulerSettings = ({config, podMaxInUnschedulablePodsDuration}: Pick<SchedulerOptions, 'config' | 'podMaxInUnschedulablePodsDuration'>): Settings => {
  const patient = {patienceMs: podMaxInUnschedulablePodsDuration};
  if (!config) return {...defaultSettings, ...patient};
  try {
    return {...settingsOf(parse(readFileSync(config, 'utf8')) as unknown), ...patient};
  } catch (cause) {
    throw new Error(`--config ${config}: ${(cause as Error).message}`, {cause});
  }
};

/** The configuration in effect, as `/configz` shows it. */
export const schedulerConfiguration = (options: SchedulerOptions, naming: Naming): Readonly<Record<string, unknown>> => ({
  [`${naming.prefix}scheduler.${naming.group('config')}`]: {
    ClientConnection: {Kubeconfig: options.platconfig, ContentType: options.platApiContentType, QPS: options.platApiQps, Burst: options.platApiBurst},
    LeaderElection: {LeaderElect: options.leaderElect, ResourceName: options.leaderElectResourceName, ResourceNamespace: options.leaderElectResourceNamespace},
    Profiles: [...schedulerSettings(options).profiles].map(([name, {percentage, filters, scores}]) => ({
      SchedulerName: name,
      PercentageOfNodesToScore: percentage,
      Plugins: {Filter: filters.map(({plugin}) => plugin), Score: scores.map(({plugin, weight}) => ({Name: plugin, Weight: weight}))},
    })),
  },
});

export interface SchedulerManagerParts extends Pick<ManagerOptions, 'clock' | 'random' | 'log' | 'naming' | 'gates' | 'checks'> {
  readonly options: SchedulerOptions;
  readonly metrics: MetricsRegistry;
  readonly client: (part: string) => Client;
  readonly election: ManagerOptions['election'];
  readonly host?: string;
  readonly freeze?: boolean;
  /** The release that is emulated. */
  readonly release: string;
}

/** The manager that runs a scheduler, alone or beside its API server. */
export const schedulerManager = ({options, metrics, client, election, ...shared}: SchedulerManagerParts): Manager =>
  new Manager({
    ...shared,
    meter: metrics,
    name: program,
    controllers: [schedulerController(schedulerSettings(options))],
    options,
    client: client('shared-informers'),
    clientFor: () => client('scheduler'),
    startIntervalMs: 0,
    shutdownTimeoutMs: 10_000,
    minResyncMs: 0,
    watchSeconds: watchSecondsInProcess,
    ...(election ? {election} : {}),
  });

export interface InProcessScheduler {
  readonly options: SchedulerOptions;
  /** Flags given explicitly. */
  readonly set: ReadonlySet<string>;
  readonly naming: Naming;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: MetricsRegistry;
  readonly version: VersionInfo;
  flags(): Readonly<Record<string, string>>;
  gate(name: string): boolean;
  readonly release: string;
  readonly handler: ApiHandler;
  readonly freeze: boolean;
  readonly signal: AbortSignal;
}

/**
 * A scheduler beside its API server, under its own user. There are no client limits, no election and no port of its own unless the flags for them
 * are given.
 */
export const inProcessScheduler = (parts: InProcessScheduler): {readonly manager: Manager; openPort(): Promise<(() => Promise<void>) | undefined>} => {
  const {options, set, naming, clock, random, log, metrics, gate, freeze} = parts;
  const agent = naming.component('scheduler');
  const user: UserInfo = {name: naming.componentUser('scheduler'), groups: [wellKnown.authenticated]};
  const clientAs = componentClients(parts);
  const client = (part: string) => clientAs(user, `${agent}/${part}`);
  // The lock has a name of its own, which the role of the scheduler's user does not know in every naming: the process vouches for it.
  const election = electionOf({...parts, program, client: part => clientAs({...user, groups: [wellKnown.masters, wellKnown.authenticated]}, `${agent}/${part}`)});
  const checks = new HealthChecks(log);
  return {
    manager: schedulerManager({options, metrics, client, election, naming, clock, random, log, checks, freeze, gates: {enabled: gate}, release: parts.release}),
    async openPort() {
      if (!set.has('secure-port') || options.securePort === 0) return undefined;
      const {openPort} = await import('./component/port.js');
      const reviewer = client('delegated-review');
      const configuration = () => schedulerConfiguration(options, naming);
      const port = await openPort({...parts, program, component: agent, configuration, checks, metrics, debugPages: new Map(), verbosity: undefined, authentication: reviewer, authorization: reviewer});
      log.info({address: port.address, port: port.port}, 'the scheduler serves');
      return () => port.close();
    },
  };
};
