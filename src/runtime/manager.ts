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
import type {Candidate} from './lease-candidate.js';
import {Elector, LeadLost, type ElectorOptions} from './leader-election/elector.js';
import {abortOf, allEnded, unlessAborted} from './shutdown.js';
import type {BuiltController, RuntimeEnvironment} from './environment.js';

export interface ManagerOptions extends Omit<RuntimeEnvironment, 'informers'> {
  /** The manager's name in metrics. */
  readonly name: string;
  /** The selected controllers, built in this order. */
  readonly controllers: readonly Controller[];
  /** The manager's own client, shared by the informers. */
  readonly client: Client;
  readonly checks: HealthChecks;
  /** Receives the debug pages of running controllers, by name. */
  readonly debugPages?: Map<string, DebugPages>;
  /** Controllers start at random moments within twice this interval. */
  readonly startIntervalMs: number;
  /** How long a stop waits for controllers; 0 for no limit. */
  readonly shutdownTimeoutMs: number;
  readonly minResyncMs: number;
  /** The minimum watch timeout to request, where the informers' default is unsuitable. */
  readonly watchSeconds?: number;
  /** The release of the server, if it is older than the controllers. */
  readonly release?: string;
  /** Whether cached objects are deeply frozen, for tests. */
  readonly freeze?: boolean;
  /** If set, controllers run only while this replica leads. */
  readonly election?: Pick<
    ElectorOptions,
    'lock' | 'identity' | 'leaseDurationMs' | 'renewDeadlineMs' | 'retryPeriodMs' | 'releaseOnStop'
  > & {
    /** The replica's candidacy, if the API server elects among candidates. */
    readonly candidate?: Candidate;
    /** The name of the health check. Default `leaderElection`. */
    readonly check?: string;
  };
}

/** How a manager's run ended: stopped as requested, leadership lost, or with controllers that did not stop in time. */
export type RunOutcome = 'stopped' | 'lost' | 'stuck';

/** How long to wait for the API server at the start. */
const serverTimeoutMs = 10_000;
/** The delay before a long-running controller that failed is started again. */
const restartMs = 1_000;
/** How long a stop without time limit waits before it cancels pending calls. */
const unlimitedGraceMs = 5_000;

/**
 * Runs controllers. Start order: leader election, if configured; the server responds; all selected controllers are built; informers start; each controller
 * runs once its caches are synced. A stop is the reverse: controllers take no more work and finish what they have, pending calls are cancelled at half of the timeout,
 * informers stop last.
 */
export class Manager {
  /** Resolves once every selected controller runs, with all its caches synced. Rejects if the run ends before. */
  readonly started: Promise<void>;
  /** As `started`, but also rejects with `ListRefused` when the server keeps refusing a list that a controller needs. The run continues in that case. */
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
    this.ready.catch(() => {}); // Handled by callers that await it; awaiting is optional.
    if (!options.election) return;
    this.#elector = new Elector({...options, ...options.election, coordinated: options.election.candidate !== undefined});
  }

  /** Returns the manager's health, as its health endpoint does. */
  health(): Promise<HealthAnswer> {
    return this.#options.checks.all('healthz');
  }

  get isLeader(): boolean {
    return this.#elector?.isLeader ?? true;
  }

  /**
   * Runs until the signal aborts or leadership is lost, and keeps the process alive meanwhile. Rejects when a controller cannot be built or
   * the server does not respond.
   */
  async run(signal: AbortSignal): Promise<RunOutcome> {
    using _alive = this.#options.clock.keepAlive();
    try {
      if (!this.#elector) return await this.#runControllers(signal);
      const elector = this.#elector;
      using _ = this.#options.checks.add(this.#options.election?.check ?? 'leaderElection', () => elector.check());
      await using _candidacy = this.#stand(signal);
      let outcome: RunOutcome = 'stopped';
      const election = await elector.run(signal, async leading => {
        outcome = await this.#runControllers(leading);
        return outcome === 'stuck' ? 'unfinished' : undefined;
      });
      return election === 'lost' ? 'lost' : outcome;
    } finally {
      this.#rejectStarted(new Error('the controllers were stopped before they were ready'));
    }
  }

  /** Stands as a candidate, if leaders are elected among candidates, until the returned handle is disposed of. */
  #stand(signal: AbortSignal): AsyncDisposable {
    const {checks, election, log} = this.#options;
    const {candidate, identity = ''} = election ?? {};
    if (!candidate) return {async [Symbol.asyncDispose]() {}};
    const check = checks.add('informer-sync', () => candidate.check());
    const ending = new AbortController();
    const either = firstOf(signal, ending.signal);
    const run = candidate.run(identity, either.signal).catch((error: unknown) => {
      if (!either.signal.aborted) log.error({err: error}, 'the candidacy for the lease ended');
    });
    return {
      async [Symbol.asyncDispose]() {
        ending.abort();
        await run;
        either[Symbol.dispose]();
        check[Symbol.dispose]();
      },
    };
  }

  async #runControllers(signal: AbortSignal): Promise<RunOutcome> {
    const stopping = new AbortController();
    const calls = new AbortController();
    setMaxListeners(0, stopping.signal, calls.signal); // Every informer and every pending call adds a listener.
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
      for (const [index, controller] of controllers.entries())
        running.set(controller.name, this.#runOne(controller, synced[index]!, stopping.signal));
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
    const {gates, options, naming, cloud} = this.#options;
    const needs = requirementsOf(controller.name);
    const missing = needs.gates.find(gate => !gates.enabled(gate));
    if (missing) return `feature gate ${missing} is off`;
    if (needs.cloud && (!cloud || cloud.isExternal)) return 'there is no cloud provider';
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

  /** Runs one controller after its caches are synced and its start delay has passed. Never rejects. */
  async #runOne(controller: BuiltController, synced: Promise<void>, signal: AbortSignal): Promise<void> {
    const {clock, random, startIntervalMs, meter, log} = this.#options;
    const {name} = controller;
    const gauge = meter.gauge({
      name: 'running_managed_controllers',
      help: 'Indicates where instances of a controller are currently running',
      labels: ['manager', 'name'],
    });
    const labels = {manager: this.#options.name, name};
    try {
      if (startIntervalMs > 0) await sleep(clock, jittered(random, startIntervalMs, 1), signal);
      await synced;
    } catch {
      return; // Stopped before it started.
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

  async #stop(
    running: ReadonlyMap<string, Promise<void>>,
    stopping: AbortController,
    calls: AbortController,
    isLeadLost: boolean,
  ): Promise<RunOutcome> {
    const {clock, log, shutdownTimeoutMs: timeoutMs} = this.#options;
    stopping.abort(new Error('the controller manager stops'));
    // After losing leadership nothing more may be written.
    if (isLeadLost) calls.abort(new LeadLost());
    const cancel = clock.schedule(timeoutMs > 0 ? timeoutMs / 2 : unlimitedGraceMs, () =>
      calls.abort(new Error('the controller manager stops')),
    );
    const ended = await allEnded(running, {clock, log, timeoutMs});
    cancel[Symbol.dispose]();
    if (!ended) log.error({timeoutMs}, 'controllers did not end in time');
    return ended ? 'stopped' : 'stuck';
  }
}
