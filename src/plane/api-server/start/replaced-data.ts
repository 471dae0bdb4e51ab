import {sleep, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Store} from '#src/storage/store.js';
import type {StartHook} from './hook.js';

export interface ReplacedDataParts {
  readonly hooks: readonly StartHook[];
  readonly store: Store;
  /** Reports that the server is not ready while `restore` runs. */
  readonly health: {whileRestoring(restore: () => Promise<void>): Promise<void>};
  readonly clock: Clock;
  readonly log: Log;
}

const retryMs = 1000;

/**
 * Repeats the hooks that create objects whenever the data of the store were replaced, one after the other, each until
 * it succeeds. The server is not ready meanwhile. Differs from upstream, which does not notice that its etcd was wiped.
 */
export const repeatAfterReplacement = (parts: ReplacedDataParts, signal: AbortSignal): void => {
  const {continuity} = parts.store;
  if (!continuity) return;
  const repetition = new Repetition(parts, signal);
  const listening = continuity.onReplaced(() => repetition.replaced());
  signal.addEventListener('abort', () => listening[Symbol.dispose](), {once: true});
};

/** The repetition of the hooks: once more for a replacement while it runs. */
class Repetition {
  readonly #parts: ReplacedDataParts;
  readonly #signal: AbortSignal;
  #replacements = 0;
  #isRunning = false;

  constructor(parts: ReplacedDataParts, signal: AbortSignal) {
    this.#parts = parts;
    this.#signal = signal;
  }

  replaced(): void {
    this.#replacements += 1;
    if (this.#isRunning) return;
    this.#isRunning = true;
    void this.#parts.health.whileRestoring(() => this.#run());
  }

  async #run(): Promise<void> {
    const {hooks, log} = this.#parts;
    for (let done = -1; done !== this.#replacements && !this.#signal.aborted;) {
      done = this.#replacements;
      for (const hook of hooks) await this.#succeed(hook);
    }
    if (!this.#signal.aborted) log.info('the objects that the server creates exist again after the data of the store were replaced');
    this.#isRunning = false;
  }

  async #succeed({name, again}: StartHook): Promise<void> {
    if (!again) return;
    const {clock, log} = this.#parts;
    while (!this.#signal.aborted) {
      try {
        return await again();
      } catch (error) {
        if (!this.#signal.aborted) log.warn({hook: name, err: error}, 'a start hook could not be repeated; it is tried again');
      }
      await sleep(clock, retryMs, this.#signal).catch(() => undefined);
    }
  }
}
