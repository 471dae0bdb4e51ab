import type {Clock} from '#src/base/clock.js';

const firstMs = 1_000;
const maxDelayMs = 15 * 60_000;
/** After this time without a failure the backoff is reset. */
const expiryMs = 2 * maxDelayMs;
const sweepMs = 60_000;

interface Entry {
  readonly delayMs: number;
  readonly at: number;
}

/** The backoff for pods of a set that fail on a node, so that they are not recreated in a loop. */
export interface FailureBackoff {
  /** Returns the remaining backoff in ms; 0 when there is none. */
  remaining(key: string): number;
  /** Records a failure, which starts a backoff twice as long as the last one. */
  failed(key: string): void;
}

export const failureBackoff = (clock: Clock): FailureBackoff => {
  const entries = new Map<string, Entry>();
  let sweptAt = clock.now();
  const isExpired = ({at}: Entry): boolean => clock.now() - at > expiryMs;
  const sweep = (): void => {
    if (clock.now() - sweptAt < sweepMs) return;
    sweptAt = clock.now();
    for (const [key, entry] of entries) if (isExpired(entry)) entries.delete(key);
  };
  const entryOf = (key: string): Entry | undefined => {
    const entry = entries.get(key);
    return entry && !isExpired(entry) ? entry : undefined;
  };
  return {
    remaining(key) {
      const entry = entryOf(key);
      return entry ? Math.max(0, entry.at + entry.delayMs - clock.now()) : 0;
    },
    failed(key) {
      sweep();
      const entry = entryOf(key);
      entries.set(key, {delayMs: entry ? Math.min(entry.delayMs * 2, maxDelayMs) : firstMs, at: clock.now()});
    },
  };
};
