import {firstOf} from '#src/base/signals.js';
import type {RunOutcome, Manager} from './manager.js';

/**
 * Runs two managers of one process, each under a lock of its own: the second is not contended for before everything of the first is at work. Either
 * ends with the other; who loses one lock loses both.
 */
export const runWithLeaderMigration = async (main: Manager, migrated: Manager, signal: AbortSignal): Promise<RunOutcome> => {
  const stop = new AbortController();
  using either = firstOf(signal, stop.signal);
  const stoppingBoth = async (run: Promise<RunOutcome>): Promise<RunOutcome> => {
    try {
      return await run;
    } finally {
      stop.abort();
    }
  };
  const runMigrated = async (): Promise<RunOutcome> => {
    try {
      await main.started;
    } catch {
      return 'stopped'; // The first tells why it never was.
    }
    return migrated.run(either.signal);
  };
  const outcomes = await Promise.all([stoppingBoth(main.run(either.signal)), stoppingBoth(runMigrated())]);
  return outcomes.find(end => end === 'lost') ?? outcomes.find(end => end === 'stuck') ?? 'stopped';
};
