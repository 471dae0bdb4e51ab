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
export const repeatAfterReplacement = ({hooks, store, health, clock, log}: ReplacedDataParts, signal: AbortSignal): void => {
  const {continuity} = store;
  if (!continuity) return;
  let replacements = 0;
  let repeating: Promise<void> | undefined;

  const succeed = async ({name, again}: StartHook): Promise<void> => {
    if (!again) return;
    while (!signal.aborted) {
      try {
        return await again();
      } catch (error) {
        if (!signal.aborted) log.warn({hook: name, err: error}, 'a start hook could not be repeated; it is tried again');
      }
      await sleep(clock, retryMs, signal).catch(() => undefined);
    }
  };
  const repeat = async (): Promise<void> => {
    for (let done = -1; done !== replacements && !signal.aborted;) {
      done = replacements;
      for (const hook of hooks) await succeed(hook);
    }
    if (!signal.aborted) log.info('the objects that the server creates exist again after the data of the store were replaced');
    repeating = undefined;
  };
  const listening = continuity.onReplaced(() => {
    replacements += 1;
    repeating ??= health.whileRestoring(repeat);
  });
  signal.addEventListener('abort', () => listening[Symbol.dispose](), {once: true});
};
