import type {ListRefused} from '#informers/refusal.js';
import {sleep} from '#src/base/clock.js';
import {aborted, firstOf} from '#src/base/signals.js';
import type {HealthAnswer} from '#src/observe/health.js';
import {LiveControllers, type LiveControllersOptions} from './live-controllers.js';
import {checkNames} from './selection.js';
import type {Controller} from './controller.js';
import type {Candidate} from './lease-candidate.js';
import {Elector, LeadLost, type ElectorOptions} from './leader-election/elector.js';
import {abortOf, Ending} from './shutdown.js';

export interface ManagerOptions extends LiveControllersOptions {
  /** The selected controllers, built in this order. */
  readonly controllers: readonly Controller[];
  /** If set, controllers run only while this replica leads. */
  readonly election?: Pick<
    ElectorOptions,
    'lock' | 'identity' | 'leaseDurationMs' | 'renewDeadlineMs' | 'retryPeriodMs' | 'releaseOnStop'
  > & {
    /** The replica's candidacy, if the API server elects among candidates. */
    readonly candidate?: Candidate;
    /** The name of the health check. Default `leaderElection`. */
    readonly check?: string;
    /** Whether the caches of the controllers are filled before this replica leads. */
    readonly warmup?: boolean;
  };
}

/** How a manager's run ended: stopped as requested, leadership lost, or with controllers that did not stop in time. */
export type RunOutcome = 'stopped' | 'lost' | 'stuck';

/** How long to wait for the API server at the start. */
const serverTimeoutMs = 10_000;

const isEverywhere = (controller: Controller): boolean => controller.shape === 'running' && controller.isEverywhere === true;

/**
 * Runs controllers. Start order: those of every replica; leader election, if configured; the server responds; all
 * selected controllers are built; informers start, those of controllers that go first before the others; each
 * controller runs once its caches are synced. A stop is the reverse: controllers take no more work and finish what they
 * have, pending calls are cancelled at half of the timeout, informers stop, the lead is given up, and those of every
 * replica end last.
 */
export class Manager {
  /** Resolves once every selected controller runs, with all its caches synced. Rejects if the run ends before. */
  readonly started: Promise<void>;
  /**
   * As `started`, but also rejects with `ListRefused` when the server keeps refusing a list that a controller needs.
   * The run continues in that case.
   */
  readonly ready: Promise<void>;
  /** Resolves once the controllers that go first run, whether or not the others do. */
  readonly firstRunning: Promise<void>;
  readonly #options: ManagerOptions;
  readonly #elector: Elector | undefined;
  #controllers: Controller[];
  /** The controllers of every replica, while they run. */
  #everywhere: LiveControllers | undefined;
  /** The others, while their caches wait for the lead. */
  #warming: LiveControllers | undefined;
  /** The others, while they run. */
  #leading: LiveControllers | undefined;
  #resolveFirst: () => void = () => {};
  #resolveStarted: () => void = () => {};
  #rejectStarted: (why: unknown) => void = () => {};
  #rejectReady: (why: ListRefused) => void = () => {};

  constructor(options: ManagerOptions) {
    checkNames(options.controllers);
    this.#options = options;
    this.#controllers = [...options.controllers];
    this.started = new Promise((resolve, reject) => {
      this.#resolveStarted = resolve;
      this.#rejectStarted = reject;
    });
    this.firstRunning = new Promise(resolve => (this.#resolveFirst = resolve));
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
   * Runs until the signal aborts or leadership is lost, and keeps the process alive meanwhile. Rejects when a
   * controller cannot be built, an essential one fails, or the server does not respond.
   */
  async run(signal: AbortSignal): Promise<RunOutcome> {
    using _alive = this.#options.clock.keepAlive();
    const ending = new Ending(this.#options.clock, signal);
    using _following = ending;
    const events = {
      refused: this.#rejectReady,
      failed: (error: unknown) => ending.fail(error),
    };
    const everywhere = new LiveControllers(this.#options, events);
    const leading = new LiveControllers(this.#options, events);
    try {
      const outcome = await this.#runAll(everywhere, leading, ending);
      ending.throwIfFailed();
      return outcome;
    } catch (error) {
      ending.throwIfFailed();
      if (signal.aborted) return 'stopped';
      throw error;
    } finally {
      everywhere.dispose();
      leading.dispose();
      this.#rejectStarted(new Error('the controllers were stopped before they were ready'));
    }
  }

  /** Runs the controllers of every replica, and meanwhile the others while this one leads. */
  async #runAll(everywhere: LiveControllers, leading: LiveControllers, ending: Ending): Promise<RunOutcome> {
    const {shutdownTimeoutMs} = this.#options;
    let hasEnded = true;
    let outcome: RunOutcome;
    try {
      await everywhere.start(this.#controllers.filter(isEverywhere), ending.signal);
      this.#everywhere = everywhere;
      outcome = await this.#lead(leading, ending.signal);
    } finally {
      this.#everywhere = undefined;
      hasEnded = await everywhere.stop(ending.leftOf(shutdownTimeoutMs));
    }
    return outcome === 'stopped' && !hasEnded ? 'stuck' : outcome;
  }

  async #lead(live: LiveControllers, signal: AbortSignal): Promise<RunOutcome> {
    const {election, checks} = this.#options;
    const elector = this.#elector;
    if (!elector) return await this.#runControllers(live, signal);
    if (election?.warmup) {
      this.#warming = live;
      for (const controller of this.#controllers) if (!isEverywhere(controller)) live.warm(controller);
    }
    try {
      using _ = checks.add(election?.check ?? 'leaderElection', () => elector.check());
      await using _candidacy = this.#stand(signal);
      let outcome: RunOutcome = 'stopped';
      const ended = await elector.run(signal, async lead => {
        outcome = await this.#runControllers(live, lead);
        return outcome === 'stuck' ? 'unfinished' : undefined;
      });
      return ended === 'lost' ? 'lost' : outcome;
    } finally {
      this.#warming = undefined;
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
        ending.abort(aborted);
        await run;
        either[Symbol.dispose]();
        check[Symbol.dispose]();
      },
    };
  }

  /**
   * Adds a controller, also while the others run: it then runs once its caches are synced, which the result waits for.
   * Rejects for a name that another has.
   */
  async add(controller: Controller): Promise<void> {
    checkNames([...this.#controllers, controller]);
    this.#controllers.push(controller);
    try {
      if (isEverywhere(controller)) await this.#everywhere?.add(controller);
      else if (this.#warming) this.#warming.warm(controller);
      else await this.#leading?.add(controller);
    } catch (error) {
      this.#forget(controller.name);
      throw error;
    }
  }

  /**
   * Stops a controller, and the informers that only it uses. Resolves once its work has ended, to false if it did not
   * in time. Does nothing for an unknown name.
   */
  async remove(name: string): Promise<boolean> {
    this.#forget(name);
    const all = [this.#everywhere, this.#warming, this.#leading];
    return (await Promise.all(all.map(live => live?.remove(name) ?? true))).every(Boolean);
  }

  #forget(name: string): void {
    this.#controllers = this.#controllers.filter(each => each.name !== name);
  }

  async #runControllers(live: LiveControllers, signal: AbortSignal): Promise<RunOutcome> {
    try {
      await this.#waitForServer(signal);
      const controllers = this.#controllers.filter(controller => !isEverywhere(controller));
      const {first, synced} = await live.start(controllers, signal);
      this.#warming = undefined;
      this.#leading = live;
      void first.then(() => this.#resolveFirst());
      synced.then(
        () => this.#resolveStarted(),
        () => {},
      );
      await abortOf(signal);
      this.#leading = undefined;
      const ended = live.stop(this.#options.shutdownTimeoutMs);
      // After losing leadership nothing more may be written.
      if (signal.reason instanceof LeadLost) live.cancelCalls(new LeadLost());
      return (await ended) ? 'stopped' : 'stuck';
    } catch (error) {
      if (signal.aborted) return 'stopped';
      throw error;
    } finally {
      this.#leading = undefined;
      live.dispose();
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
}
