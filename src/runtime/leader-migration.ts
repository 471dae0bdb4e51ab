import {firstOf} from '#src/base/signals.js';
import type {RunOutcome, Manager} from './manager.js';

/**
 * Runs the two managers of a leader migration, each under its own lock: the second lock is not contended for until
 * every controller of the first manager runs. Each stops with the other, so losing one lock loses both.
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
      return 'stopped'; // The first manager's run reports why it never started.
    }
    return migrated.run(either.signal);
  };
  const outcomes = await Promise.all([stoppingBoth(main.run(either.signal)), stoppingBoth(runMigrated())]);
  return outcomes.find(end => end === 'lost') ?? outcomes.find(end => end === 'stuck') ?? 'stopped';
};
