import type {Clock} from '#src/base/clock.js';

/** Tests whether a key management service works. Results are kept for a while. */
export interface KmsProbe {
  readonly version: 'v1' | 'v2';
  /** Rejects with the reason if the service does not work. */
  check(): Promise<void>;
}

/** How long a good result counts, and a bad one. */
const goodMs = 20_000;
const badMs = 3000;

export interface KmsProbeSettings {
  readonly clock: Clock;
  readonly version: KmsProbe['version'];
  check(): Promise<void>;
}

/** Runs a check at most once at a time, and not again while its last result counts. */
export const kmsProbe = ({clock, version, check}: KmsProbeSettings): KmsProbe => {
  let last: {readonly error: unknown; readonly until: number} | undefined;
  let running: Promise<void> | undefined;
  const run = async (): Promise<void> => {
    try {
      await check();
      last = {error: undefined, until: clock.monotonic() + goodMs};
    } catch (error) {
      last = {error, until: clock.monotonic() + badMs};
      throw error;
    }
  };
  return {
    version,
    async check() {
      if (last && clock.monotonic() < last.until) {
        if (last.error) throw last.error;
        return;
      }
      await (running ??= run().finally(() => (running = undefined)));
    },
  };
};
