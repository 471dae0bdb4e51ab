import {formatDuration} from '#src/api/duration.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Naming} from '#src/api/naming.js';
import {HealthChecks, type Check} from '#src/observe/health.js';
import type {Store} from '#src/storage/store.js';

/** Work of the server that begins when it serves, and must finish before it is ready. */
export interface StartHook {
  readonly name: string;
  run(): Promise<void>;
}

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

  constructor(settings: HealthSettings) {
    const {log, naming, store, clock} = settings;
    this.#settings = settings;
    this.#startedAt = clock.monotonic();
    this.healthz = new HealthChecks(log);
    this.livez = new HealthChecks(log);
    this.readyz = new HealthChecks(log);
    const alive = (ms: number) => async () => {
      const timeout = new AbortController();
      const timer = clock.schedule(ms, () => timeout.abort());
      try {
        await Promise.race([store.revision(), aborted(timeout.signal, `the store did not answer within ${formatDuration(ms)}`)]);
      } finally {
        timer[Symbol.dispose]();
      }
    };
    for (const checks of this.#all) {
      checks.add('ping', () => {});
      checks.add('log', () => {});
      checks.add(naming.store, alive(settings.healthTimeoutMs));
    }
    const answers = alive(settings.readyTimeoutMs);
    this.readyz.add(`${naming.store}-readiness`, async () => {
      const {problem} = store.continuity ?? {};
      if (problem) throw new Error(problem);
      await answers();
    });
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

  /** Runs the hooks concurrently, each with its own check. Resolves when all are done; rejects when one fails. */
  async run(hooks: readonly StartHook[]): Promise<void> {
    await Promise.all(hooks.map(hook => this.#runOne(hook)));
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

  async #runOne({name, run}: StartHook): Promise<void> {
    let finished = false;
    this.atStart(`poststarthook/${name}`, () => {
      if (!finished) throw new Error('not finished');
    });
    await run();
    finished = true;
    this.#settings.log.v(2).info({hook: name}, 'a start hook has finished');
  }
}
