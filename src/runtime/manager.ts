import {setMaxListeners} from 'node:events';
import {InformerFactory} from '#informers/factory.js';
import {ListRefused} from '#informers/refusal.js';
import {sleep} from '#src/base/clock.js';
import {jittered} from '#src/base/random.js';
import {firstOf} from '#src/base/signals.js';
import type {Client} from '#src/client/client.js';
import type {HealthAnswer, HealthChecks} from '#src/observe/health.js';
import {messageOf} from '#src/base/message.js';
import {build} from './build.js';
import {checkNames, requirementsOf} from './selection.js';
import type {ShutdownSignals} from './context.js';
import type {Controller, DebugPages} from './controller.js';
import {Elector, LeadLost, type ElectorOptions} from './leader-election/elector.js';
import {abortOf, allEnded, unlessAborted} from './shutdown.js';
import type {BuiltController, RuntimeEnvironment} from './environment.js';

export interface ManagerOptions extends Omit<RuntimeEnvironment, 'informers'> {
  /** The manager's name in metrics. */
  readonly name: string;
  /** The controllers chosen to run, built in this order. */
  readonly controllers: readonly Controller[];
  /** The manager's own client, which the informers share. */
  readonly client: Client;
  readonly checks: HealthChecks;
  /** Where the pages of the controllers that run are kept, by their names. */
  readonly debugPages?: Map<string, DebugPages>;
  /** Controllers begin up to twice this after each other's construction, each at its own random moment. */
  readonly startIntervalMs: number;
  /** How long a stop waits for controllers; 0: without limit. */
  readonly shutdownTimeoutMs: number;
  readonly minResyncMs: number;
  /** The least time the server is asked to keep a watch, where the informers' own will not do. */
  readonly watchSeconds?: number;
  /** The release of the server, where it is older than the controllers. */
  readonly release?: string;
  /** Whether cloud controllers have a provider to work with. */
  readonly hasCloudProvider?: boolean;
  /** Whether cached objects are deeply frozen, for tests. */
  readonly freeze?: boolean;
  /** Where given, controllers run only while this replica leads. */
  readonly election?: Pick<ElectorOptions, 'lock' | 'identity' | 'leaseDurationMs' | 'renewDeadlineMs' | 'retryPeriodMs' | 'releaseOnStop'> & {
    /** What its health check is called; `leaderElection` unless given. */
    readonly check?: string;
  };
}

/** How a manager's run ended: as asked, because another replica took the lead, or with controllers that did not end in time. */
export type RunOutcome = 'stopped' | 'lost' | 'stuck';

/** How long the API server may take to answer at the start. */
const serverTimeoutMs = 10_000;
/** A long-running controller that failed is run again after this. */
const restartMs = 1_000;
/** How long a stop without time limit waits before it cancels calls that hang. */
const unlimitedGraceMs = 5_000;

/**
 * Runs controllers. Start, in this order: the lead, if there is an election; the server answers; all chosen controllers are built;
 * informers start; each controller runs once its caches are synced. A stop goes backwards: controllers take no more work, what they have in
 * work is finished, calls that hang are cancelled at half of the time, informers stop last.
 */
export class Manager {
  /** Resolves once every chosen controller is at work, all its caches synced. Rejects if the run ends before. */
  readonly started: Promise<void>;
  /** As `atWork`, but rejects with `ListRefused` too, as soon as the server keeps refusing a list that a controller needs. The run goes on then. */
  readonly ready: Promise<void>;
  readonly #options: ManagerOptions;
  readonly #elector: Elector | undefined;
  #resolveStarted: () => void = () => {};
  #rejectStarted: (why: unknown) => void = () => {};
  #rejectReady: (why: ListRefused) => void = () => {};

  constructor(options: ManagerOptions) {
    checkNames(options.controllers);
    this.#options = options;
    this.started = new Promise((resolve, reject) => {
      this.#resolveStarted = resolve;
      this.#rejectStarted = reject;
    });
    this.ready = new Promise((resolve, reject) => {
      this.#rejectReady = reject;
      this.started.then(resolve, reject);
    });
    this.ready.catch(() => {}); // Whoever waits for it hears of it; nobody has to.
    if (!options.election) return;
    this.#elector = new Elector({...options, ...options.election});
  }

  /** How the manager is, as its health endpoint tells. */
  health(): Promise<HealthAnswer> {
    return this.#options.checks.all('healthz');
  }

  get isLeader(): boolean {
    return this.#elector?.isLeader ?? true;
  }

  /** Runs until the signal aborts or the lead is lost, and keeps the process running so long. Rejects when a controller cannot be built or the server does not answer. */
  async run(signal: AbortSignal): Promise<RunOutcome> {
    using _alive = this.#options.clock.keepAlive();
    try {
      if (!this.#elector) return await this.#runControllers(signal);
      const elector = this.#elector;
      using _ = this.#options.checks.add(this.#options.election?.check ?? 'leaderElection', () => elector.check());
      let outcome: RunOutcome = 'stopped';
      const election = await elector.run(signal, async leading => {
        outcome = await this.#runControllers(leading);
      });
      return election === 'lost' ? 'lost' : outcome;
    } finally {
      this.#rejectStarted(new Error('the controllers were stopped before they were ready'));
    }
  }

  async #runControllers(signal: AbortSignal): Promise<RunOutcome> {
    const stopping = new AbortController();
    const calls = new AbortController();
    setMaxListeners(0, stopping.signal, calls.signal); // Every informer and every call in work listens.
    const shutdown: ShutdownSignals = {stopping: stopping.signal, calls: calls.signal};
    const checks: Disposable[] = [];
    const running = new Map<string, Promise<void>>();
    try {
      await this.#waitForServer(signal);
      const informers = new InformerFactory({...this.#options, component: this.#options.name, signal: calls.signal});
      const controllers = await this.#buildAll({...this.#options, informers}, shutdown, signal);
      checks.push(...controllers.map(({name, check}) => this.#options.checks.add(name, check)));
      for (const {name, debugPages} of controllers) if (debugPages) this.#options.debugPages?.set(name, debugPages);
      informers.start();
      const synced = controllers.map(controller => this.#synced(controller, stopping.signal));
      for (const [index, controller] of controllers.entries()) running.set(controller.name, this.#runOne(controller, synced[index]!, stopping.signal));
      Promise.all(synced).then(this.#resolveStarted, () => {});
      await abortOf(signal);
      return await this.#stop(running, stopping, calls, signal.reason instanceof LeadLost);
    } catch (error) {
      if (signal.aborted) return 'stopped';
      throw error;
    } finally {
      stopping.abort();
      calls.abort();
      for (const check of checks) check[Symbol.dispose]();
      this.#options.debugPages?.clear();
    }
  }

  async #waitForServer(signal: AbortSignal): Promise<void> {
    const {client, clock} = this.#options;
    const timeout = new AbortController();
    using _ = clock.schedule(serverTimeoutMs, () => timeout.abort(new Error('it did not answer')));
    using linked = firstOf(signal, timeout.signal);
    const either = linked.signal;
    let failure: unknown;
    while (!either.aborted) {
      try {
        await client.request('GET', '/healthz', {signal: either});
        return;
      } catch (error) {
        failure ??= error;
        if (!either.aborted) failure = error;
      }
      await sleep(clock, 1000, either).catch(() => {});
    }
    signal.throwIfAborted();
    throw new Error('failed to wait for the API server to be healthy', {cause: failure});
  }

  async #buildAll(environment: RuntimeEnvironment, shutdown: ShutdownSignals, signal: AbortSignal): Promise<BuiltController[]> {
    const built: BuiltController[] = [];
    for (const controller of this.#options.controllers) {
      signal.throwIfAborted();
      const {name} = controller;
      const disabled = this.#disabledReason(controller);
      if (disabled !== undefined) {
        this.#options.log.v(1).info({controller: name, reason: disabled}, 'controller is not started');
        continue;
      }
      try {
        built.push(await unlessAborted(build(controller, environment, shutdown), signal));
      } catch (error) {
        signal.throwIfAborted();
        throw new Error(`controller ${name} could not be started: ${messageOf(error)}`, {cause: error});
      }
      this.#options.log.v(1).info({controller: name}, 'controller is built');
    }
    return built;
  }

  #disabledReason(controller: Controller): string | undefined {
    const {gates, options, naming, hasCloudProvider = false} = this.#options;
    const needs = requirementsOf(controller.name);
    const missing = needs.gates.find(gate => !gates.enabled(gate));
    if (missing) return `feature gate ${missing} is off`;
    if (needs.cloud && !hasCloudProvider) return 'there is no cloud provider';
    const enabled = controller.enabled?.(options, {gates, naming}) ?? true;
    return enabled === true ? undefined : enabled;
  }

  /** Resolves once a controller's caches are synced, however long the server refuses. */
  async #synced({name, whenSynced}: BuiltController, signal: AbortSignal): Promise<void> {
    for (let times = 0; ; times++) {
      try {
        return await whenSynced(signal);
      } catch (error) {
        if (!(error instanceof ListRefused)) throw error;
        this.#rejectReady(error);
        if (times === 0) this.#options.log.error({controller: name, err: error}, 'controller waits for what the server refuses');
      }
    }
  }

  /** Runs one controller after its caches are synced and its moment has come. Never rejects. */
  async #runOne(controller: BuiltController, synced: Promise<void>, signal: AbortSignal): Promise<void> {
    const {clock, random, startIntervalMs, meter, log} = this.#options;
    const {name} = controller;
    const gauge = meter.gauge({name: 'running_managed_controllers', help: 'Indicates where instances of a controller are currently running', labels: ['manager', 'name']});
    const labels = {manager: this.#options.name, name};
    try {
      if (startIntervalMs > 0) await sleep(clock, jittered(random, startIntervalMs, 1), signal);
      await synced;
    } catch {
      return; // Stopped before it began.
    }
    gauge.set(1, labels);
    while (!signal.aborted) {
      try {
        log.v(1).info({controller: name}, 'controller starts');
        await controller.run(signal);
        break;
      } catch (error) {
        if (signal.aborted) break;
        log.error({controller: name, err: error}, 'controller failed and is run again');
        await sleep(clock, restartMs, signal).catch(() => {});
      }
    }
    gauge.set(0, labels);
    log.v(1).info({controller: name}, 'controller has ended');
  }

  async #stop(running: ReadonlyMap<string, Promise<void>>, stopping: AbortController, calls: AbortController, isLeadLost: boolean): Promise<RunOutcome> {
    const {clock, log, shutdownTimeoutMs: timeoutMs} = this.#options;
    stopping.abort(new Error('the controller manager stops'));
    // Whoever lost the lead must not write any more.
    if (isLeadLost) calls.abort(new LeadLost());
    const cancel = clock.schedule(timeoutMs > 0 ? timeoutMs / 2 : unlimitedGraceMs, () => calls.abort(new Error('the controller manager stops')));
    const ended = await allEnded(running, {clock, log, timeoutMs});
    cancel[Symbol.dispose]();
    if (!ended) log.error({timeoutMs}, 'controllers did not end in time');
    return ended ? 'stopped' : 'stuck';
  }
}
