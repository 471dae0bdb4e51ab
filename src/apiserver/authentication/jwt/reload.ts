// Follows the file of `--authentication-config`. A new configuration is used once all its issuers are reached; until
// then, and if it is invalid, the last good one stays in force.

import type {Clock} from '#src/base/clock.js';
import {runEvery, withClockHeld, sleep} from '#src/base/clock.js';
import {runStepsOnePerTurn, type Steps} from '#src/base/steps.js';
import {type Files, followFiles} from '#src/base/files/files.js';
import type {Log} from '#src/base/log.js';
import type {ReloadMetrics} from '#src/apiserver/configuration/reload-metrics.js';
import type {Issuers} from './issuers.js';

export interface ReloadOptions {
  readonly path: string;
  readonly files: Files;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: ReloadMetrics;
  readonly signal: AbortSignal;
  /** The text of the configuration in force. */
  readonly text: string;
  readonly current: Issuers;
  /** Returns the issuers of a configuration, not started, in steps. Throws an error of one line if it is invalid. */
  parse(text: string): Steps<Issuers>;
}

const periodMs = 60_000;
/** How long the issuers of a new configuration may take to be reached, and how long requests may use the old ones. */
const patienceMs = 60_000;

/** The issuers of the configuration in force. */
export class ReloadedIssuers {
  readonly #options: ReloadOptions;
  #current: Issuers;
  /** The last text that needs no further attempt. */
  #seen: string;
  #checking: Promise<void> | undefined;

  constructor(options: ReloadOptions) {
    this.#options = options;
    this.#current = options.current;
    this.#seen = options.text;
  }

  get current(): Issuers {
    return this.#current;
  }

  /** Reaches the issuers and follows the file, until the signal aborts. */
  start(): void {
    const {path, files, clock, signal, metrics, text} = this.#options;
    metrics.applied(text);
    this.#current.start();
    signal.addEventListener('abort', () => this.#current.close(), {once: true});
    // Not awaited: issuers are waited for, and a virtual clock must go on meanwhile.
    const check = (): void => void this.#check().catch((error: unknown) => clock.unhandled(error));
    followFiles({files, clock, paths: [path], signal, check});
    // Also without a change: issuers may be reached later than the first time.
    runEvery(clock, periodMs, signal, check);
  }

  #check(): Promise<void> {
    return (this.#checking ??= this.#reload().finally(() => (this.#checking = undefined)));
  }

  async #reload(): Promise<void> {
    const {path, files, clock, log, metrics} = this.#options;
    const failed = (error: unknown, message: string): void => {
      log.error({file: path, err: error}, message);
      metrics.reloaded('failure');
    };
    let text: string | undefined;
    try {
      text = (await withClockHeld(clock, () => files.read(path)))?.toString();
      if (text === undefined) throw new Error('no such file or directory');
    } catch (error) {
      return failed(error, 'keeping the authentication configuration in use: the file cannot be read');
    }
    if (text === this.#seen) return;
    let issuers: Issuers;
    try {
      const parsing = this.#options.parse(text);
      issuers = await withClockHeld(clock, () => runStepsOnePerTurn(parsing));
    } catch (error) {
      this.#seen = text; // It will never be valid.
      return failed(error, 'keeping the authentication configuration in use: the new one is invalid');
    }
    if (!(await this.#reached(issuers))) {
      issuers.close(this.#current);
      return failed(
        new Error(issuers.problem),
        'keeping the authentication configuration in use: not all issuers of the new one are reached',
      );
    }
    const old = this.#current;
    this.#current = issuers;
    this.#seen = text;
    clock.schedule(patienceMs, () => old.close(this.#current));
    metrics.applied(text);
    metrics.reloaded('success');
    log.info({file: path}, 'the authentication configuration has been reloaded');
  }

  async #reached(issuers: Issuers): Promise<boolean> {
    const {clock, signal} = this.#options;
    const waiting = new AbortController();
    const limit = AbortSignal.any([signal, waiting.signal]);
    issuers.start();
    await Promise.race([issuers.reached(), sleep(clock, patienceMs, limit).catch(() => {})]);
    waiting.abort();
    return !signal.aborted && issuers.problem === undefined;
  }
}
