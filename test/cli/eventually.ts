import {sleep, systemClock} from '#src/base/clock.js';

/** How often a program of its own is looked at before the test gives up: some 20 s. */
const mostAttempts = 400;

/**
 * What `look` resolves to once that is defined. For what happens in another process or on a socket, which no clock of
 * the test drives. Rejects with the last error of `look`, if it failed to the end.
 */
export const eventually = async <T>(look: () => T | Promise<T>): Promise<NonNullable<T>> => {
  for (let attempt = 1; ; attempt++) {
    let failure: unknown = new Error('it did not come about');
    try {
      const found = await look();
      if (found !== undefined && found !== null) return found;
    } catch (error) {
      failure = error;
    }
    if (attempt >= mostAttempts) throw failure;
    await sleep(systemClock, 50);
  }
};
