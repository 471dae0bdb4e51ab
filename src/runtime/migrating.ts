import {firstOf} from '#src/base/signals.js';
import type {Ending, Manager} from './manager.js';

/**
 * Runs two managers of one process, each under a lock of its own: the second is not contended for before everything of the first is at work. Either
 * ends with the other; who loses one lock loses both.
 */
export const runMigrating = async (own: Manager, migrated: Manager, signal: AbortSignal): Promise<Ending> => {
  const over = new AbortController();
  using either = firstOf(signal, over.signal);
  const ending = async (run: Promise<Ending>): Promise<Ending> => {
    try {
      return await run;
    } finally {
      over.abort();
    }
  };
  const second = async (): Promise<Ending> => {
    try {
      await own.atWork;
    } catch {
      return 'stopped'; // The first tells why it never was.
    }
    return migrated.run(either.signal);
  };
  const endings = await Promise.all([ending(own.run(either.signal)), ending(second())]);
  return endings.find(end => end === 'lost') ?? endings.find(end => end === 'stuck') ?? 'stopped';
};
