import type {ApiHandler} from '#src/api/request.js';
import type {Naming} from '#src/api/naming.js';
import type {VersionInfo} from '#src/api/version.js';
import {serviceAccountUser, wellKnown, type UserInfo} from '#src/api/user.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Random} from '#src/base/random.js';
import {HealthChecks} from '#src/observe/health.js';
import type {MetricsRegistry} from '#src/observe/metrics.js';
import type {ControllerManagerOptions} from '#src/options/controller-manager.js';
import type {Controller, DebugPages} from '#src/runtime/controller.js';
import {selectControllers} from '#src/runtime/selection.js';
import {Manager} from '#src/runtime/manager.js';
import {componentClients} from './component/clients.js';
import {electionOf} from './component/election.js';
import {watchSecondsInProcess} from './watch-seconds.js';

export interface InProcessControllers {
  readonly options: ControllerManagerOptions;
  /** Flags given explicitly. */
  readonly set: ReadonlySet<string>;
  readonly controllers: readonly Controller[];
  readonly naming: Naming;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: MetricsRegistry;
  readonly version: VersionInfo;
  flags(): Readonly<Record<string, string>>;
  gate(name: string): boolean;
  /** The release that is emulated. */
  readonly release: string;
  readonly handler: ApiHandler;
  readonly freeze: boolean;
  readonly signal: AbortSignal;
}

/** A controller manager beside its API server. */
export interface InProcessManager {
  readonly manager: Manager;
  /** Whether the controller of that name was chosen. */
  runs(controller: string): boolean;
  /** Opens the manager's own port where it was asked for; the answer closes it. */
  openPort(): Promise<(() => Promise<void>) | undefined>;
}

const program = 'plat-controller-manager';

/** The manager's own user. */
const managerUser = (naming: Naming): UserInfo => ({name: naming.componentUser('controller-manager'), groups: [wellKnown.authenticated]});

/**
 * A controller manager beside its API server: each controller acts as its own service account, without a token. There are no client limits, no
 * election and no port of its own unless the flags for them are given.
 */
export const inProcessManager = (parts: InProcessControllers): InProcessManager => {
  const {options, set, controllers, naming, gate, metrics, ...shared} = parts;
  const agent = naming.component('controller-manager');
  const {selected, missing} = selectControllers(controllers, options.controllers);
  if (missing.length > 0) shared.log.v(1).info({controllers: missing.join(',')}, 'controllers that are not part of this build are passed over');
  const checks = new HealthChecks(shared.log);
  const debugPages = new Map<string, DebugPages>();
  const clientAs = componentClients(parts);
  const own = (part: string) => clientAs(managerUser(naming), `${agent}/${part}`);
  // The lock has a name of its own, which the role of the manager's user does not know in every naming: the process vouches for it.
  const elector = () => clientAs({...managerUser(naming), groups: [wellKnown.masters, wellKnown.authenticated]}, `${agent}/leader-election`);
  const election = electionOf({...parts, program, client: elector});
  const manager = new Manager({
    ...shared,
    meter: metrics,
    naming,
    name: agent,
    controllers: selected,
    options,
    gates: {enabled: gate},
    release: parts.release,
    client: own('shared-informers'),
    clientFor: ({controller, serviceAccount, ...factors}) => {
      const user = options.useServiceAccountCredentials && serviceAccount ? serviceAccountUser(naming.systemNamespace, serviceAccount) : managerUser(naming);
      return clientAs(user, `${agent}/${controller}`, factors);
    },
    checks,
    debugPages,
    startIntervalMs: options.controllerStartInterval,
    shutdownTimeoutMs: options.controllerShutdownTimeout,
    minResyncMs: options.minResyncPeriod,
    watchSeconds: watchSecondsInProcess,
    ...(election ? {election} : {}),
  });
  return {
    manager,
    runs: controller => selected.some(({name}) => name === controller),
    async openPort() {
      if (!set.has('secure-port') || options.securePort === 0) return undefined;
      const [{openPort}, {configuration}] = await Promise.all([import('./component/port.js'), import('./controller-manager/configuration.js')]);
      const reviewer = own('delegated-review');
      const port = await openPort({...parts, program, component: agent, configuration: () => configuration(options, naming), checks, metrics, debugPages, verbosity: undefined, authentication: reviewer, authorization: reviewer});
      shared.log.info({address: port.address, port: port.port}, 'the controller manager serves');
      return () => port.close();
    },
  };
};
