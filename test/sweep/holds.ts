import {readFileSync} from 'node:fs';

/** How long a piece of work held the event loop at most, and how long it took. */
export interface Held {
  readonly longestMs: number;
  readonly ms: number;
}

/** What the main thread alone has worked so far, in ms; what the whole process has where the system does not tell. */
const worked = (): number => {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ', 1)[0]) / 1e6;
  } catch {
    const {user, system} = process.cpuUsage();
    return (user + system) / 1000;
  }
};

/** Does something and watches the event loop meanwhile. Time in which the thread had no processor does not count as held. */
export const watchingTheLoop = async <T>(act: () => Promise<T>): Promise<Held & {readonly answer: T}> => {
  let longestMs = 0;
  let at = performance.now();
  let used = worked();
  const look = () => {
    const now = performance.now();
    const work = worked();
    longestMs = Math.max(longestMs, Math.min(now - at, work - used));
    used = work;
    at = now;
  };
  let turn = setImmediate(function again() {
    look();
    turn = setImmediate(again);
  });
  const begun = performance.now();
  try {
    const answer = await act();
    await new Promise(resolve => setImmediate(resolve));
    look();
    return {answer, longestMs, ms: performance.now() - begun};
  } finally {
    clearImmediate(turn);
  }
};
