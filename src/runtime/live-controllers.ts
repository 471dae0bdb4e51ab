// The controllers of a run: they are built, run once their caches are synced, and may be added and removed meanwhile.

import {setMaxListeners} from 'node:events';
import {InformerFactory, type InformerScope} from '#informers/factory.js';
import {ListRefused} from '#informers/refusal.js';
import {sleep, withClockHeld} from '#src/base/clock.js';
import {messageOf} from '#src/base/message.js';
import {jittered} from '#src/base/random.js';
import {aborted, onAbort, unlessAborted} from '#src/base/signals.js';
import {yieldInTurn} from '#src/base/turn.js';
import type {Client} from '#src/client/client.js';
import type {HealthChecks} from '#src/observe/health.js';
import {build} from './build.js';
import type {Controller, DebugPages} from './controller.js';
import type {ShutdownSignals} from './context.js';
import type {BuiltController, RuntimeEnvironment} from './environment.js';
import {requirementsOf} from './selection.js';
import {allEnded} from './shutdown.js';
import {sourcesOf} from './triggers.js';

export interface LiveControllersOptions extends Omit<RuntimeEnvironment, 'informers'> {
  /** The manager's name in metrics. */
  readonly name: string;
  /** The manager's own client, shared by the informers. */
  readonly client: Client;
  /** The clients of other clusters, by the names that sources have. */
  readonly clusters?: Readonly<Record<string, Client>>;
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
  /** By default all caches are filled at once. */
  readonly first?: FirstControllers | undefined;
  /** The release of the server, if it is older than the controllers. */
  readonly release?: string;
  /** Whether cached objects are deeply frozen, for tests. */
  readonly freeze?: boolean;
}

/** The delay before a long-running controller that failed is started again. */
const restartMs = 1_000;

/** How long a stop without time limit waits before it cancels pending calls. */
const unlimitedGraceMs = 5_000;

/** Which controllers run before the caches of the others are filled. */
export interface FirstControllers {
  readonly names: readonly string[];
  /** Resolves when the caches of the others are to be filled. */
  readonly others: Promise<void>;
}

/** The start of controllers. */
interface Starting {
  /** Resolves once those that go first run. */
  readonly first: Promise<unknown>;
  /** Resolves once the caches of all are synced. */
  readonly synced: Promise<unknown>;
}

/** A controller that has been built. */
interface Live {
  readonly built: BuiltController;
  readonly stopping: AbortController;
  readonly calls: AbortController;
  readonly scope: InformerScope;
  readonly check: Disposable;
  readonly links: readonly Disposable[];
  /** Resolves when its run has ended. */
  ended: Promise<void>;
}

/** What a run is told of its controllers. */
export interface LiveControllersEvents {
  /** Called when the server refuses a list that a controller needs. */
  refused(error: ListRefused): void;
  /** Called when an essential controller has failed. */
  failed(error: unknown): void;
}

/** The controllers of a run. */
export class LiveControllers {
  readonly #options: LiveControllersOptions;
  readonly #stopping = new AbortController();
  readonly #calls = new AbortController();
  readonly #events: LiveControllersEvents;
  readonly #informers: InformerFactory;
  readonly #live = new Map<string, Live>();
  /** The caches of controllers that do not run yet, by their names. */
  readonly #warm = new Map<string, InformerScope>();

  constructor(options: LiveControllersOptions, events: LiveControllersEvents) {
    this.#options = options;
    this.#events = events;
    setMaxListeners(0, this.#stopping.signal, this.#calls.signal); // Every informer and every pending call adds a listener.
    this.#informers = new InformerFactory({...options, component: options.name, signal: this.#calls.signal});
  }

  /** Fills the caches that a controller declares, and keeps them for the time when it starts. */
  warm(controller: Controller): void {
    if (this.#disabledReason(controller) !== undefined) return;
    const scope = this.#informers.scope();
    this.#warm.set(controller.name, scope);
    for (const source of sourcesOf(controller)) scope.informer(source);
    scope.start();
  }

  /**
   * Builds all controllers and then starts them: at once, or those that go first and later the others. Rejects if one
   * cannot be built, or the signal aborts.
   */
  async start(controllers: readonly Controller[], signal: AbortSignal): Promise<Starting> {
    const built: Live[] = [];
    for (const controller of controllers) {
      signal.throwIfAborted();
      built.push(...(await this.#build(controller, signal)));
    }
    for (const {name} of controllers) this.#cool(name); // Those that are built have their informers.
    const {names, others} = this.#options.first ?? {names: built.map(live => live.built.name), others: undefined};
    const goesFirst = ({built: {name}}: Live) => names.includes(name);
    const first = built.filter(goesFirst).map(live => this.#run(live));
    const later = others?.then(() => this.#runLater(built.filter(live => !goesFirst(live))));
    return {first: Promise.all(first.map(({running}) => running)), synced: Promise.all([...first.map(({synced}) => synced), later])};
  }

  /**
   * Starts controllers that waited, unless they were removed meanwhile: each in a turn of the event loop of its own, so
   * that a request waits for the lists of one of them only.
   */
  async #runLater(waiting: readonly Live[]): Promise<void> {
    const synced: Promise<void>[] = [];
    for (const live of waiting) {
      await withClockHeld(this.#options.clock, () => yieldInTurn());
      if (this.#live.get(live.built.name) === live && !live.stopping.signal.aborted) synced.push(this.#run(live).synced);
    }
    await Promise.all(synced);
  }

  /** Builds and starts a further controller. Resolves once it runs. */
  async add(controller: Controller): Promise<void> {
    const [live] = await this.#build(controller, this.#stopping.signal);
    if (live) await this.#run(live).synced;
  }

  /** Stops a controller and releases its informers. Returns whether its work ended in time. */
  async remove(name: string): Promise<boolean> {
    this.#cool(name);
    const live = this.#live.get(name);
    if (!live) return true;
    this.#live.delete(name);
    live.stopping.abort(new Error(`controller ${name} is removed`));
    const ended = await this.#untilEnded(new Map([[name, live.ended]]), live.calls, this.#options.shutdownTimeoutMs);
    this.#dispose(live);
    return ended;
  }

  /** Stops all controllers. Returns whether they ended in time; 0 is no limit. */
  stop(timeoutMs: number): Promise<boolean> {
    this.#stopping.abort(new Error('the controller manager stops'));
    return this.#untilEnded(new Map([...this.#live].map(([name, {ended}]) => [name, ended])), this.#calls, timeoutMs);
  }

  /** Cancels the pending calls of all controllers. */
  cancelCalls(reason: unknown): void {
    this.#calls.abort(reason);
  }

  /** Ends what is left, and forgets all controllers: they have ended or are given up. */
  dispose(): void {
    this.#stopping.abort(aborted);
    this.#calls.abort(aborted);
    for (const name of this.#warm.keys()) this.#cool(name);
    for (const live of this.#live.values()) this.#dispose(live);
    this.#live.clear();
  }

  #cool(name: string): void {
    this.#warm.get(name)?.[Symbol.dispose]();
    this.#warm.delete(name);
  }

  async #untilEnded(running: ReadonlyMap<string, Promise<void>>, calls: AbortController, timeoutMs: number): Promise<boolean> {
    const {clock, log} = this.#options;
    const cancel = clock.schedule(timeoutMs > 0 ? timeoutMs / 2 : unlimitedGraceMs, () =>
      calls.abort(new Error('the controller manager stops')),
    );
    const ended = await allEnded(running, {clock, log, timeoutMs});
    cancel[Symbol.dispose]();
    if (!ended) log.error({timeoutMs}, 'controllers did not end in time');
    return ended;
  }

  #dispose({built, stopping, calls, scope, check, links}: Live): void {
    for (const link of links) link[Symbol.dispose]();
    stopping.abort(aborted);
    calls.abort(aborted);
    check[Symbol.dispose]();
    scope[Symbol.dispose]();
    this.#options.debugPages?.delete(built.name);
  }

  async #build(controller: Controller, signal: AbortSignal): Promise<Live[]> {
    const {log, checks, debugPages} = this.#options;
    const {name} = controller;
    const disabled = this.#disabledReason(controller);
    if (disabled !== undefined) {
      log.v(1).info({controller: name, reason: disabled}, 'controller is not started');
      return [];
    }
    const stopping = follower(this.#stopping.signal);
    const calls = follower(this.#calls.signal);
    const scope = this.#informers.scope();
    const links = [stopping.link, calls.link];
    try {
      const shutdown: ShutdownSignals = {stopping: stopping.own.signal, calls: calls.own.signal};
      const built = await unlessAborted(build(controller, {...this.#options, informers: scope}, shutdown), signal);
      const live = {
        built,
        stopping: stopping.own,
        calls: calls.own,
        scope,
        check: checks.add(name, built.check),
        links,
        ended: Promise.resolve(),
      };
      if (built.debugPages) debugPages?.set(name, built.debugPages);
      this.#live.set(name, live);
      log.v(1).info({controller: name}, 'controller is built');
      return [live];
    } catch (error) {
      for (const link of links) link[Symbol.dispose]();
      scope[Symbol.dispose]();
      signal.throwIfAborted();
      throw new Error(`controller ${name} could not be started: ${messageOf(error)}`, {cause: error});
    }
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

  /** Starts a controller and its informers. */
  #run(live: Live): {readonly synced: Promise<void>; readonly running: Promise<void>} {
    const {signal} = live.stopping;
    live.scope.start();
    const synced = this.#synced(live.built, signal);
    synced.catch(() => {}); // Also while the others are being started.
    const running = new Promise<void>(resolve => (live.ended = this.#runOne(live.built, synced, {signal, running: resolve})));
    return {synced, running};
  }

  /** Resolves once a controller's caches are synced, however long the server refuses. */
  async #synced({name, whenSynced}: BuiltController, signal: AbortSignal): Promise<void> {
    for (let times = 0; ; times++) {
      try {
        return await whenSynced(signal);
      } catch (error) {
        if (!(error instanceof ListRefused)) throw error;
        this.#events.refused(error);
        if (times === 0) this.#options.log.error({controller: name, err: error}, 'controller waits for what the server refuses');
      }
    }
  }

  /**
   * Runs one controller after its caches are synced and its start delay has passed, and calls `running` then. Never
   * rejects.
   */
  async #runOne(
    controller: BuiltController,
    synced: Promise<void>,
    {signal, running}: {readonly signal: AbortSignal; running(): void},
  ): Promise<void> {
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
    running();
    while (!signal.aborted) {
      try {
        log.v(1).info({controller: name}, 'controller starts');
        await controller.run(signal);
        break;
      } catch (error) {
        if (signal.aborted) break;
        if (controller.isEssential) {
          log.error({controller: name, err: error}, 'controller failed and ends the manager');
          this.#events.failed(error);
          break;
        }
        log.error({controller: name, err: error}, 'controller failed and is run again');
        await sleep(clock, restartMs, signal).catch(() => {});
      }
    }
    gauge.set(0, labels);
    log.v(1).info({controller: name}, 'controller has ended');
  }
}

/** A controller that aborts with a signal, or by itself, until it is unlinked. */
const follower = (signal: AbortSignal): {readonly own: AbortController; readonly link: Disposable} => {
  const own = new AbortController();
  setMaxListeners(0, own.signal); // Every informer and every pending call adds a listener.
  return {own, link: onAbort(signal, () => own.abort(signal.reason))};
};
