// The health endpoints of an API server: healthz, livez and readyz, with the checks of its store, its shutdown and its
// start hooks. It also runs the start hooks, since each has a check until it has finished.

import {formatDuration} from '#src/api/duration.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Naming} from '#src/api/naming.js';
import {HealthChecks, type Check} from '#src/observe/health.js';
import type {Store} from '#src/storage/store.js';
import type {StartHook} from './start/hook.js';

export interface HealthSettings {
  readonly clock: Clock;
  readonly log: Log;
  readonly naming: Naming;
  readonly store: Store;
  /** How long after the start liveness ignores unfinished hooks. */
  readonly livezGraceMs: number;
  /** The time limit of the store's health check. */
  readonly healthTimeoutMs: number;
  readonly readyTimeoutMs: number;
}

const aborted = (signal: AbortSignal, why: string): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error(why)), {once: true}));

/** The three health endpoints of an API server (the API reference, health endpoints). */
export class ServerHealth {
  readonly healthz: HealthChecks;
  readonly livez: HealthChecks;
  readonly readyz: HealthChecks;
  readonly #settings: HealthSettings;
  readonly #startedAt: number;
  #shuttingDown = false;
  #isRestoring = false;

  constructor(settings: HealthSettings) {
    const {log, naming, store, clock} = settings;
    this.#settings = settings;
    this.#startedAt = clock.monotonic();
    this.healthz = new HealthChecks(log);
    this.livez = new HealthChecks(log);
    this.readyz = new HealthChecks(log);
    const [main = store, ...overrides] = store.parts ?? [];
    const alive = (part: Store, ms: number) => async () => {
      const timeout = new AbortController();
      const timer = clock.schedule(ms, () => timeout.abort());
      try {
        await Promise.race([part.revision(), aborted(timeout.signal, `the store did not answer within ${formatDuration(ms)}`)]);
      } finally {
        timer[Symbol.dispose]();
      }
    };
    for (const checks of this.#all) {
      checks.add('ping', () => {});
      checks.add('log', () => {});
      checks.add(naming.store, alive(main, settings.healthTimeoutMs));
    }
    const ready = (part: Store) => async () => {
      const {problem} = part.continuity ?? {};
      if (problem) throw new Error(problem);
      if (this.#isRestoring)
        throw new Error('the data of the store were replaced; the objects that the server creates are being created again');
      const unwritable = await part.writeProblem?.();
      if (unwritable) throw new Error(unwritable);
      await alive(part, settings.readyTimeoutMs)();
    };
    this.readyz.add(`${naming.store}-readiness`, ready(main));
    for (const [index, part] of overrides.entries()) {
      for (const checks of this.#all) checks.add(`${naming.store}-override-${index}`, alive(part, settings.healthTimeoutMs), naming.store);
      this.readyz.add(`${naming.store}-override-readiness-${index}`, ready(part), `${naming.store}-readiness`);
    }
    this.readyz.add('informer-sync', () => {});
    this.readyz.add('shutdown', () => {
      if (this.#shuttingDown) throw new Error('process is shutting down');
    });
  }

  get #all(): readonly HealthChecks[] {
    return [this.healthz, this.livez, this.readyz];
  }

  /** Adds a check to all three endpoints. */
  add(name: string, check: Check): void {
    for (const checks of this.#all) checks.add(name, check);
  }

  /** Makes readiness fail from now on. */
  shutDown(): void {
    this.#shuttingDown = true;
  }

  /** Runs `restore`; meanwhile the server is not ready. */
  async whileRestoring(restore: () => Promise<void>): Promise<void> {
    this.#isRestoring = true;
    await restore();
    this.#isRestoring = false;
  }

  /**
   * Runs the hooks concurrently, each with its own check, and each once those that it names have finished. Resolves
   * when all are done; rejects when one fails.
   */
  async run(hooks: readonly StartHook[]): Promise<void> {
    const checks = new Map(hooks.map(hook => [hook, this.#startCheck(hook)]));
    const runs = new Map<StartHook, Promise<void>>();
    const runOf = (hook: StartHook): Promise<void> => {
      const run = runs.get(hook) ?? this.#runOne(hook, (hook.after ?? []).map(runOf), checks.get(hook)!);
      runs.set(hook, run);
      return run;
    };
    await Promise.all(hooks.map(runOf));
  }

  /** Adds a check that fails during the start; liveness ignores it for the grace period. */
  atStart(name: string, check: () => void): void {
    const {clock, livezGraceMs} = this.#settings;
    const ignoredDuringGrace = () => {
      if (clock.monotonic() - this.#startedAt >= livezGraceMs) check();
    };
    this.healthz.add(name, check);
    this.livez.add(name, ignoredDuringGrace);
    this.readyz.add(name, check);
  }

  /** Adds the check of a hook; it passes once `finish` was called. */
  #startCheck({name}: StartHook): {finish(): void} {
    let finished = false;
    this.atStart(`poststarthook/${name}`, () => {
      if (!finished) throw new Error('not finished');
    });
    return {finish: () => void (finished = true)};
  }

  async #runOne({name, run}: StartHook, earlier: readonly Promise<void>[], check: {finish(): void}): Promise<void> {
    await Promise.all(earlier);
    await run();
    check.finish();
    this.#settings.log.v(2).info({hook: name}, 'a start hook has finished');
  }
}
