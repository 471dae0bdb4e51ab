import type {Clock} from '#src/base/clock.js';

const firstMs = 1_000;
const maxDelayMs = 15 * 60_000;
/** After that time without a failure the next one counts as the first. */
const expiryMs = 2 * maxDelayMs;
const sweepMs = 60_000;

interface Entry {
  readonly delayMs: number;
  readonly at: number;
}

/** How long pods that fail one after the other on a node are left lying, so that set and node do not wear each other out. */
export interface FailureBackoff {
  /** How many ms are left of the delay after the last failure; 0 when there is none. */
  remaining(key: string): number;
  /** Notes a failure: the delay begins, twice as long as the last one. */
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
